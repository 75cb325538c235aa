// The number formats that tensor cores read: bit patterns to sign, raw exponent and significand, exactly.
#pragma once
#include <cstdint>
#include <string_view>

namespace tinygpu::numerics {

enum class Format : uint8_t { f32, tf32, f16, bf16, e4m3, e5m2, e2m3, e3m2, e2m1, ue8m0, ue4m3, s8, u8 };

struct FormatInfo {
  std::string_view name;
  uint8_t bits;           // width of a pattern in its container, from bit 0
  uint8_t exponent_bits;  // 0 for integers
  uint8_t fraction_bits;
  int16_t bias;
  enum class Specials : uint8_t { none, ieee, nan_only } specials;  // nan_only: all-ones patterns are NaN, no infinity
};
const FormatInfo& info(Format f);

/// A value as the tensor core takes it apart: ±significand x 2^(exponent − fraction_bits). `exponent` is the raw one:
/// that of the encoding, a subnormal having the smallest normal's; the significand is not normalised.
struct Unpacked {
  enum class Class : uint8_t { zero, finite, infinite, nan } kind = Class::zero;
  bool negative = false;
  int16_t exponent = 0;
  uint32_t significand = 0;
};

/// `bits` beyond the format's container are ignored. A tf32 pattern is an f32 word of which the low 13 bits are dropped
/// first (PTX ISA 9.7.16.10), before it is classified. ue4m3 ignores bit 7. Not for integers.
Unpacked unpack(Format f, uint32_t bits);

/// The integer value of an s8 or u8 pattern.
int32_t unpack_integer(Format f, uint32_t bits);

/// The exact value; NaN for NaN. For checks and explanations.
double to_double(Format f, uint32_t bits);

/// value = sum x 2^exponent, rounded to f32 toward zero, or to f16 to nearest even. Subnormal results
/// are kept, overflow gives infinity in every mode (B200 words), a zero is +0.
uint32_t round_f32_toward_zero(bool negative, uint64_t magnitude, int exponent);
uint16_t round_f16_nearest(bool negative, uint64_t magnitude, int exponent);

inline constexpr uint32_t kNanF32 = 0x7fffffff;  // what tensor cores return for every NaN
inline constexpr uint16_t kNanF16 = 0x7fff;

}  // namespace tinygpu::numerics
