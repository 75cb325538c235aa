// How many CTAs of a kernel fit on an SM.
#pragma once
#include <cstdint>

#include "common/tinygpu/machine/chip/sm_resources.h"
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

/// What an SM has, and what a CTA of a kernel takes of it.
CtaResources whole_sm(const MachineSpec& spec);
CtaResources share_of(const MachineSpec& spec, const Function& f, uint32_t threads, uint32_t dynamic_shared);

/// Bytes of shared memory that the driver gives an SM for the CTAs that fit: the least of its sizes that holds them
/// (CUDA C++ programming guide, compute capability 9.0).
uint32_t carveout(const Occupancy& fit);
/// What that leaves to L1, of `unified` bytes that both have.
uint32_t l1_bytes(uint32_t unified, const Occupancy& fit);

}  // namespace tinygpu
