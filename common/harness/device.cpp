#include "common/harness/device.h"

#include <fmt/format.h>

#include "common/harness/cuda_check.h"

namespace gen5::harness {

Device current_device() {
  int id = 0, khz = 0;
  GEN5_CUDA(cudaGetDevice(&id));
  cudaDeviceProp p{};
  GEN5_CUDA(cudaGetDeviceProperties(&p, id));
  GEN5_CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, id));
  Device d;
  d.name = p.name;
  d.tinygpu = d.name.find("tinygpu") != std::string::npos;
  d.sms = p.multiProcessorCount;
  d.clock_ghz = khz / 1e6;
  d.major = p.major;
  d.minor = p.minor;
  return d;
}

std::string Device::describe() const {
  return fmt::format("{} ({}, compute capability {}.{}, {} SMs, {:.3f} GHz)", name,
                     tinygpu ? "the machine model: no GPU is used" : "hardware", major, minor, sms, clock_ghz);
}

}  // namespace gen5::harness
