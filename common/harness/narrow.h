// 8-, 6- and 4-bit floating-point numbers on the host, and the scales of block-scaled products (PTX ISA 5.2.3, OCP MX).
// Written for the references; shares nothing with tinygpu.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

namespace gen5::harness {

enum class Narrow : uint8_t { e4m3, e5m2, e2m3, e3m2, e2m1 };
inline constexpr std::array kNarrows = {Narrow::e4m3, Narrow::e5m2, Narrow::e2m3, Narrow::e3m2, Narrow::e2m1};

struct NarrowShape {
  const char* name;
  int exponent, fraction, bias;
  double largest;  // finite
  constexpr int bits() const { return 1 + exponent + fraction; }
};
constexpr NarrowShape shape_of(Narrow n) {
  switch (n) {
    case Narrow::e4m3: return {"e4m3", 4, 3, 7, 448};
    case Narrow::e5m2: return {"e5m2", 5, 2, 15, 57344};
    case Narrow::e2m3: return {"e2m3", 2, 3, 1, 7.5};
    case Narrow::e3m2: return {"e3m2", 3, 2, 3, 28};
    case Narrow::e2m1: return {"e2m1", 2, 1, 1, 6};
  }
  return {};
}

/// The value of a code: its low bits() bits. e4m3 has one NaN and no infinity, e5m2 is like IEEE's, the others have
/// neither.
inline double value_of(Narrow n, uint32_t code) {
  const NarrowShape s = shape_of(n);
  const int fraction = int(code & ((1u << s.fraction) - 1)),
            exponent = int(code >> s.fraction & ((1u << s.exponent) - 1));
  const double sign = code >> (s.bits() - 1) & 1 ? -1 : 1;
  if (n == Narrow::e4m3 && exponent == 15 && fraction == 7) return std::numeric_limits<double>::quiet_NaN();
  if (n == Narrow::e5m2 && exponent == 31)
    return fraction ? std::numeric_limits<double>::quiet_NaN() : sign * std::numeric_limits<double>::infinity();
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - s.bias - s.fraction);
  return sign * std::ldexp((1 << s.fraction) + fraction, exponent - s.bias - s.fraction);
}

/// The code nearest to x, ties to the even one; beyond the largest number the largest. x is no NaN.
inline uint8_t narrow_of(Narrow n, double x) {
  const NarrowShape s = shape_of(n);
  const uint32_t sign = std::signbit(x) ? 1u << (s.bits() - 1) : 0;
  const double a = std::fmin(std::fabs(x), s.largest);
  if (a == 0) return uint8_t(sign);
  int e;
  std::frexp(a, &e);  // a = [0.5, 1) · 2^e
  const int quantum = std::max(e - 1, 1 - s.bias) - s.fraction;
  const auto units = uint32_t(std::nearbyint(std::ldexp(a, -quantum)));  // with the hidden bit, or a carry above it
  // The exponent field of numbers with this quantum is quantum + fraction + bias; that of subnormal ones is one less.
  return uint8_t(sign | ((uint32_t(quantum + s.fraction + s.bias - 1) << s.fraction) + units));
}

/// Sixteen codes as tcgen05.mma's kinds f8f6f4 and mxf8f6f4 have them in 16 bytes of shared memory: bytes; 6-bit codes
/// in the first 12 bytes, from the lowest bit up; 4-bit codes in the first 8. The rest is padding.
inline std::array<uint8_t, 16> container_of(Narrow n, std::span<const uint8_t, 16> codes) {
  std::array<uint8_t, 16> bytes{};
  const int bits = shape_of(n).bits();
  for (int i = 0; i < 16; ++i)
    for (int b = 0; b < bits; ++b) {
      const int at = i * bits + b;
      bytes[at / 8] |= uint8_t((codes[i] >> b & 1) << at % 8);
    }
  return bytes;
}

/// Block scales. ue8m0: 2^(code − 127), 255 is NaN. ue4m3: e4m3 without its sign.
inline double ue8m0_value(uint32_t code) {
  return code == 255 ? std::numeric_limits<double>::quiet_NaN() : std::ldexp(1.0, int(code) - 127);
}
inline double ue4m3_value(uint32_t code) { return value_of(Narrow::e4m3, code & 0x7f); }

}  // namespace gen5::harness
