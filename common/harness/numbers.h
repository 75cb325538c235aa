// 16-bit and tf32 numbers on the host: bits to double and back. Written for the references; shares nothing with
// tinygpu.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace gen5::harness {

enum class Format : uint8_t { f16, bf16, tf32 };

/// Fraction bits, and the exponent of the smallest normal number.
constexpr int fraction_bits(Format f) { return f == Format::bf16 ? 7 : 10; }
constexpr int smallest_exponent(Format f) { return f == Format::f16 ? -14 : -126; }

/// The value of an f16 or bf16 word, or of the tf32 number that an f32 word is read as (its low 13 bits dropped).
inline double value_of(Format f, uint32_t bits) {
  if (f == Format::bf16) return std::bit_cast<float>(bits << 16);
  if (f == Format::tf32) return std::bit_cast<float>(bits & 0xffffe000u);
  const int exponent = (bits >> 10) & 31, fraction = bits & 1023;
  double v;
  if (exponent == 31)
    v = fraction ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    v = std::ldexp(fraction, -24);
  else
    v = std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -v : v;
}

/// Rounds to nearest even. NaN becomes 0x7fff.
inline uint16_t bf16_of(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffff) > 0x7f800000) return 0x7fff;
  return uint16_t((u + 0x7fff + ((u >> 16) & 1)) >> 16);
}

/// Rounds to nearest even, overflow to infinity. NaN becomes 0x7fff.
inline uint16_t f16_of(double x) {
  if (std::isnan(x)) return 0x7fff;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double a = std::fabs(x);
  if (a == 0) return sign;
  if (a >= 65520) return sign | 0x7c00;
  int e;
  std::frexp(a, &e);  // a = [0.5, 1) · 2^e
  const int quantum = std::max(e - 11, -24);
  const auto units = uint32_t(std::nearbyint(std::ldexp(a, -quantum)));  // at most 2048
  if (quantum == -24) return sign | uint16_t(units);                     // subnormal, or carried into the first normal
  return sign | uint16_t((uint32_t(quantum + 25) << 10) + (units - 1024));
}

}  // namespace gen5::harness
