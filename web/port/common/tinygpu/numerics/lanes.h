// Vectors of 128 bits as Clang has them, for general.h: the operations of Highway and of the machine's own lanes.h that
// it uses, under the same names.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/tinygpu/numerics/mma_kernel.h"
#include "common/tinygpu/numerics/patterns.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

inline constexpr uint32_t kLanes = 4;
using I = int32_t __attribute__((vector_size(16)));
using U = uint32_t __attribute__((vector_size(16)));
using F = float __attribute__((vector_size(16)));
using D = double __attribute__((vector_size(16)));
using L = int64_t __attribute__((vector_size(16)));
using M = I;  // all ones, or zero

struct Words {};
struct Reals {};
inline constexpr Words kS32;
inline constexpr Reals kF64;

/// There is no other mode than to nearest: what is rounded toward zero here is so by words().
struct TowardZero {
  explicit TowardZero(bool) {}
  ~TowardZero() {}
};

inline I set(int32_t v) { return I{v, v, v, v}; }
inline D Set(Reals, double v) { return D{v, v}; }
inline I Zero(Words) { return I{}; }
template <class V>
V load_vector(const void* p) {
  V v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline I load(const int32_t* p) { return load_vector<I>(p); }
inline void store(I v, int32_t* p) { std::memcpy(p, &v, sizeof v); }
template <class Word>
I load_words(const Word* p) {
  using Narrow = Word __attribute__((vector_size(4 * sizeof(Word))));
  return I(__builtin_convertvector(load_vector<Narrow>(p), U));
}
inline F as_float(I a) { return F(a); }
inline I as_int(F a) { return I(a); }

inline I And(I a, I b) { return a & b; }
inline I Or(I a, I b) { return a | b; }
inline I Xor(I a, I b) { return a ^ b; }
inline I Add(I a, I b) { return I(U(a) + U(b)); }
inline I Sub(I a, I b) { return I(U(a) - U(b)); }
inline F Mul(F a, F b) { return a * b; }
inline M Gt(I a, I b) { return a > b; }
inline M Lt(I a, I b) { return a < b; }
inline M Eq(I a, I b) { return a == b; }
inline M Ne(I a, I b) { return a != b; }
inline I IfThenElse(M m, I a, I b) { return (a & m) | (b & ~m); }
inline I IfThenElseZero(M m, I a) { return a & m; }
inline I Max(I a, I b) { return __builtin_elementwise_max(a, b); }
inline bool AllFalse(Words, M m) {
  const L both = L(m);
  return (both[0] | both[1]) == 0;
}
template <int n>
I shl(I a) {
  return I(U(a) << n);
}
template <int n>
I shr(I a) {
  return I(U(a) >> n);
}
inline M first_lanes(Words, uint32_t count) { return I{0, 1, 2, 3} < set(int32_t(count < kLanes ? count : kLanes)); }

inline D low_double(F a) { return D{a[0], a[1]}; }
inline D high_double(F a) { return D{a[2], a[3]}; }
inline F narrow(D low, D high) { return F{float(low[0]), float(low[1]), float(high[0]), float(high[1])}; }

/// The f16 values in the low halves of words.
inline F from_half(I words) {
  const I magnitude = shl<13>(words & 0x7fff), normal = Add(magnitude, set(112 << 23));
  const I subnormal = as_int(as_float(Add(normal, set(1 << 23))) - as_float(set(113 << 23)));
  I r = IfThenElse(magnitude < set(1 << 23), subnormal, normal);
  r = IfThenElse(magnitude >= set(31 << 23), magnitude | set(0x7f800000), r);
  return as_float(r | shl<16>(words & 0x8000));
}
/// f16 words, to nearest even; no negative zero.
inline I round_half(F v) {
  const I magnitude = as_int(v) & 0x7fffffff;
  const I normal = shr<13>(Sub(Add(Add(magnitude, set(0xfff)), shr<13>(magnitude) & 1), set(112 << 23)));
  // Below 2^-14: adding 0.5, whose last bit is 2^-24, rounds to a multiple of 2^-24.
  const F half = F{0.5f, 0.5f, 0.5f, 0.5f};
  const I subnormal = Sub(as_int(as_float(magnitude) + half), as_int(half));
  I r = IfThenElse(magnitude < set(113 << 23), subnormal, normal);
  r = IfThenElse(magnitude >= set(0x477ff000), set(0x7c00), r);  // 65520 and more
  r = IfThenElse(magnitude > set(0x7f800000), set(0x7e00), r);
  r |= shr<16>(as_int(v)) & 0x8000;
  return IfThenElseZero((r & 0x7fff) != 0, r);
}
/// Cut to f32's last place, which is set if something lies below it: rounding twice is like rounding once.
inline D sticky(D v) {
  const L bits = L(v), below = L{0x1fffffff, 0x1fffffff};
  return D((bits | (((bits & below) + below) & 0x20000000)) & ~below);
}

/// Two f64 vectors, of the first and of the second half of a vector's 32-bit lanes.
struct Doubles {
  D low, high;
  static Doubles of(F v) { return {low_double(v), high_double(v)}; }
  /// 2^e.
  static Doubles power(I e) { return {D((L{e[0], e[1]} + 1023) << 52), D((L{e[2], e[3]} + 1023) << 52)}; }
  static Doubles load(const double* p) { return {load_vector<D>(p), load_vector<D>(p + 2)}; }
  void store(double* p) const {
    std::memcpy(p, &low, sizeof low);
    std::memcpy(p + 2, &high, sizeof high);
  }
  Doubles operator*(const Doubles& o) const { return {low * o.low, high * o.high}; }
  Doubles operator*(D o) const { return {low * o, high * o}; }
  Doubles operator+(const Doubles& o) const { return {low + o.low, high + o.high}; }
  /// Toward zero.
  Doubles whole() const { return {__builtin_elementwise_trunc(low), __builtin_elementwise_trunc(high)}; }
  /// f32 words toward zero; from 2^128 on infinity; no negative zero.
  I words() const {
    I word;
    for (uint32_t i = 0; i < kLanes; ++i) {
      const double v = i < 2 ? low[i] : high[i - 2];
      const float nearest = float(v);
      uint32_t bits;
      std::memcpy(&bits, &nearest, sizeof bits);
      const double size = __builtin_fabs(v);
      const bool away = double(__builtin_fabsf(nearest)) > size;  // an infinity, too
      word[i] = int32_t(bits - uint32_t(away && size < 0x1p128));
    }
    return IfThenElseZero((word & 0x7fffffff) != 0, word);
  }
  /// f16 words to nearest even; no negative zero. (Of what sticky() gives, narrowing is exact or f16 does not tell.)
  I half_words() const { return round_half(narrow(sticky(low), sticky(high))); }
};

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL

#include "common/tinygpu/numerics/lane_steps.h"
