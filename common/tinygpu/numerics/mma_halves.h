// The part of mma_panel.h for operands of 16 bits of which none is for the wide way: exponents, signs and zeros are
// found in 16-bit lanes, twice as many at once.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {

/// `Panels`: NarrowPanel.
template <class V, class Panels>
struct HalvesPanel {
  using I = typename V::I;
  static constexpr uint32_t kLanes = V::kLanes, kHalves = 2 * kLanes, kBytes = 4 * kLanes;

  /// The rows that come in whole vectors.
  template <bool kBroadcast>
  static bool whole(uint32_t rows) {
    return rows % (kBroadcast ? kHalves : Panels::kBlock) == 0;
  }
  /// The largest magnitude.
  template <class P>
  static int32_t largest(const uint16_t* planes, uint32_t rows, uint32_t terms) {
    I most = V::zero();
    for (uint32_t k = 0; k < terms; ++k)
      for (uint32_t r = 0; r < rows; r += kHalves)
        most = V::max16(most, V::bit_and(V::load8(planes + size_t(k) * kPlane + r), V::set16(P::kMagnitude)));
    return largest_of(most);
  }
  /// Fills a panel, whose base is known.
  template <class P, bool kBroadcast, class Panel, class F>
  static void unpack(const uint16_t* planes, uint32_t rows, uint32_t terms, bool flip, F scale, Panel& p) {
    for (uint32_t r = 0; r < rows; r += kLanes)
      for (uint32_t k = 0; k < terms; ++k) {
        const I words = V::load_words(planes + size_t(k) * kPlane + r);
        Panels::template store_value<P, kBroadcast>(words, V::bit_and(words, V::set(P::kMagnitude)), scale, r, k, p);
      }
    if constexpr (kBroadcast)
      unpack_columns<P>(planes, rows, terms, flip, p);
    else
      unpack_rows<P>(planes, rows, terms, flip, p);
  }

 private:
  static int32_t largest_of(I halves) {
    alignas(64) uint16_t each[kHalves];
    V::store8(each, halves);
    int32_t most = 0;
    for (const uint16_t h : each) most = h > most ? h : most;
    return most;
  }
  /// What is known of a vector of rows, after some terms.
  template <class P>
  struct Rows {
    I signs = V::zero(), zeros = V::zero(), fractions = V::zero();
    /// Takes term k; returns its relative raw exponents.
    [[gnu::always_inline]] I take(const uint16_t* from, uint32_t k, I base) {
      const I words = V::load8(from), magnitude = V::bit_and(words, V::set16(P::kMagnitude));
      const I zero = V::is_zero16(magnitude), sign = V::bit_and(V::template shr16<12>(words), V::set16(8));
      signs = k % 4 == 0 ? sign : V::bit_or(V::template shr16<1>(signs), sign);
      zeros = V::sub16(V::add16(zeros, zeros), zero);
      fractions = V::add16(fractions, V::bit_and(words, V::set16((1 << P::kField) - 1)));
      const I relative = V::sub16(V::max16(V::template shr16<P::kField>(magnitude), V::set16(1)), base);
      return V::max16(V::add16(relative, V::bit_and(zero, V::set16(2 * Panels::kLeast))), V::set16(Panels::kLeast));
    }
    template <class Panel>
    void store_zeros(Panel& p, uint32_t r) const {
      alignas(64) uint16_t each[kHalves];
      V::store8(each, zeros);
      V::store(p.zeros[0] + r, V::load_words(each));
      V::store(p.zeros[0] + r + kLanes, V::load_words(each + kLanes));
    }
  };
  template <class P, class Panel>
  static void unpack_rows(const uint16_t* planes, uint32_t rows, uint32_t terms, bool flip, Panel& p) {
    const I base = V::set16(int16_t(p.base + P::kBias)), nibble_flip = V::set(flip ? 0x0f0f0f0f : 0);
    I fractions = V::zero();
    for (uint32_t first = 0; first < rows; first += kBytes) {
      Rows<P> low, high;
      for (uint32_t k = 0; k < terms; ++k) {
        const uint16_t* from = planes + size_t(k) * kPlane + first;
        const I e = low.take(from, k, base), f = high.take(from + kHalves, k, base);
        V::store8(p.exponent8 + first * Panels::kTerms + k * kBytes, V::bytes_of_halves(e, f));
        if (k % 4 == 3)
          V::store8(p.sign + first * Panels::kNibbles + k / 4 * kBytes,
                    V::bit_xor(V::bytes_of_halves(low.signs, high.signs), nibble_flip));
      }
      low.store_zeros(p, first);
      high.store_zeros(p, first + kHalves);
      fractions = V::max16(fractions, V::max16(low.fractions, high.fractions));
    }
    p.heavy = largest_of(fractions) >= Panels::template heavy_from<P>(terms);
  }
  template <class P, class Panel>
  static void unpack_columns(const uint16_t* planes, uint32_t columns, uint32_t terms, bool flip, Panel& p) {
    const I base = V::set16(int16_t(p.base + P::kBias)), nibble_flip = V::set16(flip ? 15 : 0);
    for (uint32_t first = 0; first < columns; first += kHalves) {
      Rows<P> all;
      for (uint32_t k = 0; k < terms; ++k) {
        const I e = all.take(planes + size_t(k) * kPlane + first, k, base);
        int32_t* to = p.exponent8x4 + first * Panels::kTerms + k * kLanes;
        V::store_halves_in_all(to, to + kLanes * Panels::kTerms, e);
        if (k % 4 == 3) V::store_low_bytes(p.sign + k / 4 * kPlane + first, V::bit_xor(all.signs, nibble_flip));
      }
      all.store_zeros(p, first);
    }
  }
};

}  // namespace tinygpu::numerics
