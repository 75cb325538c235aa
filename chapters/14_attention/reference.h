// Operands for attention, and its result against float64 on the host.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/harness/verify.h"

namespace attention {

/// Sizes and operands: what Problem (attention.h) has on the device.
struct Inputs {
  uint32_t heads = 1, queries = 0, keys = 0, dim = 128;
  bool causal = false;
  std::vector<uint16_t> q, k, v;  // bf16
  /// Pairs of a query and a key that it sees, of all heads.
  uint64_t pairs() const;
};

/// Values of variance 1, so that scores divided by √dim have it too. `pattern`: "normal"; "peaked": queries are eight
/// times as large, and a row's weight lies on a few keys; "rising": scores grow along the keys, so that the largest one
/// changes from block to block.
Inputs make_inputs(uint32_t heads, uint32_t queries, uint32_t keys, uint32_t dim, bool causal,
                   const std::string& pattern);

/// What a kernel's arithmetic allows itself, beyond what all have in common.
struct Arithmetic {
  uint32_t block = 128;          // keys between two looks at the largest score
  double exponential = 0x1p-22;  // relative error of 2^x: ex2.approx.ftz.f32 (PTX ISA 9.7.3.22)
  double slack = 0;              // log2 of how far exponentials may rise above 1
};

/// Elements of O within the bound of float64, of all rows or of as many, spread over all heads and tiles, as take about
/// `most_pairs` pairs of a query and a key.
///
/// The bound, with w the exact weights of a row (their sum is 1), x ≤ 0 their binary logarithms against the largest, X
/// the largest |x|, n keys in B blocks, o the exact element, A = Σ|qk|:
///   exponents   δ = c·⌈dim/16⌉·21·2^−25·A + 2^−24·(2·|x| + X + 4·slack), c = log2(e)/√dim: the tensor core's sum
///               (verify.h), rounding of c, of the multiply-add and of the blocks' factors
///   weights     ε = ln 2·δ + exponential + B·(2^−22 + 2^−23): the exponential, and B factors and their products
///   numerator   Σ w·|v|·(ε + 2^−8 + ⌈n/16⌉·21·2^−25 + B·2^−24): P as bf16, the tensor core's sums, O rescaled
///   denominator |o|·(Σ w·ε + (block/2 + 2·B + 4)·2^−24): sums of exponentials in f32, the quotient
///   output      2^−8·|o|
/// all of it times 1.01 for what is of second order, and 2^−100·Σ|v| for what is cut to zero.
gen5::harness::Bound check_float64(const Inputs& in, const std::vector<uint16_t>& o, const Arithmetic& arithmetic,
                                   double most_pairs = 2e7);

}  // namespace attention
