// One sum of the tensor core's arithmetic whose terms share a window: what kinds f16, tf32, f8f6f4 and mxf8f6f4 do
// (notes/evidence.md). For the references; shares nothing with tinygpu.
#pragma once
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace gen5::harness {

inline constexpr int kNoTerm = -100000;  // exponent of a zero term: takes no part in the maximum
inline constexpr uint32_t kCanonicalNan = 0x7fffffff;

/// A number as ± significand · 2^(exponent − fraction bits), not normalised: subnormals have the smallest exponent.
struct Parts {
  bool negative = false, infinite = false, nan = false;
  uint32_t significand = 0;
  int exponent = kNoTerm;
};
/// Of an IEEE-like pattern: all ones in the exponent are infinity and NaN.
Parts split(uint32_t bits, int exponent_bits, int fraction);

/// sum · 2^last, cut toward zero to f32; a zero is +0 whatever it was cut from.
uint32_t to_f32(__int128 sum, int last);

/// c + Σ x[i]·y[i] as f32 bits; both sides have `fraction` fraction bits. `accumulate` false leaves c out. Slow.
uint32_t window_sum(std::span<const Parts> x, std::span<const Parts> y, int fraction, uint32_t c, bool accumulate);

/// An operand: element k of a row. Called from several threads.
using Elements = std::function<Parts(uint32_t row, uint32_t k)>;

/// f32 bits of rows [m0, m0 + rows) × columns [n0, n0 + columns) of A·Bᵀ, row-major, in steps of `depth` (16 or 32)
/// along K, in order. On all cores.
std::vector<uint32_t> window_gemm(const Elements& a, const Elements& b, uint32_t k, uint32_t depth, int fraction,
                                  uint32_t m0, uint32_t n0, uint32_t rows, uint32_t columns);

}  // namespace gen5::harness
