// The machine: what outlives a launch.
#pragma once
#include <cstdint>

#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/chip/occupancy.h"
#include "common/tinygpu/machine/host_threads.h"
#include "common/tinygpu/machine/memory/allocation_blocks.h"
#include "common/tinygpu/machine/memory/chip_memory.h"
#include "common/tinygpu/machine/memory/memory.h"
#include "common/tinygpu/timing/spec.h"
#include "common/tinygpu/timing/timing.h"

namespace tinygpu {

class Gpu {
 public:
  explicit Gpu(MachineSpec spec);
  const MachineSpec spec;
  const Timing timing;
  GlobalMemory memory;
  AllocationBlocks allocation_blocks;
  L2Cache l2;
  ChipMemory chip_memory;
  HostThreads threads;
  RunOptions options;
  uint64_t clock = 0;                               // SM cycles since creation: where the next launch starts
  uint64_t grids = 0;                               // %gridid
  uint64_t heap_limit = 8ull << 20, heap_used = 0;  // device-side malloc (cudaLimitMallocHeapSize), bytes
  uint32_t stack_limit = kMostLocal;                // of a thread (cudaLimitStackSize), bytes
  Noted noted;                                      // a note is shown once for each kernel
  /// Runs a grid by itself, to its end. Throws KernelFault; the machine stays usable (cuda/ makes the error sticky).
  LaunchStats launch(const LaunchConfig& config);
};

inline const MachineSpec& Warp::spec() const { return gpu().spec; }
inline const Timing& Warp::timing() const { return gpu().timing; }

}  // namespace tinygpu
