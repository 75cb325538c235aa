// Comparison of a GEMM's result with the references.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "common/harness/fused_sum.h"
#include "common/harness/narrow_gemm.h"

namespace gen5::harness {

/// Element type of D in memory.
enum class Output : uint8_t { f32, bf16 };

/// A product D = A·Bᵀ as the checks see it: its bits by its kind's rule, its operands as doubles, and what rounding may
/// cost. The functions are called from several threads; what the product is made from must outlive it.
struct Product {
  uint32_t m = 0, n = 0, k = 0;
  std::function<std::vector<uint32_t>(uint32_t m0, uint32_t n0, uint32_t rows, uint32_t columns)> bits;  // of f32
  std::function<void(uint32_t row, double*values)> a, b;                                                 // k values
  uint32_t steps = 0;     // along K: each cuts its terms and its sum
  double step_error = 0;  // of a step, as a share of Σ|ab|
};
/// f16 and bf16: a step of 16 cuts at most 17 terms by 2^−25 of the largest and the sum by 2^−23.
Product product_of(const GemmInputs& in);
/// f8f6f4 and mxf8f6f4: 33 terms, steps of 32. mxf4nvf4: 17 terms by 2^−33 (sums of four products, 35 bits below their
/// scales' exponents or 39 below the largest; an element is at most 2^2.6), the sum by 2^−23, steps of 64.
Product product_of(const NarrowMatrix& a, const NarrowMatrix& b);
/// The same product, which keeps windows of its bits (64 MiB at most): for several kernels that are compared with it.
Product remembering(Product product);

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
Comparison compare_bits(const Product& in, Output output, const std::vector<uint32_t>& d, uint32_t m0, uint32_t n0,
                        uint32_t rows, uint32_t columns);
inline Comparison compare_bits(const GemmInputs& in, Output output, const std::vector<uint32_t>& d, uint32_t m0,
                               uint32_t n0, uint32_t rows, uint32_t columns) {
  return compare_bits(product_of(in), output, d, m0, n0, rows, columns);
}

/// How far D lies from the exact product, against what the arithmetic's rule allows.
struct Bound {
  uint64_t checked = 0, outside = 0;
  double worst = 0;              // largest error as a share of its bound
  uint64_t row = 0, column = 0;  // of the first that is outside, in rows
  double got = 0, want = 0;
  std::string describe() const;
  /// One element: is it within `allowed` of what it should be?
  void look_at(uint64_t row, uint64_t column, double got, double want, double allowed);
  Bound& operator+=(const Bound& other);
};

/// Every element against float64: |d − Σab| ≤ steps · (step_error · Σ|ab| + 2^−148), and for bf16 output 2^−8 |d| +
/// 2^-133 more. Finite operands. Cost: 2·m·n·k flops.
Bound check_float64(const Product& in, Output output, const std::vector<uint32_t>& d);
inline Bound check_float64(const GemmInputs& in, Output output, const std::vector<uint32_t>& d) {
  return check_float64(product_of(in), output, d);
}

/// The same bound on random signed sums of each row of D: D·x against A·(Bᵀ·x), x = ±1. Cost: about (m + n)·k flops a
/// vector. Sees a wrong element if it is wrong by more than its row's summed bound.
Bound check_row_sums(const Product& in, Output output, const std::vector<uint32_t>& d, int vectors, uint64_t seed);
inline Bound check_row_sums(const GemmInputs& in, Output output, const std::vector<uint32_t>& d, int vectors,
                            uint64_t seed) {
  return check_row_sums(product_of(in), output, d, vectors, seed);
}

}  // namespace gen5::harness
