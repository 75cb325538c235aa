// Tiles of 8-bit and narrower numbers by the fixed point of mma_vector.h, at the same speed whatever they are. A sparse
// one as a dense one of 64 terms, A's missing elements being zeros: each takes part by its sign only, which the count
// of negative products takes back.
//
// What is different from 16 terms (mma_vector.h), and why it stays exact:
// * 64 products of magnitude below 4 * 2^e move the accumulator, which starts at 1.5 * 2^52 q, by less than 2^33 q: it
//   stays in its binade.
// * The sum may need more than 32 bits. So C's cut, which may be negative, enters the start as a 64-bit integer, and in
//   the end the start without C is subtracted in f64: what remains is an integer below 2^34 times q, exactly, of which
//   one conversion rounds.
// * A ue8m0 factor of a row multiplies its elements, and its exponent adds to their raw exponents: elements of a format
//   with more exponents. So the factors are part of the panels, and windows, C and results know nothing of them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_vector.h"

namespace tinygpu::numerics {

template <class V>
struct ByteMma {
  static constexpr uint32_t kTerms = 32;

  /// The tiles that it does.
  static bool knows(const MmaTile& t) {
    const auto number = [](Format f) {
      return f == Format::e4m3 || f == Format::e5m2 || f == Format::e3m2 || f == Format::e2m3 || f == Format::e2m1;
    };
    if (!number(t.a_format) || !number(t.b_format) || t.terms != kTerms || t.c_scale != 0) return false;
    if (t.sum == SumKind::scaled) return t.scales == 1;
    return t.sum == SumKind::fused && t.rule.window == 25 && t.rule.result != SumRule::Result::f32_14_bits;
  }

  static bool run(const MmaTile& t, const NarrowRest* parts, NarrowRest& rest) {
    if (!knows(t)) return false;
    if (t.select)
      spread(t, parts, rest);
    else
      VectorMma<V, kTerms>::run_bytes(t, parts, nullptr);
    return true;
  }

 private:
  static void spread(const MmaTile& t, const NarrowRest* parts, NarrowRest& rest) {
    alignas(64) uint8_t planes[2 * kTerms * kPlane];
    for (uint32_t k = 0; k < 2 * kTerms; ++k)
      for (uint32_t r = 0; r < kPlane; ++r) planes[k * kPlane + r] = 0;
    const auto* a = static_cast<const uint8_t*>(t.a);
    for (uint32_t i = 0; i < kTerms; ++i)
      for (uint32_t r = 0; r < t.rows; ++r) planes[t.select[i * kPlane + r] * kPlane + r] = a[i * kPlane + r];
    MmaTile dense = t;
    dense.a = planes;
    dense.select = nullptr;
    dense.terms = 2 * kTerms;
    VectorMma<V, 2 * kTerms>::run_bytes(dense, parts, &rest);
  }
};

}  // namespace tinygpu::numerics
