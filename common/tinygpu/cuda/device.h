// What the chosen machine says about itself through both APIs.
#pragma once
#include <cuda.h>

#include <string>

#include "common/tinygpu/api/machine.h"

namespace tinygpu::cuda {

/// CUDA version that the stand-ins speak, as cuDriverGetVersion gives it.
constexpr int kCudaVersion = 13000;
/// The device's place on the bus.
constexpr char kPciBusId[] = "0000:00:00.0";

/// Value of a CUdevice_attribute (cudaDeviceAttr has the same numbers). INVALID_VALUE for a number that is none.
CUresult device_attribute(const MachineSpec& spec, int attribute, int& value);
/// "tinygpu b200 (sm_100)".
std::string device_name(const MachineSpec& spec);
/// 16 bytes that name this machine; the same in every process.
void device_uuid(const MachineSpec& spec, char out[16]);

}  // namespace tinygpu::cuda
