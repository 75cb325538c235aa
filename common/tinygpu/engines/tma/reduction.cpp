#include "common/tinygpu/engines/tma/reduction.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tinygpu {
namespace {

template <class T, class F>
void each(uint8_t* to, const uint8_t* from, size_t bytes, F&& f) {
  for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, to + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    a = f(a, b);
    std::memcpy(to + i, &a, sizeof(T));
  }
}

template <class U, class S>
void integer(ReduceOperation op, uint8_t* to, const uint8_t* from, size_t bytes) {
  // S orders; sums and bits are the same for both signs.
  switch (op) {
    case ReduceOperation::add: return each<U>(to, from, bytes, [](U a, U b) { return U(a + b); });
    case ReduceOperation::min: return each<U>(to, from, bytes, [](U a, U b) { return S(a) < S(b) ? a : b; });
    case ReduceOperation::max: return each<U>(to, from, bytes, [](U a, U b) { return S(a) > S(b) ? a : b; });
    case ReduceOperation::inc: return each<U>(to, from, bytes, [](U a, U b) { return a >= b ? U(0) : U(a + 1); });
    case ReduceOperation::dec: return each<U>(to, from, bytes, [](U a, U b) { return a == 0 || a > b ? b : U(a - 1); });
    case ReduceOperation::bit_and: return each<U>(to, from, bytes, [](U a, U b) { return U(a & b); });
    case ReduceOperation::bit_or: return each<U>(to, from, bytes, [](U a, U b) { return U(a | b); });
    case ReduceOperation::bit_xor: return each<U>(to, from, bytes, [](U a, U b) { return U(a ^ b); });
  }
}

// 16-bit floats: add through f32, whose 24 bits make the second rounding harmless (24 >= 2p + 2 for p = 11 and 8).
struct Half {
  static float widen(uint16_t h) {
    const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 0x3ff;
    if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
    if (exponent) return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
    const float value = std::ldexp(float(fraction), -24);
    return sign ? -value : value;
  }
  static uint16_t narrow(float f) {
    const uint32_t bits = std::bit_cast<uint32_t>(f), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000) return 0x7fff;
    if (magnitude >= 0x477ff000) return uint16_t(sign | 0x7c00);  // 65520 and up round to infinity
    if (magnitude < 0x38800000) {                                 // subnormal: units of 2^-24
      const float scaled = std::bit_cast<float>(magnitude) * 0x1p24f;
      return uint16_t(sign | uint32_t(std::nearbyintf(scaled)));
    }
    const uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
    return uint16_t(sign | ((rounded >> 13) - (112u << 10)));
  }
};

struct Bfloat {
  static float widen(uint16_t h) { return std::bit_cast<float>(uint32_t(h) << 16); }
  static uint16_t narrow(float f) {
    const uint32_t bits = std::bit_cast<uint32_t>(f);
    if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
    return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  }
};

template <class Format>
void small_float(ReduceOperation op, uint8_t* to, const uint8_t* from, size_t bytes) {
  each<uint16_t>(to, from, bytes, [op](uint16_t a, uint16_t b) -> uint16_t {
    const float x = Format::widen(a), y = Format::widen(b);
    if (op == ReduceOperation::add) return Format::narrow(x + y);
    // The number wins over a NaN; -0 is less than +0.
    if (std::isnan(x)) return std::isnan(y) ? uint16_t(0x7fff) : b;
    if (std::isnan(y)) return a;
    const bool less = x < y || (x == y && std::signbit(x) > std::signbit(y));
    return (op == ReduceOperation::min) == less ? a : b;
  });
}

}  // namespace

uint32_t size_of(ReduceType t) {
  switch (t) {
    case ReduceType::f16:
    case ReduceType::bf16: return 2;
    case ReduceType::u32:
    case ReduceType::s32:
    case ReduceType::f32: return 4;
    default: return 8;
  }
}

bool is_reducible(ReduceOperation op, ReduceType t) {
  switch (op) {
    case ReduceOperation::add: return true;
    case ReduceOperation::min:
    case ReduceOperation::max: return t != ReduceType::f32 && t != ReduceType::f64;
    case ReduceOperation::inc:
    case ReduceOperation::dec: return t == ReduceType::u32;
    default: return t == ReduceType::u32 || t == ReduceType::s32 || t == ReduceType::u64;
  }
}

void reduce(ReduceOperation op, ReduceType t, uint8_t* to, const uint8_t* from, size_t bytes) {
  switch (t) {
    case ReduceType::u32: return integer<uint32_t, uint32_t>(op, to, from, bytes);
    case ReduceType::s32: return integer<uint32_t, int32_t>(op, to, from, bytes);
    case ReduceType::u64: return integer<uint64_t, uint64_t>(op, to, from, bytes);
    case ReduceType::s64: return integer<uint64_t, int64_t>(op, to, from, bytes);
    case ReduceType::f16: return small_float<Half>(op, to, from, bytes);
    case ReduceType::bf16: return small_float<Bfloat>(op, to, from, bytes);
    case ReduceType::f32:
      return each<float>(to, from, bytes, [](float a, float b) {
        const float sum = a + b;
        return std::isnan(sum) ? std::bit_cast<float>(0x7fffffffu) : sum;
      });
    case ReduceType::f64:
      // A NaN goes through as it is, signalling or not, the one in memory first (measured on an H200).
      return each<double>(to, from, bytes, [](double a, double b) {
        return std::isnan(b) ? b : std::isnan(a) ? a : a + b;  // of two NaNs the operand's, as it is
      });
  }
}

}  // namespace tinygpu
