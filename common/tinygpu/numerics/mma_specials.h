// Infinities and NaNs in the vector kernels: which outputs they decide, and how. An output that has one among its terms
// is known without a sum, so operands can be given to the ordinary way with zeros in their places, and the words that
// are known put in afterwards.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

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
  /// Which old accumulators are infinite or NaN.
  template <bool kHalf>
  static M special_old(I c) {
    return V::greater(V::bit_and(c, V::set(kHalf ? 0x7fff : INT32_MAX)), V::set(kHalf ? 0x7bff : 0x7f7fffff));
  }
  /// These, as they are kept, and zeros.
  template <bool kHalf>
  static I special_words(I c) {
    const I word = kHalf ? V::bit_and(c, V::set(0xffff)) : c;
    const M nan = V::greater(V::bit_and(word, V::set(kHalf ? 0x7fff : INT32_MAX)), infinity<kHalf>(false));
    return V::select(nan, V::set(kHalf ? kNanF16 : kNanF32), V::select(special_old<kHalf>(c), word, V::zero()));
  }

  /// The accumulator of a row and a column.
  static int32_t* word(const MmaTile& t, uint32_t row, uint32_t n) {
    return reinterpret_cast<int32_t*>(t.d) + size_t(n) * t.column_stride + t.lane[row / 16] + row % 16;
  }
};

/// The outputs of a tile of f16, bf16 or tf32 that infinities and NaNs decide, kept while the others are summed.
template <class V>
class KnownOutputs {
 public:
  using I = typename V::I;
  using M = typename V::M;
  using Of = Specials<V>;
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kTerms = 16;

  /// `t`: its operands may be replaced by take_operands().
  explicit KnownOutputs(MmaTile& t) : t_(t), half_(t.rule.result == SumRule::Result::f16_nearest) {}

  /// Gives the tile operands with zeros in the places of infinities and NaNs. False, and nothing done: it has none.
  bool take_operands() {
    if (!has_some(t_.a_format, t_.a, t_.rows) && !has_some(t_.b_format, t_.b, t_.columns)) return false;
    Of::template collect<false>(t_, a_);
    Of::template collect<true>(t_, b_);
    t_.a = without(t_.a_format, t_.a, t_.rows, a_, planes_a_);
    t_.b = without(t_.b_format, t_.b, t_.columns, b_, planes_b_);
    operands_ = true;
    return true;
  }
  bool operands() const { return operands_; }
  /// Takes the outputs that are known out of rows `row` to `end` − 1 of columns n and up, where zeros take the old
  /// accumulators' places. At most once for each output. True: that is all of them.
  bool take_out(uint32_t row, uint32_t end, uint32_t n) {
    return half_ ? take_out<true>(row, end, n) : take_out<false>(row, end, n);
  }
  /// The same if an operand, or an old accumulator of columns n to n + kColumnStep − 1, is an infinity or a NaN.
  bool take_out_if_special(uint32_t row, uint32_t end, uint32_t n) {
    return (operands_ || (t_.read_c && special_olds(row, end, n))) && take_out(row, end, n);
  }
  /// Some old accumulators of these rows, in columns n to n + kColumnStep − 1, are infinities or NaNs.
  bool special_olds(uint32_t row, uint32_t end, uint32_t n) const {
    M some = V::none();
    for (; row < end; row += kLanes)
      for (uint32_t j = 0; j < Of::kColumnStep; ++j) {
        const I c = V::load(Of::word(t_, row, n + j));
        some = V::either(some, half_ ? Of::template special_old<true>(c) : Of::template special_old<false>(c));
      }
    return V::any(some);
  }
  /// Takes infinities and NaNs out of a vector of old accumulators; returns the others, and zeros.
  template <bool kHalf>
  [[gnu::always_inline]] I take_out(int32_t* d, I c) {
    return keep(d, c, Of::template special_words<kHalf>(c));
  }
  /// Puts them in.
  void put_in() const { half_ ? put_in<true>() : put_in<false>(); }

 private:
  struct Planes {
    alignas(64) uint32_t words[kTerms * kPlane];
  };

  bool has_some(Format f, const void* planes, uint32_t rows) const {
    bool some = false;
    FormatPatterns<V>::with(f, [&]<class P>(P) {
      const auto* words = static_cast<const typename P::Word*>(planes);
      I most = V::zero();
      for (uint32_t k = 0; k < t_.terms; ++k)
        for (uint32_t r = 0; r < rows; r += kLanes)
          most = V::max(most, V::bit_and(V::load_words(words + k * kPlane + r), V::set(P::kMagnitude)));
      some = !V::all_at_most(most, V::set(P::kSpecial - 1));
    });
    return some;
  }
  const void* without(Format f, const void* planes, uint32_t rows, const typename Of::Masks& m, Planes& to) const {
    FormatPatterns<V>::with(f, [&]<class P>(P) {
      using Word = typename P::Word;
      auto* out = reinterpret_cast<Word*>(to.words);
      std::memcpy(out, planes, size_t(t_.terms) * kPlane * sizeof(Word));
      for (uint32_t r = 0; r < rows; ++r)
        for (uint32_t bits = uint32_t(m.infinite[r] | m.nan[r]); bits; bits &= bits - 1)
          out[uint32_t(__builtin_ctz(bits)) * kPlane + r] = 0;
    });
    return to.words;
  }
  /// Vectors of rows, as they are needed for column after column: no memory that a store might change.
  struct Rows {
    uint32_t count = 0;
    size_t lane[kMaxRows / kLanes];
    M nan[kMaxRows / kLanes];
    bool some_nan[kMaxRows / kLanes], infinite[kMaxRows / kLanes];
  };
  Rows rows(uint32_t row, uint32_t end) const {
    Rows rows;
    for (; row < end; row += kLanes, ++rows.count) {
      const uint32_t v = rows.count;
      rows.lane[v] = t_.lane[row / 16] + row % 16;
      rows.nan[v] = operands_ ? V::any_bit(V::load(a_.nan + row)) : V::none();
      rows.some_nan[v] = V::any(rows.nan[v]);
      rows.infinite[v] = operands_ && V::any(V::any_bit(V::load(a_.infinite + row)));
    }
    return rows;
  }
  template <bool kHalf>
  bool take_out(uint32_t row, uint32_t end, uint32_t n) {
    bool all = true;
    const Rows rows = this->rows(row, end);
    const uint32_t columns = t_.columns;
    const size_t stride = t_.column_stride;
    const bool read_c = t_.read_c;
    auto* column = reinterpret_cast<int32_t*>(t_.d) + n * stride;
    for (; n < columns; ++n, column += stride) {
      if (operands_ && b_.nan[n]) {
        if (read_c)
          for (uint32_t v = 0; v < rows.count; ++v) V::store(column + rows.lane[v], V::zero());
        continue;
      }
      const bool infinite = operands_ && b_.infinite[n];
      for (uint32_t v = 0; v < rows.count; ++v) {
        int32_t* const d = column + rows.lane[v];
        const bool products = infinite || rows.infinite[v];
        const I c = read_c ? V::select(rows.nan[v], V::zero(), V::load(d)) : V::zero();
        I words = V::zero();
        if (products || V::any(Of::template special_old<kHalf>(c))) {
          words = products ? this->words<kHalf>(c, row + v * kLanes, n) : Of::template special_words<kHalf>(c);
          keep(d, c, words);
        } else if (read_c && rows.some_nan[v]) {
          V::store(d, c);
        }
        all = all && !V::any(V::equal(V::select(rows.nan[v], V::set(-1), words), V::zero()));
      }
    }
    return all;
  }
  /// The words that are known where products take part, and zeros.
  template <bool kHalf>
  [[gnu::noinline]] I words(I c, uint32_t row, uint32_t n) const {
    return Of::template in<kHalf>(V::zero(), a_, b_, row, n, &c);
  }
  [[gnu::always_inline]] I keep(int32_t* d, I c, I words) {
    V::store(words_[count_], words);
    places_[count_++] = d;
    const I left = V::select(V::any_bit(words), V::zero(), c);
    if (t_.read_c) V::store(d, left);
    return left;
  }
  template <bool kHalf>
  void put_in() const {
    for (uint32_t i = 0; i < count_; ++i) {
      const I words = V::load(words_[i]);
      V::store(places_[i], V::select(V::any_bit(words), words, V::load(places_[i])));
    }
    if (!operands_) return;
    const Rows rows = this->rows(0, t_.rows);
    const size_t stride = t_.column_stride;
    auto* column = reinterpret_cast<int32_t*>(t_.d);
    const I nan = V::set(kHalf ? kNanF16 : kNanF32);
    for (uint32_t n = 0, columns = t_.columns; n < columns; ++n, column += stride) {
      const bool all = b_.nan[n];
      for (uint32_t v = 0; v < rows.count; ++v) {
        int32_t* const d = column + rows.lane[v];
        if (all)
          V::store(d, nan);
        else if (rows.some_nan[v])
          V::store(d, V::select(rows.nan[v], nan, V::load(d)));
      }
    }
  }

  MmaTile& t_;
  const bool half_;
  bool operands_ = false;
  typename Of::Masks a_, b_;
  Planes planes_a_, planes_b_;
  // What is not known to be NaN from a row of A or a column of B alone: where it belongs; the words, or zeros.
  uint32_t count_ = 0;
  int32_t* places_[kMaxRows / kLanes * kMaxColumns];
  alignas(64) int32_t words_[kMaxRows / kLanes * kMaxColumns][kLanes];
};

}  // namespace tinygpu::numerics
