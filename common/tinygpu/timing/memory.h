// Shared and global memory, as one SM sees them. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct MemoryTiming {
  double sectors_per_cycle;   // of 32 bytes, from L2 to one SM
  uint32_t miss_latency;      // what device memory adds to L2's latency
  uint32_t remote_latency;    // shared memory of another CTA of the cluster
  int64_t pass_cycles;        // of shared memory's pipe, for each pass of the banks
  int64_t word_latency;       // what each further word of a lane adds
  int64_t collect_fixed;      // of the load/store unit, for an access: its addresses,
  int64_t collect_word;       // and each word of a lane
  uint32_t l2_read_copies;    // lines of L2 that a line which kernels read takes
  uint64_t cp_async_latency;  // what cp.async adds to a load
  explicit MemoryTiming(const MachineSpec& spec);
};

}  // namespace tinygpu
