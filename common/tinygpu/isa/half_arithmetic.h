// Arithmetic of f16 and bf16 registers in vectors of float: what the host's conversions and fused multiply-add make
// quick. Bit for bit what lanewise<> of the same instruction gives.
#pragma once
#include "common/tinygpu/isa/floats.h"

#if defined(__F16C__) && defined(__FMA__)
#include <immintrin.h>
#endif

namespace tinygpu::isa {

#if defined(__F16C__) && defined(__FMA__)
inline constexpr bool kQuickHalves = true;

inline constexpr int kToNearest = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
#ifdef __AVX512F__
inline constexpr int kFloats = 16;
using HostHalves = __m256i;
// All lanes, by mask: GCC 12 takes the plain forms for uses of uninitialised values.
inline __m512 host_widen(__m256i h) { return _mm512_maskz_cvtph_ps(0xffff, h); }
inline __m512i host_narrow(__m512 low, __m512 high) {
  return _mm512_maskz_inserti64x4(0xff, _mm512_castsi256_si512(_mm512_maskz_cvtps_ph(0xffff, low, kToNearest)),
                                  _mm512_maskz_cvtps_ph(0xffff, high, kToNearest), 1);
}
#else
inline constexpr int kFloats = 8;
using HostHalves = __m128i;
inline __m256 host_widen(__m128i h) { return _mm256_cvtph_ps(h); }
inline __m256i host_narrow(__m256 low, __m256 high) {
  return _mm256_set_m128i(_mm256_cvtps_ph(high, kToNearest), _mm256_cvtps_ph(low, kToNearest));
}
#endif
using Floats = float __attribute__((vector_size(4 * kFloats)));
using Words = uint32_t __attribute__((vector_size(4 * kFloats)));

/// 2 * kFloats elements of a register as floats.
struct Chunk {
  Floats part[2];
};

inline Chunk widen(const f16* from) {
  Chunk c;
  for (int i = 0; i < 2; ++i) {
    HostHalves h;
    std::memcpy(&h, from + i * kFloats, sizeof h);
    c.part[i] = Floats(host_widen(h));
  }
  return c;
}
/// To nearest even. One store: the next instruction's load is of as many bytes, and is served from it.
inline void narrow(const Chunk& from, f16* to) {
  Floats f[2];
  for (int i = 0; i < 2; ++i) f[i] = from.part[i] == from.part[i] ? from.part[i] : kNaN32 - Floats{};
  const auto h = host_narrow(f[0], f[1]);
  std::memcpy(to, &h, sizeof h);
}
/// bf16: the even elements, then the odd ones, so that shifts and masks are enough.
inline Chunk widen(const bf16* from) {
  Words w;
  std::memcpy(&w, from, sizeof w);
  return {Floats(w << 16), Floats(w & 0xffff0000)};
}
inline void narrow(const Chunk& from, bf16* to) {
  Words r[2];
  for (int i = 0; i < 2; ++i) {
    const Floats f = from.part[i];
    const Words u = Words(f);
    r[i] = f == f ? u + 0x7fff + (u >> 16 & 1) : (uint32_t(kCanonicalNaN16) << 16) - Words{};
  }
  const Words w = r[0] >> 16 | (r[1] & 0xffff0000);
  std::memcpy(to, &w, sizeof w);
}

// ---- What is computed

struct AddFloats {
  static constexpr int operands = 2;
  static Floats of(Floats a, Floats b, Floats) { return a + b; }
};
struct SubFloats {
  static constexpr int operands = 2;
  static Floats of(Floats a, Floats b, Floats) { return a - b; }
};
struct MulFloats {
  static constexpr int operands = 2;
  static Floats of(Floats a, Floats b, Floats) { return a * b; }
};
/// a × b + c such that rounding it once more, to f16 or bf16, rounds the exact sum; or nearly so (see half_way()).
struct FmaFloats {
  static constexpr int operands = 3;
#ifdef __AVX512F__
  static constexpr bool exact = true;
  /// To odd: what lies between two floats is the one of them whose last bit is set. An exact zero may be told from
  /// what rounds to it only by its sign, and that is kept: of +0 and −0, +0.
  static Floats of(Floats a, Floats b, Floats c) {
    const Words down = Words(_mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC));
    const Words up = Words(_mm512_fmadd_round_ps(a, b, c, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC));
    const Words toward_zero = down < up ? down : up;
    return Floats(down == up ? down : toward_zero | 1);
  }
#else
  static constexpr bool exact = false;
  static Floats of(Floats a, Floats b, Floats c) { return Floats(_mm256_fmadd_ps(a, b, c)); }
#endif
};

// What is done to a result before it is rounded, as if done after.
struct AsItIs {
  static Floats of(Floats x) { return x; }
};
struct WithoutNegatives {
  static Floats of(Floats x) { return x <= 0 ? Floats{} : x; }
};
struct WithinOne {
  static Floats of(Floats x) {
    const Floats one = 1 - Floats{};
    return x > 0 ? (x < 1 ? x : one) : Floats{};
  }
};

// ---- Where the host cannot round to odd

/// All ones if x lies half-way between two numbers of T, so that rounding it does not tell how a number near it is
/// rounded.
template <class T>
Words half_way(Floats x);
template <>
inline Words half_way<f16>(Floats x) {
  const Words magnitude = Words(x) & 0x7fffffff;
  // Numbers below 2^-14 are multiples of 2^-24, which adding 0.5 rounds to.
  const Floats size = Floats(magnitude), rest = size - (size + 0.5f - 0.5f);
  const Words small_half = Words((Words(rest) & 0x7fffffff) == bits_of(0x1p-25f));
  const Words half = Words((magnitude & 0x1fff) == 0x1000);
  return magnitude < (113u << 23) ? small_half : half;
}
template <>
inline Words half_way<bf16>(Floats x) {
  return Words((Words(x) & 0xffff) == 0x8000);
}

/// a × b + c is `sum` exactly; false where that is not certain.
inline bool surely_exact(float a, float b, float c, float sum) {
  const float p = a * b;
  const float t = sum - p;
  const float error = (p - (sum - t)) + (c - t);
  return error == 0 && std::fabs(p) >= 0x1p-126f;  // below, the product may have been rounded
}

// ---- The executor

/// Operation on elements of T, N a register, and `Last` on its results. `exact` is the same by way of values, for the
/// elements that a second rounding could get wrong.
template <class T, int N, class Operation, class Last, auto exact>
void by_float(Warp& w, const Op& op) {
  constexpr int kCount = 32 * N;
  constexpr bool three = Operation::operands == 3;
  const T *a = w.at<T>(op.a), *b = w.at<T>(op.b), *c = three ? w.at<T>(op.c) : nullptr;
  alignas(64) T result[kCount];
  if constexpr (!three || FmaFloats::exact) {
    T* const to = w.full() ? w.at<T>(op.dst) : result;
    for (int j = 0; j < kCount; j += 2 * kFloats) {
      const Chunk x = widen(a + j), y = widen(b + j), z = three ? widen(c + j) : Chunk{};
      Chunk r;
      for (int i = 0; i < 2; ++i) r.part[i] = Last::of(Operation::of(x.part[i], y.part[i], z.part[i]));
      narrow(r, to + j);
    }
    if (w.full()) return;
  } else {
    Words some{};
    for (int j = 0; j < kCount; j += 2 * kFloats) {
      const Chunk x = widen(a + j), y = widen(b + j), z = widen(c + j);
      Chunk r;
      for (int i = 0; i < 2; ++i) {
        const Floats sum = Operation::of(x.part[i], y.part[i], z.part[i]);
        some |= half_way<T>(sum);
        r.part[i] = Last::of(sum);
      }
      narrow(r, result + j);
    }
    uint64_t any = 0;
    for (int i = 0; i < kFloats; ++i) any |= some[i];
    if (any) [[unlikely]]
      for (int j = 0; j < kCount; ++j) {
        const float x = value(a[j]), y = value(b[j]), z = value(c[j]);
        if (!surely_exact(x, y, z, std::fma(x, y, z))) result[j] = exact(a[j], b[j], c[j]);
      }
  }
  each_element<T, N>(w, op.dst, [&](int j) { return result[j]; });
}
template <class T, int N, class Operation, class Last, auto exact>
constexpr Executor halves_by_float{
    by_float<T, N, Operation, Last, exact>,
    {kSourceType<T, N>, kSourceType<T, N>, Operation::operands == 3 ? kSourceType<T, N> : Type::none}};
#else
inline constexpr bool kQuickHalves = false;
struct AddFloats;
struct SubFloats;
struct MulFloats;
struct FmaFloats;
struct AsItIs;
struct WithoutNegatives;
struct WithinOne;
template <class T, int N, class Operation, class Last, auto exact>
constexpr Executor halves_by_float{};
#endif

}  // namespace tinygpu::isa
