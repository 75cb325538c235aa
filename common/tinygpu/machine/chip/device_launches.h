// Kernels that kernels launch (dynamic parallelism). Nothing in a grid can wait for what it launches, so that begins
// when the grid is over: its Launch keeps it until then. Code that executes in the serial phase writes, the host reads
// when nothing executes.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/tinygpu/machine/dim3.h"

namespace tinygpu {

/// A kernel, or a copy where it has no name.
struct DeviceLaunch {
  Dim3 by_cta;          // whose streams are its own
  uint64_t stream = 0;  // in device code
  std::string kernel;
  Dim3 grid, block;
  uint32_t dynamic_shared = 0;
  std::vector<uint8_t> parameters;
  uint64_t copy_to = 0, copy_from = 0, copy_bytes = 0;
};

/// The stream of what begins when everything else that a grid has launched is over.
constexpr uint64_t kDeviceTailLaunch = 3;
/// The stream whose work waits for nothing.
constexpr uint64_t kDeviceFireAndForget = 4;
/// Streams that device code makes have numbers above this one.
constexpr uint64_t kLastDeviceStream = 0x100;

}  // namespace tinygpu
