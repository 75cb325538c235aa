// What the tcgen05 instructions that a whole warp executes have in common.
#pragma once
#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// The rule of .sync.aligned (PTX ISA 9.7.16.5): all 32 threads of the warp, converged. False: some are missing; the op
/// runs again when they have come.
inline bool whole_warp(Warp& w) {
  if (!w.converged(0xffffffffu)) return false;
  if (!w.full())
    tmem_violation(
        origin_of(w), "tcgen05-partial-warp",
        "Some of the 32 threads of the warp do not execute this .sync.aligned instruction: they have exited or "
        "were never launched.",
        "Execute it with whole warps: a block size that is a multiple of 32, no early return.");
  return true;
}

/// 1 or 2, as .cta_group says.
inline uint8_t cta_group_of(const Decoder& d) { return d.inst->has("cta_group::2") ? 2 : 1; }

/// The value that every executing lane must agree on. If they don't: "tcgen05-not-uniform", and the lowest lane's
/// value.
inline uint64_t uniform(Warp& w, uint32_t slot, bool wide, const char* operand) {
  const uint32_t m = w.exec();
  const int first = __builtin_ctz(m);
  const uint64_t v = word_at(w, slot, wide, first);
  bool same = true;
  for_lanes(m, [&](int i) { same &= word_at(w, slot, wide, i) == v; });
  if (!same)
    tmem_violation(origin_of(w), "tcgen05-not-uniform",
                   std::string("The threads of the warp pass different values as ") + operand + ".",
                   "Compute the operand from values that are equal in all 32 threads, or broadcast it with "
                   "__shfl_sync(~0u, x, 0).");
  return v;
}

}  // namespace tinygpu::isa
