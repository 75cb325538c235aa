// Infinities and NaNs in the wide way (mma_wide.h): which outputs they decide, and how.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_patterns.h"

namespace tinygpu::numerics {

template <class V>
struct Specials {
  using I = typename V::I;
  using M = typename V::M;  // a truth for each lane
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kColumnStep = 4;

  /// Of each row of an operand, a bit for each term.
  struct Masks {
    alignas(64) int32_t sign[kPlane], zero[kPlane], infinite[kPlane], nan[kPlane];
    // Some row of a vector, some of kColumnStep columns of B has an infinity or a NaN.
    bool special[kPlane / kColumnStep];
    bool all_nan[kPlane / kLanes];  // A: every row of a vector has a NaN
    bool infinities;                // there are some
  };
  template <class P, bool kBroadcast>
  static void collect(const typename P::Word* planes, uint32_t rows, uint32_t terms, bool flip, Masks& m) {
    const I magnitude_mask = V::set(P::kMagnitude), one = V::set(1);
    const I all_terms = V::set(terms < 32 ? (1 << terms) - 1 : -1);
    I all_infinities = V::zero();
    for (uint32_t r0 = 0; r0 < rows; r0 += kLanes) {
      I signs = V::zero(), zeros = V::zero(), infinities = V::zero(), nans = V::zero();
      I bit = one;
      for (uint32_t k = 0; k < terms; ++k, bit = V::add(bit, bit)) {
        const I words = V::load_words(planes + size_t(k) * kPlane + r0);
        const I magnitude = V::bit_and(words, magnitude_mask);
        const I sign = V::template shr<P::kBits - 1>(words);
        zeros = V::bit_or(zeros, V::select(V::equal(magnitude, V::zero()), bit, V::zero()));
        // Infinities are counted as NaNs first.
        nans = V::bit_or(nans, V::select(V::greater(magnitude, V::set(P::kSpecial - 1)), bit, V::zero()));
        if constexpr (P::kInfinities)
          infinities = V::bit_or(infinities, V::select(V::equal(magnitude, V::set(P::kSpecial)), bit, V::zero()));
        signs = V::bit_or(signs, V::bit_and(V::sub(V::zero(), sign), bit));
      }
      V::store(m.sign + r0, flip ? V::bit_xor(signs, all_terms) : signs);
      V::store(m.zero + r0, zeros);
      V::store(m.infinite + r0, infinities);
      V::store(m.nan + r0, V::bit_xor(nans, infinities));
      all_infinities = V::bit_or(all_infinities, infinities);
      const bool special = !V::all_at_most(nans, V::zero());
      if constexpr (kBroadcast) {
        alignas(64) int32_t each[kLanes];
        V::store(each, nans);
        for (uint32_t i = 0; i < kLanes; i += kColumnStep)
          m.special[(r0 + i) / kColumnStep] = special && (each[i] | each[i + 1] | each[i + 2] | each[i + 3]);
      } else {
        m.special[r0 / kLanes] = special;
        m.all_nan[r0 / kLanes] = !V::any(V::equal(V::bit_xor(nans, infinities), V::zero()));
      }
    }
    m.infinities = !V::all_at_most(all_infinities, V::zero());
  }
  /// A tile's operands.
  template <bool kBroadcast>
  static void collect(const MmaTile& t, Masks& m) {
    FormatPatterns<V>::with(kBroadcast ? t.b_format : t.a_format, [&]<class P>(P) {
      const auto* planes = static_cast<const typename P::Word*>(kBroadcast ? t.b : t.a);
      collect<P, kBroadcast>(planes, kBroadcast ? t.columns : t.rows, t.terms, kBroadcast ? t.negate_b : t.negate_a, m);
    });
  }

  /// The outputs of a vector of rows in one column that are known: infinities of either sign, and NaNs.
  struct Known {
    M above = V::none(), below = above, nan = above;

    /// What the products decide.
    void add_products(const Masks& a, const Masks& b, uint32_t row, uint32_t column) {
      nan = V::either(nan, V::any_bit(V::bit_or(V::load(a.nan + row), V::set(b.nan[column]))));
      if (!a.infinities && !b.infinities) return;
      const I ai = V::load(a.infinite + row), bi = V::set(b.infinite[column]);
      const I infinite = V::bit_or(ai, bi), negative = V::bit_xor(V::load(a.sign + row), V::set(b.sign[column]));
      const I of_zero = V::bit_or(V::bit_and(ai, V::set(b.zero[column])), V::bit_and(bi, V::load(a.zero + row)));
      below = V::either(below, V::any_bit(V::bit_and(infinite, negative)));
      above = V::either(above, V::any_bit(V::bit_xor(infinite, V::bit_and(infinite, negative))));
      nan = V::either(nan, V::any_bit(of_zero));
    }
    /// What the old accumulators decide.
    template <bool kHalf>
    void add_old(I c) {
      const I word = kHalf ? V::bit_and(c, V::set(0xffff)) : c;
      above = V::either(above, V::equal(word, infinity<kHalf>(false)));
      below = V::either(below, V::equal(word, infinity<kHalf>(true)));
      nan = V::either(nan, V::greater(V::bit_and(word, V::set(kHalf ? 0x7fff : INT32_MAX)), infinity<kHalf>(false)));
    }
    /// Infinities of both signs make a NaN.
    void close() { nan = V::either(nan, V::both(above, below)); }
    /// The words, with those that are known.
    template <bool kHalf>
    I in(I words) const {
      words = V::select(above, infinity<kHalf>(false), words);
      words = V::select(below, infinity<kHalf>(true), words);
      return V::select(nan, V::set(kHalf ? kNanF16 : kNanF32), words);
    }
  };
  /// Words, with those that terms decide; `c`: the old accumulators, if they take part.
  template <bool kHalf>
  static I in(I words, const Masks& a, const Masks& b, uint32_t row, uint32_t column, const I* c) {
    Known known;
    known.add_products(a, b, row, column);
    if (c) known.template add_old<kHalf>(*c);
    known.close();
    return known.template in<kHalf>(words);
  }
  template <bool kHalf>
  static I infinity(bool negative) {
    return kHalf ? V::set(negative ? 0xfc00 : 0x7c00) : V::set(int32_t(negative ? 0xff800000 : 0x7f800000));
  }

  /// The accumulator of a row and a column.
  static int32_t* word(const MmaTile& t, uint32_t row, uint32_t n) {
    return reinterpret_cast<int32_t*>(t.d) + size_t(n) * t.column_stride + t.lane[row / 16] + row % 16;
  }
};

}  // namespace tinygpu::numerics
