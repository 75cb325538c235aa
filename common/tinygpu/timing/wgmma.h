// wgmma.mma_async. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct WgmmaTiming {
  double columns_per_cycle, bytes_per_cycle;  // of the accumulators, and of operands in shared memory
  uint64_t batch;             // between operations of one warpgroup, the second of which comes behind a commit
  uint64_t wait_ss, wait_rs;  // end of an operation until who waits for it goes on; A in registers
  uint32_t queue;             // places of an SM's queue: an operation has one from its issue on,
  uint64_t queue_free;        // until so long after it has begun
  double beside;              // so many times as long an instruction keeps its unit while wgmma works on registers
  explicit WgmmaTiming(const MachineSpec& spec);
};

}  // namespace tinygpu
