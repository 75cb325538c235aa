// How many CTAs of a kernel fit on an SM.
#pragma once
#include <cstdint>

#include "common/tinygpu/program/program.h"
#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

/// What a launch needs per SM, and how many CTAs of it fit. Throws nothing; 0 blocks: does not fit at all.
struct Occupancy {
  uint32_t blocks_per_sm = 0;
  const char* limit = "";  // "threads", "shared memory", "registers", "blocks", "warps"
  uint32_t shared_bytes = 0;
};
Occupancy occupancy(const MachineSpec& spec, const Function& f, uint32_t threads, uint32_t dynamic_shared);

}  // namespace tinygpu
