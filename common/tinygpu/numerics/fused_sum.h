// One K step of a tensor core, element by element: the reference model. Exact products and C, cut toward zero to a
// window below the largest raw exponent, added exactly, rounded once. Rules and evidence: notes/evidence.md,
// "Numerics".
#pragma once
#include <cstdint>
#include <span>

#include "common/tinygpu/numerics/formats.h"

namespace tinygpu::numerics {

/// How a kind accumulates.
struct SumRule {
  /// Fraction bits kept below the largest raw exponent.
  int window = 25;
  /// The largest exponent is taken to be at least this; kNoFloor: no limit. −133 for f32 accumulators (seen on an H200;
  /// inferred for Blackwell).
  int floor = -133;
  enum class Result : uint8_t {
    f32_toward_zero,
    f32_14_bits,  // f32 word of 14 significant bits, toward zero: Hopper's fp8
    f16_nearest,  // C and D are f16 words
  } result = Result::f32_toward_zero;

  static constexpr int kNoFloor = -100000;
};

/// Blackwell's tcgen05 kinds and Hopper's wgmma and mma.sync for f16, bf16, tf32; tcgen05's f8f6f4.
inline constexpr SumRule kSumF32{25, -133, SumRule::Result::f32_toward_zero};
inline constexpr SumRule kSumF16{25, SumRule::kNoFloor, SumRule::Result::f16_nearest};
/// Hopper's wgmma for e4m3 and e5m2.
inline constexpr SumRule kSumHopperFp8{13, -133, SumRule::Result::f32_14_bits};
inline constexpr SumRule kSumHopperFp8F16{13, SumRule::kNoFloor, SumRule::Result::f16_nearest};

/// C of the sum: absent (scale-d or enable-input-d false: not read at all), or a word, times 2^−scale
/// (tcgen05 scale-input-d; that it is exact and before the alignment is inferred).
struct Addend {
  bool present = false;
  uint32_t bits = 0;
  int scale = 0;
};

/// D = sum of a[i]*b[i] over the K step (all of `a`) + C, in one window. Negation of an operand flips the sign bits
/// beforehand: see negate().
uint32_t fused_sum(const SumRule& rule, Format a_format, Format b_format, std::span<const uint32_t> a,
                   std::span<const uint32_t> b, const Addend& c);

/// kind::mxf8f6f4: as fused_sum, each product times both scales (one ue8m0 scale per operand and K step).
uint32_t fused_sum_scaled(Format a_format, Format b_format, std::span<const uint32_t> a, std::span<const uint32_t> b,
                          uint32_t scale_a, uint32_t scale_b, const Addend& c);

/// kind::mxf4 and mxf4nvf4: e2m1 operands, 64 of them, scales of `scale_format` (ue8m0 or ue4m3) for each
/// a.size() / scale_a.size() elements.
uint32_t fused_sum_fp4(Format scale_format, std::span<const uint32_t> a, std::span<const uint32_t> b,
                       std::span<const uint32_t> scale_a, std::span<const uint32_t> scale_b, const Addend& c);

/// Integer kinds: exact, then wrapped or clamped once to s32.
uint32_t integer_sum(Format a_format, Format b_format, std::span<const uint32_t> a, std::span<const uint32_t> b,
                     const Addend& c, bool saturate);

/// The pattern with its sign flipped (NaN stays NaN).
uint32_t negate(Format f, uint32_t bits);

}  // namespace tinygpu::numerics
