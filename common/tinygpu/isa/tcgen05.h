// What the tcgen05 instructions that a whole warp executes have in common.
#pragma once
#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// The rule of .sync.aligned (PTX ISA 9.7.16.5): all 32 threads of the warp, converged. False: not everybody is here
/// yet, the op runs again when they are.
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

/// The value that every executing lane must agree on. If they don't: "tcgen05-not-uniform", and the lowest lane's
/// value.
inline uint64_t uniform(Warp& w, uint32_t slot, bool wide, const char* operand) {
  const uint32_t m = w.exec();
  const int first = __builtin_ctz(m);
  const auto value = [&](int i) { return wide ? w.at<uint64_t>(slot)[i] : uint64_t(w.at<uint32_t>(slot)[i]); };
  const uint64_t v = value(first);
  bool same = true;
  for (int i = 0; i < 32; ++i) same &= !(m >> i & 1) || value(i) == v;
  if (!same)
    tmem_violation(origin_of(w), "tcgen05-not-uniform",
                   std::string("The threads of the warp pass different values as ") + operand + ".",
                   "Compute the operand from values that are the same in all 32 threads, or broadcast it with "
                   "__shfl_sync(~0u, x, 0).");
  return v;
}

}  // namespace tinygpu::isa
