// Arithmetic of f16 and bf16 registers by way of float arrays: what the hardware's conversions and fused multiply-add
// make quick. Bit for bit what lanewise<> of the same instruction gives.
#pragma once
#include "common/tinygpu/isa/floats.h"

TINYGPU_ISA_BEGIN

// What by_float computes, and what it does to a result.
inline float add_floats(float a, float b) { return a + b; }
inline float sub_floats(float a, float b) { return a - b; }
inline float mul_floats(float a, float b) { return a * b; }
inline float fma_floats(float a, float b, float c) { return std::fma(a, b, c); }
inline float as_it_is(float x) { return x; }
inline float without_negatives(float x) { return x <= 0 ? 0 : x; }
inline float within_one(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }

#if defined(__F16C__) && defined(__FMA__)
inline constexpr bool kQuickHalves = true;
using Halves8 = short __attribute__((vector_size(16)));
using Floats8 = float __attribute__((vector_size(32)));

template <int count>
void widen(const f16* __restrict from, float* __restrict to) {
  for (int i = 0; i < count; i += 8) {
    Halves8 h;
    std::memcpy(&h, from + i, sizeof h);
    const Floats8 f = __builtin_ia32_vcvtph2ps256(h);
    std::memcpy(to + i, &f, sizeof f);
  }
}
/// To nearest even. A NaN must be kNaN32.
template <int count>
void narrow(const float* __restrict from, f16* __restrict to) {
  for (int i = 0; i < count; i += 8) {
    Floats8 f;
    std::memcpy(&f, from + i, sizeof f);
    const Halves8 h = __builtin_ia32_vcvtps2ph256(f, 0);
    std::memcpy(to + i, &h, sizeof h);
  }
}
template <int count>
void widen(const bf16* __restrict from, float* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = value(from[i]);
}
template <int count>
void narrow(const float* __restrict from, bf16* __restrict to) {
  for (int i = 0; i < count; ++i) to[i] = nearest<bf16>(from[i]);
}

/// 1 if x lies half-way between two numbers of T, so that rounding it does not tell how a number near it is rounded.
template <class T>
uint32_t half_way(float x);
template <>
inline uint32_t half_way<f16>(float x) {
  const uint32_t magnitude = bits_of(x) & 0x7fffffff;
  const float size = std::bit_cast<float>(magnitude);
  // Numbers below 2^-14 are multiples of 2^-24, which adding 0.5 rounds to. No branches: they would keep the loop from
  // being vectorised.
  const uint32_t rest = bits_of(size - (size + 0.5f - 0.5f)) & 0x7fffffff;
  const uint32_t small = uint32_t(magnitude < (113u << 23));
  return (small & uint32_t(rest == bits_of(0x1p-25f))) | ((small ^ 1) & uint32_t((magnitude & 0x1fff) == 0x1000));
}
template <>
inline uint32_t half_way<bf16>(float x) {
  return uint32_t((bits_of(x) & 0xffff) == 0x8000);
}

/// a × b + c is `sum` exactly; false where that can't be told.
inline bool surely_exact(float a, float b, float c, float sum) {
  const float p = a * b;
  const float t = sum - p;
  const float error = (p - (sum - t)) + (c - t);
  return error == 0 && std::fabs(p) >= 0x1p-126f;  // below, the product may have been rounded
}

/// Executor of f on elements of T, N a register; what `last` does to a result before it is rounded is as if done after.
/// With three operands f is a fused multiply-add, and `exact` does it where rounding to float first could show.
template <class T, int N, auto f, auto last, auto exact>
void by_float(Warp& w, const Op& op) {
  constexpr size_t kOperands = Signature<std::decay_t<decltype(f)>>::arity;
  constexpr int kCount = 32 * N;
  alignas(64) float in[kOperands][kCount], out[kCount];
  alignas(64) T result[kCount];
  const uint32_t slots[] = {op.a, op.b, op.c};
  for (size_t i = 0; i < kOperands; ++i) widen<kCount>(w.at<T>(slots[i]), in[i]);
  if constexpr (kOperands == 3) {
    uint32_t some = 0;
    for (int j = 0; j < kCount; ++j) {
      const float sum = f(in[0][j], in[1][j], in[2][j]);
      some |= half_way<T>(sum);
      out[j] = last(canonical(sum));
    }
    narrow<kCount>(out, result);
    if (some) [[unlikely]]
      for (int j = 0; j < kCount; ++j) {
        const float a = in[0][j], b = in[1][j], c = in[2][j], sum = f(a, b, c);
        if (half_way<T>(sum) && !surely_exact(a, b, c, sum))
          result[j] = exact(w.at<T>(op.a)[j], w.at<T>(op.b)[j], w.at<T>(op.c)[j]);
      }
  } else {
    for (int j = 0; j < kCount; ++j) out[j] = last(canonical(f(in[0][j], in[1][j])));
    narrow<kCount>(out, result);
  }
  each_element<T, N>(w, op.dst, [&](int j) { return result[j]; });
}
#else
inline constexpr bool kQuickHalves = false;
template <class T, int N, auto f, auto last, auto exact>
void by_float(Warp& w, const Op& op);
#endif

TINYGPU_ISA_END
