// Comparison of a GEMM's result with the references.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/harness/fused_sum.h"

namespace gen5::harness {

/// Element type of D in memory.
enum class Output : uint8_t { f32, bf16 };

/// Words compared bit for bit; the first difference is kept.
struct Comparison {
  uint64_t compared = 0, different = 0;
  uint64_t row = 0, column = 0;  // of the first difference
  uint32_t got = 0, want = 0;
  bool equal() const { return different == 0; }
  /// "1,048,576 words, all equal", or where the first difference is and both words.
  std::string describe(Output output) const;
};

/// A window of D against the fused-sum reference. `d` is m × n row-major with `pitch` elements a row: f32 bits, or bf16
/// words in the low halves.
Comparison compare_bits(const GemmInputs& in, Output output, const std::vector<uint32_t>& d, uint32_t m0, uint32_t n0,
                        uint32_t rows, uint32_t columns);

/// How far D lies from the exact product, against what the arithmetic's rule allows.
struct Bound {
  uint64_t checked = 0, outside = 0;
  double worst = 0;  // largest error as a share of its bound
  std::string describe() const;
};

/// Every element against float64. A K step cuts at most 17 terms by 2^−25 of the largest and the sum by 2^−23, so
/// |d − Σab| ≤ ⌈K/16⌉ · (21 · 2^−25 · Σ|ab| + 2^−148), and for bf16 output 2^−8 |d| + 2^-133 more. Finite operands.
/// Cost: 2·m·n·k flops.
Bound check_float64(const GemmInputs& in, Output output, const std::vector<uint32_t>& d);

/// The same bound on random signed sums of each row of D: D·x against A·(Bᵀ·x), x = ±1. Cost: about (m + n)·k flops a
/// vector. Sees a wrong element if it is wrong by more than its row's summed bound.
Bound check_row_sums(const GemmInputs& in, Output output, const std::vector<uint32_t>& d, int vectors, uint64_t seed);

}  // namespace gen5::harness
