// What main.cpp knows of the steps: a problem, and a function that launches each step's kernel on it.
#pragma once
#include <cstdint>

#include "common/harness/numbers.h"
#include "common/harness/verify.h"

namespace gemm {

/// D[m × n] = A[m × k] · B[n × k]ᵀ on device memory. Tensor maps want rows of 16-byte multiples: k a multiple of 8, n
/// of 4 (f32 out) or 8 (bf16 out).
struct Problem {
  gen5::harness::Format in = gen5::harness::Format::bf16;
  gen5::harness::Output out = gen5::harness::Output::f32;
  uint32_t m = 0, n = 0, k = 0;
  uint16_t *a = nullptr, *b = nullptr;
  void* d = nullptr;
};

// Each launches one kernel on the default stream and returns at once.
void launch_serial(const Problem& p);
void launch_tma(const Problem& p);
void launch_ring(const Problem& p);
void launch_roles(const Problem& p);
void launch_overlap(const Problem& p);
void launch_persistent(const Problem& p);

struct Step {
  int number;
  const char* name;
  const char* idea;
  void (*launch)(const Problem&);
  uint32_t tile_n;  // columns of D that one tile has; it has 128 rows
};
inline constexpr Step kSteps[] = {
    {1, "serial", "one tile a CTA: load, multiply, wait, repeat", launch_serial, 128},
    {2, "tma", "TMA loads swizzled tiles, TMA stores the result", launch_tma, 128},
    {3, "ring", "a ring of four stages: loads run ahead", launch_ring, 128},
    {4, "roles", "a warp to load, a warp to multiply, four to store", launch_roles, 128},
    {5, "overlap", "four tiles a CTA, two accumulators: store one while multiplying the next", launch_overlap, 128},
    {6, "persistent", "one CTA an SM, wide tiles in an L2-friendly order", launch_persistent, 256},
};

}  // namespace gemm
