// Floating-point values as registers hold them: formats, exact decoding, rounding, NaN and ftz rules.
#pragma once
#include <bit>
#include <cmath>
#include <type_traits>

#include "common/tinygpu/base/halves.h"
#include "common/tinygpu/isa/host_arithmetic.h"
#include "common/tinygpu/isa/lanewise.h"

namespace tinygpu::isa {

/// f64 keeps payloads (H200): of the operands in falling priority `first`, `second`, `third` the first NaN, quieted,
/// its sign kept; the default NaN if none is one. r: the result computed, returned unless it is a NaN.
constexpr uint64_t kQuiet64 = 0x0008000000000000;
constexpr double kDefaultNaN64 = std::bit_cast<double>(uint64_t(0xfff8000000000000));
inline double quiet(double x) { return std::bit_cast<double>(bits_of(x) | kQuiet64); }
inline double payload(double r, double first) { return r == r ? r : first != first ? quiet(first) : kDefaultNaN64; }
inline double payload(double r, double first, double second) {
  return r == r ? r : first != first ? quiet(first) : second != second ? quiet(second) : kDefaultNaN64;
}
inline double payload(double r, double first, double second, double third) {
  return r == r             ? r
         : first != first   ? quiet(first)
         : second != second ? quiet(second)
         : third != third   ? quiet(third)
                            : kDefaultNaN64;
}

/// .ftz: subnormal to zero of the same sign.
inline float flush(float x) {
  const uint32_t u = bits_of(x);
  return std::bit_cast<float>((u & 0x7f800000) ? u : u & 0x80000000);
}

/// .sat: [0, 1]; NaN and −0 give +0.
inline float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline double saturate(double x) { return x > 0.0 ? (x < 1.0 ? x : 1.0) : 0.0; }

// ---- f16 and bf16

/// Rounds to float "to odd": an inexact result gets its last bit set, so that rounding it again to fewer bits rounds
/// the exact value. (float's 24 bits are at least two more than f16 and bf16 have.)
inline float round_to_odd(double x) {
  const float r = float(x);
  const uint32_t u = bits_of(r);
  // One step toward zero where the conversion went away from zero, then the sticky bit.
  const bool away = std::fabs(double(r)) > std::fabs(x);
  const uint32_t toward = u - uint32_t(away);
  const uint32_t odd = double(r) == x || x != x ? u : toward | 1;
  return std::bit_cast<float>(odd);
}

/// a + b to odd in double: the rounded sum, its last bit set where bits were lost.
inline double sum_to_odd(double a, double b) {
  const double s = a + b;
  const double t = s - a;
  const double error = (a - (s - t)) + (b - t);
  const uint64_t u = bits_of(s);
  // error has the sign in which the exact sum lies from s.
  const bool inward = (error < 0) != (s < 0);
  const uint64_t odd = (u & 1) ? u : inward ? u - 1 : u + 1;
  // Infinite or NaN sums make error NaN: not different from zero in the ordered sense.
  return (error < 0 || error > 0) ? std::bit_cast<double>(odd) : s;
}

/// a × b + c rounded once; float products are exact in double.
inline float fused(float a, float b, float c) {
#ifdef __FMA__
  return std::fma(a, b, c);
#else
  return float(sum_to_odd(double(a) * b, c));
#endif
}
inline double fused(double a, double b, double c) { return host::fma(a, b, c); }
/// The same sum in float.
inline float sum_to_odd(float a, float b) {
  const float s = a + b;
  const float t = s - a;
  const float error = (a - (s - t)) + (b - t);
  const uint32_t u = bits_of(s);
  const bool inward = (error < 0) != (s < 0);
  const uint32_t odd = (u & 1) ? u : inward ? u - 1 : u + 1;
  return (error < 0 || error > 0) ? std::bit_cast<float>(odd) : s;
}
/// f16 products are exact in float, bf16 products need double's exponents.
inline f16 fused16(f16 a, f16 b, f16 c) { return nearest<f16>(sum_to_odd(value(a) * value(b), value(c))); }
inline bf16 fused16(bf16 a, bf16 b, bf16 c) {
  return nearest<bf16>(round_to_odd(sum_to_odd(double(value(a)) * value(b), double(value(c)))));
}

// ---- Any format, any rounding

/// A binary format of up to 64 bits.
struct Format {
  int exponent_bits, fraction_bits;
  enum Top : uint8_t {
    ieee,      // the largest exponent field holds infinity and NaN
    nan_only,  // e4m3: only all ones is NaN, no infinity
    finite,    // e2m3, e3m2, e2m1: no specials
  } top = ieee;
  uint64_t nan = 0;  // what conversions to it give for NaN
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr int width() const { return 1 + exponent_bits + fraction_bits; }
  constexpr uint64_t infinity() const { return ((uint64_t(1) << exponent_bits) - 1) << fraction_bits; }
  constexpr uint64_t max_finite() const {
    const uint64_t all = (uint64_t(1) << (exponent_bits + fraction_bits)) - 1;
    return top == ieee ? infinity() - 1 : top == nan_only ? all - 1 : all;
  }
};
constexpr Format kF64{11, 52, Format::ieee, 0x7fffffffffffffff};
constexpr Format kF32{8, 23, Format::ieee, kCanonicalNaN};
constexpr Format kTF32{8, 10, Format::ieee, 0x7fffffff >> 13};
constexpr Format kF16{5, 10, Format::ieee, kCanonicalNaN16};
constexpr Format kBF16{8, 7, Format::ieee, kCanonicalNaN16};
constexpr Format kE5M2{5, 2, Format::ieee, 0x7f};
constexpr Format kE4M3{4, 3, Format::nan_only, 0x7f};
constexpr Format kE3M2{3, 2, Format::finite, 0x1f};
constexpr Format kE2M3{2, 3, Format::finite, 0x1f};
constexpr Format kE2M1{2, 1, Format::finite, 0x7};

/// (−1)^negative × significand × 2^exponent, or a special; of a NaN `significand` is the fraction field, moved to the
/// top of f64's 52 bits.
struct Exact {
  enum Kind : uint8_t { number, infinite, nan } kind = number;
  bool negative = false;
  int exponent = 0;
  uint64_t significand = 0;
};

/// The value of an encoding.
inline Exact decode(const Format& f, uint64_t bits) {
  Exact x;
  x.negative = bits >> (f.width() - 1) & 1;
  const uint64_t magnitude = bits & ((uint64_t(1) << (f.width() - 1)) - 1);
  const uint64_t field = magnitude >> f.fraction_bits, fraction = magnitude & ((uint64_t(1) << f.fraction_bits) - 1);
  if (f.top == Format::ieee && magnitude >= f.infinity()) {
    x.kind = magnitude == f.infinity() ? Exact::infinite : Exact::nan;
    x.significand = fraction << (52 - f.fraction_bits);
  } else if (f.top == Format::nan_only && magnitude > f.max_finite()) {
    x.kind = Exact::nan;
  } else {
    x.significand = field ? fraction | uint64_t(1) << f.fraction_bits : fraction;
    x.exponent = int(field ? field : 1) - f.bias() - f.fraction_bits;
  }
  return x;
}
template <class T>
inline Exact exact_integer(T v) {
  Exact x;
  x.negative = v < 0;
  x.significand = x.negative ? 0 - uint64_t(v) : uint64_t(v);
  return x;
}

/// Shifts right by n ≥ 0 with the rounding's decision on the bits that fall out. `random` (rs): added, aligned below
/// the last kept bit as a fraction of 32 bits, before truncation.
inline uint64_t shift_rounded(uint64_t m, int n, bool negative, Rounding mode, uint32_t random = 0) {
  if (n == 0) return m;
  const uint64_t kept = n >= 64 ? 0 : m >> n;
  const uint64_t rest = n >= 64 ? m : m & ((uint64_t(1) << n) - 1);
  if (rest == 0) return kept;
  // The fraction that falls out, compared with one half.
  const int versus_half = n > 64 ? -1 : rest > (uint64_t(1) << (n - 1)) ? 1 : rest == (uint64_t(1) << (n - 1)) ? 0 : -1;
  switch (mode) {
    case Rounding::rn: return kept + (versus_half > 0 || (versus_half == 0 && (kept & 1)));
    case Rounding::rna: return kept + (versus_half >= 0);
    case Rounding::rz: return kept;
    case Rounding::rm: return kept + negative;
    case Rounding::rp: return kept + !negative;
    case Rounding::rs: {
      const uint64_t fraction = n >= 96 ? 0 : n > 32 ? (n >= 64 ? m >> (n - 32) : rest >> (n - 32)) : rest << (32 - n);
      return kept + ((fraction + random) >> 32);
    }
  }
  return kept;
}

/// The encoding nearest to x under `mode`. saturate (.satfinite): what would be infinite is the largest finite number.
/// Formats without infinity always saturate.
inline uint64_t encode(const Format& f, const Exact& x, Rounding mode, bool saturate = false, uint32_t random = 0) {
  const uint64_t sign = uint64_t(x.negative) << (f.width() - 1);
  if (x.kind == Exact::nan) return f.nan;
  if (x.kind == Exact::infinite) return sign | (saturate || f.top != Format::ieee ? f.max_finite() : f.infinity());
  if (x.significand == 0) return sign;
  const int top = x.exponent + 63 - std::countl_zero(x.significand);  // exponent of the leading bit
  const int lowest = 1 - f.bias();
  const int leading = top > lowest ? top : lowest;
  const int shift = leading - f.fraction_bits - x.exponent;
  const uint64_t kept =
      shift <= 0 ? x.significand << -shift : shift_rounded(x.significand, shift, x.negative, mode, random);
  // A carry out of the fraction, and the implicit bit of a normal number, run into the exponent field by themselves.
  const uint64_t magnitude = leading - lowest > (1 << f.exponent_bits)
                                 ? ~uint64_t(0) >> 1
                                 : (uint64_t(leading - lowest) << f.fraction_bits) + kept;
  if (magnitude <= f.max_finite()) return sign | magnitude;
  const bool away = mode == Rounding::rn || mode == Rounding::rna || mode == Rounding::rs ||
                    (mode == Rounding::rm && x.negative) || (mode == Rounding::rp && !x.negative);
  return sign | (saturate || f.top != Format::ieee || !away ? f.max_finite() : f.infinity());
}

// ---- Directed rounding of arithmetic

inline Rounding rounding_of(const ptx::Instruction& inst) {
  return inst.one_of("rz", "rzi") != ""   ? Rounding::rz
         : inst.one_of("rm", "rmi") != "" ? Rounding::rm
         : inst.one_of("rp", "rpi") != "" ? Rounding::rp
         : inst.has("rna")                ? Rounding::rna
         : inst.has("rs")                 ? Rounding::rs
                                          : Rounding::rn;
}

/// f under the op's Rounding. Operands and result pass through volatile memory between the two mode switches: the
/// compiler can move neither volatile accesses nor the opaque calls across each other, so the arithmetic stays inside.
template <auto f, int N>
void execute_directed(Warp& w, const Op& op) {
  const Elements<f> of(w, op);
  using D = typename Elements<f>::Result;
  D* d = w.at<D>(op.dst);
  const host::RoundingMode mode{op.get<Rounding>()};
  for_lanes(w.exec(), [&](int lane) {
    for (int j = lane * N; j < lane * N + N; ++j) {
      volatile const D out = of.through_memory(j);
      d[j] = out;
    }
  });
}
template <auto f, int N = 1>
constexpr Executor directed{execute_directed<f, N>, Elements<f>::template kSources<N>};

// ---- Modifiers as wrappers of an instruction's function

inline double flush(double x) { return x; }  // f64 has no .ftz
inline f16 flush(f16 x) { return (bits_of(x) & 0x7c00) ? x : f16(uint16_t(bits_of(x) & 0x8000)); }
inline bf16 flush(bf16 x) { return (bits_of(x) & 0x7f80) ? x : bf16(uint16_t(bits_of(x) & 0x8000)); }

template <class T>
inline T saturate16(T x, T one) {
  const float v = value(x);
  return v > 0.0f ? (v < 1.0f ? x : one) : T(0);
}
inline f16 saturate(f16 x) { return saturate16(x, f16(0x3c00)); }
inline bf16 saturate(bf16 x) { return saturate16(x, bf16(0x3f80)); }

/// .relu: negative numbers and −0 become +0, NaN stays.
template <class T>
inline T relu(T x) {
  return !(value(x) <= 0) ? x : T(0);
}

template <auto f, class = std::decay_t<decltype(f)>>
struct Modified;
template <auto f, class R, class... A>
struct Modified<f, R (*)(A...)> {
  static R ftz(A... a) { return flush(f(flush(a)...)); }
  static R sat(A... a) { return saturate(f(a...)); }
  static R relu(A... a) { return isa::relu(f(a...)); }
};

template <auto f, int N = 1>
Executor maybe_ftz(const ptx::Instruction& inst) {
  return inst.has("ftz") ? lanewise<Modified<f>::ftz, N> : lanewise<f, N>;
}

/// .ftz looks at the result rounded as if exponents had no lower end (H200): what rounds up to the smallest normal
/// number from below at full precision stays. True if `exact`, which is the exact result or one that rounds like it, is
/// flushed.
template <class T>
inline bool tiny(double exact);
template <>
inline bool tiny<float>(double exact) {
  return std::fabs(host::narrow(exact * 0x1p126)) < 1.0f;
}
template <>
inline bool tiny<f16>(double exact) {
  return (bits_of(nearest<f16>(round_to_odd(exact * 0x1p14))) & 0x7fff) < 0x3c00;
}

inline float signed_zero(float x) { return std::bit_cast<float>(bits_of(x) & 0x80000000); }
inline f16 signed_zero(f16 x) { return f16(uint16_t(bits_of(x) & 0x8000)); }

/// f with .ftz, where f's result may round up to the smallest normal number; exact gives it before rounding.
template <auto f, auto exact, class = std::decay_t<decltype(f)>>
struct FlushTiny;
template <auto f, auto exact, class R, class... A>
struct FlushTiny<f, exact, R (*)(A...)> {
  static R call(A... a) {
    const R r = f(flush(a)...);
    return tiny<R>(exact(flush(a)...)) ? signed_zero(r) : r;
  }
};

/// True where a result needs FlushTiny's look at the exact value: only the smallest normal number is in doubt.
inline bool in_doubt(float r) { return (bits_of(r) & 0x7fffffff) == 0x00800000; }
inline bool in_doubt(f16 r) { return (bits_of(r) & 0x7fff) == 0x0400; }

/// Executor of f with .ftz by the plain rule, and by the exact one when a lane is in doubt.
template <auto f, auto exact, int N>
void execute_flushing(Warp& w, const Op& op) {
  const Elements<Modified<f>::ftz> quick(w, op);
  using D = typename Elements<f>::Result;
  D result[32 * N];
  uint32_t doubt = 0;
  for (int j = 0; j < 32 * N; ++j) {
    result[j] = quick(j);
    doubt |= uint32_t(in_doubt(result[j]));
  }
  if (doubt) {
    const Elements<FlushTiny<f, exact>::call> slow(w, op);
    for (int j = 0; j < 32 * N; ++j) result[j] = slow(j);
  }
  each_element<D, N>(w, op.dst, [&](int j) { return result[j]; });
}
template <auto f, auto exact, int N = 1>
constexpr Executor flushing{execute_flushing<f, exact, N>, Elements<f>::template kSources<N>};

}  // namespace tinygpu::isa
