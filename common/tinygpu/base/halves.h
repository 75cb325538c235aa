// 16-bit floats as stored, and their conversion to and from binary32.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

namespace tinygpu {

/// 16-bit floats as stored; arithmetic goes through float or double.
enum class f16 : uint16_t {};
enum class bf16 : uint16_t {};

template <class T>
constexpr uint32_t bits_of(T x) {
  return uint32_t(std::underlying_type_t<T>(x));
}
constexpr uint32_t bits_of(float x) { return std::bit_cast<uint32_t>(x); }
constexpr uint64_t bits_of(double x) { return std::bit_cast<uint64_t>(x); }

/// The NaN that arithmetic gives, whatever NaN went in (H200).
constexpr uint16_t kCanonicalNaN16 = 0x7fff;  // f16 and bf16
constexpr uint32_t kCanonicalNaN = 0x7fffffff;
constexpr float kNaN32 = std::bit_cast<float>(kCanonicalNaN);

inline float canonical(float x) { return x != x ? kNaN32 : x; }

/// Exact. A NaN stays one.
inline float value(f16 h) {
  const uint32_t u = bits_of(h), magnitude = (u & 0x7fff) << 13;
  const uint32_t normal = magnitude + (112u << 23);
  const uint32_t special = magnitude | 0x7f800000;  // infinity, NaN
  // A subnormal is a multiple of 2^-24: 2^-14 + fraction, less 2^-14.
  const uint32_t subnormal = bits_of(std::bit_cast<float>(normal + (1u << 23)) - std::bit_cast<float>(113u << 23));
  const uint32_t r = magnitude < (1u << 23) ? subnormal : magnitude >= (31u << 23) ? special : normal;
  return std::bit_cast<float>(r | (u & 0x8000) << 16);
}
inline float value(bf16 b) { return std::bit_cast<float>(bits_of(b) << 16); }
inline float value(float x) { return x; }
inline double value(double x) { return x; }

/// Round to nearest even.
template <class T>
T nearest(float x);
template <>
inline f16 nearest<f16>(float x) {
  const uint32_t u = bits_of(x), magnitude = u & 0x7fffffff;
  const uint32_t normal = (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13;
  // Below 2^-14: adding 0.5, whose last bit is 2^-24, rounds to a multiple of 2^-24.
  const uint32_t subnormal = bits_of(std::bit_cast<float>(magnitude) + 0.5f) - bits_of(0.5f);
  uint32_t r = magnitude < (113u << 23) ? subnormal : normal;
  r = magnitude >= 0x477ff000 ? 0x7c00 : r;  // 65520 and more
  r |= u >> 16 & 0x8000;
  r = magnitude > 0x7f800000 ? kCanonicalNaN16 : r;
  return f16(uint16_t(r));
}
template <>
inline bf16 nearest<bf16>(float x) {
  const uint32_t u = bits_of(x);
  const uint32_t r = (u + 0x7fff + (u >> 16 & 1)) >> 16;
  return bf16(uint16_t((u & 0x7fffffff) > 0x7f800000 ? kCanonicalNaN16 : r));
}
template <>
inline float nearest<float>(float x) {
  return canonical(x);
}

}  // namespace tinygpu
