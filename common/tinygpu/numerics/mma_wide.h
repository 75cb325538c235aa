// The wide way of the vector kernel (see mma_vector.h): every operand that a format has, two vectors of rows by
// four columns at a time. Infinities and NaNs are decided by bit masks, one bit for each term.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_specials.h"

namespace tinygpu::numerics {

template <class V>
struct WideMma {
  using I = typename V::I;
  using F = typename V::F;
  using D = typename V::D;
  using M = typename V::M;  // a truth for each lane
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kPair = 2 * kLanes;  // rows whose exponents share a vector: 16 bits each
  static constexpr uint32_t kMostTerms = 32;
  static constexpr uint32_t kColumnStep = 4;
  static constexpr uint32_t kFewTerms = 16;

  static constexpr int kBase = 127;       // operands are divided by 2^kBase
  static constexpr int kNothing = -1000;  // raw exponent of a zero: below that of any product or C
  static constexpr int kFloor = -64;      // of windows of f16 results, whose terms have raw exponents of at least −29

  alignas(16) static constexpr uint8_t kBitsOfNibble[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};

  /// An operand: element (k, r) of a tile of T rows at [r / T * T * kMostTerms + k * T + r % T]. A: T is kLanes, and in
  /// each such tile of values rows 0 and 1 of each four come first, rows 2 and 3 after them. B: T is kLanes.
  struct Panel {
    alignas(64) double value[kMostTerms * kPlane];  // divided by 2^kBase, moved away from zero
    // A: of row r in the low half, of row r + kLanes in the high half, T being kPair. B: twice the same.
    alignas(64) int32_t exponents[kMostTerms * kPlane];
    typename Specials<V>::Masks masks;
    // The masks' `sign` by nibbles, each in a byte of its own: of up to kFewTerms all of them; of more, every other in
    // either.
    alignas(64) int32_t low_signs[kPlane], high_signs[kPlane];
    alignas(64) int32_t scale[kPlane];  // exponent of the row's scale factor
  };

  /// Where column n of B begins in a panel.
  static constexpr size_t column_at(uint32_t n) { return n / kLanes * kLanes * kMostTerms + n % kLanes; }

  /// Fills a panel whose masks are there.
  template <class P, bool kBroadcast>
  static void unpack_panel(const typename P::Word* planes, uint32_t rows, uint32_t terms, bool flip, Panel& p) {
    constexpr int kField = P::kField;  // its lowest bit
    constexpr int32_t kMagnitude = P::kMagnitude, kFraction = (1 << kField) - 1;
    const I magnitude_mask = V::set(kMagnitude), one = V::set(1);
    const D scale = V::set_double(__builtin_bit_cast(double, uint64_t(1023 - kField - kBase) << 52));
    const D more = V::set_double(__builtin_bit_cast(double, uint64_t(0x2000000000000001)));
    const I sign_flip = V::set(flip ? 1 : 0);
    I first_exponents[kMostTerms];
    for (uint32_t r0 = 0; r0 < rows; r0 += kLanes) {
      for (uint32_t k = 0; k < terms; ++k) {
        const I words = V::load_words(planes + size_t(k) * kPlane + r0);
        const I magnitude = V::bit_and(words, magnitude_mask), field = V::template shr<kField>(magnitude);
        const I sign = V::bit_xor(V::template shr<P::kBits - 1>(words), sign_flip);
        const M zero = V::equal(magnitude, V::zero()), special = V::greater(magnitude, V::set(P::kSpecial - 1));
        const M none = V::either(zero, special);

        const I raw = V::sub(V::max(field, one), V::set(P::kBias));
        const I implicit = V::template shl<kField>(V::min(field, one));
        const I significand = V::select(none, V::zero(), V::bit_or(V::bit_and(magnitude, V::set(kFraction)), implicit));
        const F number = V::as_float(V::bit_or(V::as_int(V::to_float(significand)), V::template shl<31>(sign)));
        const F power = V::as_float(V::template shl<23>(V::add(V::select(none, V::zero(), raw), V::set(127))));
        const auto value = [&](D n, D two_to) {
          return V::or_double(V::mul_double(V::mul_double(n, two_to), scale), more);
        };
        const I exponent = V::select(none, V::set(kNothing), raw);
        if constexpr (kBroadcast) {
          double* to = p.value + r0 * kMostTerms + k * kLanes;
          V::store_double(to, value(V::low_double(number), V::low_double(power)));
          V::store_double(to + kLanes / 2, value(V::high_double(number), V::high_double(power)));
          const I twice = V::bit_or(V::bit_and(exponent, V::set(0xffff)), V::template shl<16>(exponent));
          V::store(p.exponents + r0 * kMostTerms + k * kLanes, twice);
        } else {
          double* to = p.value + r0 * kMostTerms + k * kLanes;
          const F n = V::in_pairs(number), two_to = V::in_pairs(power);
          V::store_double(to, value(V::low_double(n), V::low_double(two_to)));
          V::store_double(to + kLanes / 2, value(V::high_double(n), V::high_double(two_to)));
          if (r0 / kLanes % 2 == 0) first_exponents[k] = V::bit_and(exponent, V::set(0xffff));
          V::store(p.exponents + r0 / kPair * kLanes * kMostTerms + k * kLanes,
                   V::bit_or(first_exponents[k], V::template shl<16>(exponent)));
        }
      }
      const I signs = V::load(p.masks.sign + r0);
      const I nibble = V::set(0x0f0f0f0f);
      if (terms <= kFewTerms) {
        const auto at = [&](uint32_t mask) { return V::bit_and(signs, V::set(int32_t(mask))); };
        V::store(p.low_signs + r0,
                 V::bit_or(V::bit_or(at(0xf), V::template shl<4>(at(0xf0))),
                           V::bit_or(V::template shl<8>(at(0xf00)), V::template shl<12>(at(0xf000)))));
      } else {
        V::store(p.low_signs + r0, V::bit_and(signs, nibble));
        V::store(p.high_signs + r0, V::bit_and(V::template shr<4>(signs), nibble));
      }
    }
  }

  /// An operand of a tile.
  template <bool kBroadcast>
  static void unpack(const MmaTile& t, Panel& p) {
    Specials<V>::template collect<kBroadcast>(t, p.masks);
    FormatPatterns<V>::with(kBroadcast ? t.b_format : t.a_format, [&]<class P>(P) {
      const auto* planes = static_cast<const typename P::Word*>(kBroadcast ? t.b : t.a);
      unpack_panel<P, kBroadcast>(planes, kBroadcast ? t.columns : t.rows, t.terms,
                                  kBroadcast ? t.negate_b : t.negate_a, p);
    });
  }
  /// Scale factors, ue8m0. A NaN among them is as if the row's elements were NaNs.
  template <bool kBroadcast>
  static void unpack_scales(const uint8_t* scales, uint32_t rows, Panel& p) {
    for (uint32_t r = 0; r < rows; ++r) {
      p.scale[r] = int32_t(scales[r]) - 127;
      if (scales[r] != 0xff) continue;
      p.masks.nan[r] = -1;
      p.masks.special[r / (kBroadcast ? kColumnStep : kLanes)] = true;
    }
  }

  /// The tiles that it does.
  static bool knows(const MmaTile& t) {
    // Formats of less than a byte come 32 at a time.
    const auto byte = [](Format f) { return f == Format::e5m2 || f == Format::e4m3; };
    const auto less = [&](Format f) {
      return t.terms == 32 && (f == Format::e2m3 || f == Format::e3m2 || f == Format::e2m1);
    };
    const auto small = [&](Format f) { return f == Format::f16 || byte(f) || less(f); };
    const auto known = [&](Format f) { return f == Format::tf32 || f == Format::bf16 || small(f); };
    if (t.select || (t.sum != SumKind::fused && t.sum != SumKind::scaled)) return false;
    const bool half = t.rule.result == SumRule::Result::f16_nearest;
    return known(t.a_format) && known(t.b_format) && t.terms <= kMostTerms && t.rule.window <= 25 &&
           (half ? small(t.a_format) && small(t.b_format) : t.rule.floor >= -133);
  }

  /// The old accumulators of a vector of rows.
  struct Old {
    I exponent;     // raw; kNothing of a zero
    I significand;  // of an f32: 23 bits behind the point, of an f16: 10
    I negative;     // all bits or none
    M special;      // infinity or NaN
  };
  template <bool kHalf>
  static Old unpack_old(I word, int scale) {
    constexpr int kFraction = kHalf ? 10 : 23, kBias = kHalf ? 15 : 127, kAll = kHalf ? 31 : 255;
    const I magnitude = V::bit_and(word, V::set(kHalf ? 0x7fff : 0x7fffffff));
    const I field = V::max(V::template shr<kFraction>(magnitude), V::set(1));
    Old c;
    c.special = V::greater(field, V::set(kAll - 1));
    c.exponent = V::select(V::equal(magnitude, V::zero()), V::set(kNothing), V::sub(field, V::set(kBias + scale)));
    c.significand = V::sub(magnitude, V::template shl<kFraction>(V::sub(field, V::set(1))));
    c.negative = V::template sar<31>(V::template shl < kHalf ? 16 : 0 > (word));
    return c;
  }

  /// What to_f32() compares with, where the compiler can't compute it anew at every use.
  struct Limits {
    I magnitude = V::opaque(V::set(INT32_MAX)), largest = V::opaque(V::set(0x7f7fffff));
    D unit = V::opaque(V::set_double(0x1.8p-97)), minus = V::opaque(V::set_double(-0.0));
  };
  /// f32 words toward zero of f64 sums given in pairs (see Panel); beyond the largest: infinity; no negative zero.
  [[gnu::always_inline]] static I to_f32(const Limits& s, D low, D high) {
    I words = V::as_int(V::narrow(low, high));
    // Zero and the largest number also stand for what is below 2^-126, and from 2^128 on.
    const I magnitude = V::bit_and(words, s.magnitude);
    const M zero = V::equal(magnitude, V::zero()), largest = V::equal(magnitude, s.largest);
    if (V::any(zero)) words = V::select(zero, subnormal(s, words, low, high), words);
    if (V::any(largest)) [[unlikely]]
      words = beyond(words, low, high);
    return words;
  }
  /// Numbers below 2^-126, of which `words` has the signs: counted in units of 2^-149, which come to lie in the low
  /// words of what minus their magnitude is subtracted from.
  [[gnu::always_inline]] static I subnormal(const Limits& s, I words, D low, D high) {
    const I count = V::low_words(V::sub_double(s.unit, V::or_double(low, s.minus)),
                                 V::sub_double(s.unit, V::or_double(high, s.minus)));
    return V::select(V::any_bit(count), V::bit_or(count, words), V::zero());
  }
  static I beyond(I words, D low, D high) {
    const I top = V::high_words(low, high);
    const M huge = V::greater(V::bit_and(top, V::set(INT32_MAX)), V::set(0x47efffff));
    return V::select(huge, V::bit_or(V::bit_and(top, V::set(INT32_MIN)), V::set(0x7f800000)), words);
  }
  /// f16 words to nearest even: through a sticky bit below f32's precision, so rounded once.
  static I to_f16(D low, D high) {
    const M lost = V::any_bit(V::bit_and(V::low_words(low, high), V::set(0x1fffffff)));
    const I cut = V::as_int(V::narrow(low, high));
    return V::round_half(V::as_float(V::select(lost, V::bit_or(cut, V::set(1)), cut)));
  }

  /// A vector of rows by kColumnStep columns.
  struct Sums {
    D low[kColumnStep], high[kColumnStep];
    I start[kColumnStep];  // high words of what the sums began with, low ones being low_start()
    I old[kColumnStep], scale[kColumnStep];
    M none[kColumnStep];  // no product
    int32_t* d;
    uint32_t row;
    bool special;
  };
  static I low_start() { return V::set(INT32_MIN); }

  /// `most`: the products' largest raw exponents, in the half that the vector has.
  template <bool kHalf, bool kScaled>
  [[gnu::always_inline]] static void begin(const MmaTile& t, const Panel& a, const Panel& b, uint32_t pair, uint32_t v,
                                           uint32_t n, const I (&most)[kColumnStep], Sums& s) {
    const int window = t.rule.window, least = kHalf ? kFloor : t.rule.floor;
    const I table = V::load_table(kBitsOfNibble);
    const I high_start = V::set((1023 + 52 - window - 2 * kBase) << 20 | 0x80000);
    const uint32_t row = pair + v * kLanes;
    s.row = row;
    s.d = Specials<V>::word(t, row, n);
    s.special = a.masks.special[row / kLanes] || b.masks.special[n / kColumnStep];
    for (uint32_t j = 0; j < kColumnStep; ++j) {
      I e = V::template sar<16>(v == 0 ? V::template shl<16>(most[j]) : most[j]);
      I scale{};
      if constexpr (kScaled) {
        scale = V::add(V::load(a.scale + row), V::set(b.scale[n + j]));
        s.scale[j] = scale;
        s.none[j] = V::greater(V::set(kNothing / 2), e);
        e = V::max(e, V::sub(V::set(least), scale));
      } else {
        e = V::max(e, V::set(least));
      }
      // In how many terms the signs differ.
      I differ = V::shuffle8(table, V::bit_xor(V::load(a.low_signs + row), V::set(b.low_signs[n + j])));
      if (t.terms > kFewTerms) {
        const I others = V::bit_xor(V::load(a.high_signs + row), V::set(b.high_signs[n + j]));
        differ = V::add8(differ, V::shuffle8(table, others));
      }
      I units = V::add_bytes(differ);
      if (t.read_c) {
        s.old[j] = V::load(s.d + j * size_t(t.column_stride));
        Old c = unpack_old<kHalf>(s.old[j], t.c_scale);
        if (V::any(c.special)) {
          // Not in the sum, which would go the long way to an infinity.
          c.exponent = V::select(c.special, V::set(kNothing), c.exponent);
          s.special = true;
        }
        if constexpr (kScaled) c.exponent = V::sub(c.exponent, scale);
        e = V::max(e, c.exponent);
        // In units of 2^(e − window), two bits of which are above the point of a significand at e. Beyond 31: zero.
        const I drop = V::add(V::sub(e, c.exponent), V::set(25 - window));
        const I cut = V::shift_right(V::template shl < kHalf ? 15 : 2 > (c.significand), drop);
        units = V::add(units, V::sub(V::bit_xor(cut, c.negative), c.negative));
      }
      s.start[j] = V::add(V::template shl<20>(e), high_start);
      const I start = V::bit_xor(units, low_start());
      s.low[j] = V::pair_low(start, s.start[j]);
      s.high[j] = V::pair_high(start, s.start[j]);
    }
  }

  /// The largest raw exponents of a pair of vectors' products, 16 bits each, column by column.
  struct Most {
    uint32_t pair = 1, n = 0;  // whose they are: `pair` of no pair is odd
    I of[kColumnStep];
  };
  struct Look {
    const int32_t *a, *b;
    Look(const Panel& pa, const Panel& pb, uint32_t pair, uint32_t n)
        : a(pa.exponents + pair / 2 * kMostTerms), b(pb.exponents + column_at(n)) {}
    [[gnu::always_inline]] void term(I (&most)[kColumnStep]) {
      const I e = V::load(a);
#pragma GCC unroll 4
      for (uint32_t j = 0; j < kColumnStep; ++j) most[j] = V::max16(most[j], V::add16(e, V::set(b[j])));
      a += kLanes, b += kLanes;
    }
  };

  /// Adds the products of `count` vectors of rows, one after the other.
  template <uint32_t count, bool kLooks>
  [[gnu::always_inline]] static void multiply(const Panel& a, const Panel& b, uint32_t terms, uint32_t n, Sums (&s)[2],
                                              uint32_t first, Look& look, I (&ahead)[kColumnStep]) {
    const double *va = a.value + s[first].row * kMostTerms, *vb = b.value + column_at(n);
    D low[count][kColumnStep], high[count][kColumnStep];
#pragma GCC unroll 2
    for (uint32_t c = 0; c < count; ++c)
#pragma GCC unroll 4
      for (uint32_t j = 0; j < kColumnStep; ++j) low[c][j] = s[first + c].low[j], high[c][j] = s[first + c].high[j];
    I most[kColumnStep];
    for (uint32_t j = 0; j < kColumnStep; ++j) most[j] = ahead[j];
    for (uint32_t k = 0; k < terms; ++k, va += kLanes, vb += kLanes) {
      D x[count][2];
#pragma GCC unroll 2
      for (uint32_t c = 0; c < count; ++c) {
        x[c][0] = V::load_double(va + c * kLanes * kMostTerms);
        x[c][1] = V::load_double(va + c * kLanes * kMostTerms + kLanes / 2);
      }
#pragma GCC unroll 4
      for (uint32_t j = 0; j < kColumnStep; ++j) {
        const D scalar = V::broadcast_double(vb + j);
#pragma GCC unroll 2
        for (uint32_t c = 0; c < count; ++c) {
          low[c][j] = V::fma(x[c][0], scalar, low[c][j]);
          high[c][j] = V::fma(x[c][1], scalar, high[c][j]);
        }
      }
#pragma GCC unroll 2
      for (uint32_t c = 0; c < count; ++c)
        V::pin(low[c][0], high[c][0], low[c][1], high[c][1], low[c][2], high[c][2], low[c][3], high[c][3]);
      if constexpr (kLooks) look.term(most);
    }
#pragma GCC unroll 2
    for (uint32_t c = 0; c < count; ++c)
#pragma GCC unroll 4
      for (uint32_t j = 0; j < kColumnStep; ++j) s[first + c].low[j] = low[c][j], s[first + c].high[j] = high[c][j];
    if constexpr (kLooks)
      for (uint32_t j = 0; j < kColumnStep; ++j) ahead[j] = most[j];
  }

  template <bool kHalf, bool kScaled>
  [[gnu::always_inline]] static void finish(const MmaTile& t, const Panel& a, const Panel& b, uint32_t n, Sums& s) {
    const D back = V::set_double(__builtin_bit_cast(double, uint64_t(1023 + 2 * kBase) << 52));
    int32_t* d = s.d;
    const Limits limits;
    for (uint32_t j = 0; j < kColumnStep; ++j, d += t.column_stride) {
      // Minus what it began with, times `back`: exact.
      const I start = V::add(s.start[j], V::set(int32_t(0x80000000u + (uint32_t(2 * kBase) << 20))));
      D l = V::fma(s.low[j], back, V::pair_low(low_start(), start));
      D h = V::fma(s.high[j], back, V::pair_high(low_start(), start));
      if constexpr (kScaled) {
        const I power = V::template shl<20>(V::add(s.scale[j], V::set(1023)));
        l = V::mul_double(l, V::pair_low(V::zero(), power));
        h = V::mul_double(h, V::pair_high(V::zero(), power));
      }
      I words;
      if constexpr (kHalf) {
        words = to_f16(l, h);
      } else {
        words = to_f32(limits, l, h);
        if (t.rule.result == SumRule::Result::f32_14_bits) {
          words = V::bit_and(words, V::set(~0x3ff));
          words = V::select(V::equal(words, V::set(INT32_MIN)), V::zero(), words);
        }
      }
      if constexpr (kScaled) words = V::select(s.none[j], t.read_c ? s.old[j] : V::zero(), words);
      if (s.special)
        words = Specials<V>::template in<kHalf>(words, a.masks, b.masks, s.row, n + j, t.read_c ? &s.old[j] : nullptr);
      V::store(d, words);
    }
  }

  /// NaNs in rows `row` to `end` − 1 of columns n to n + 3.
  template <bool kHalf>
  static void fill(const MmaTile& t, uint32_t row, uint32_t end, uint32_t n) {
    for (; row < end; row += kLanes)
      for (uint32_t j = 0; j < kColumnStep; ++j)
        V::store(Specials<V>::word(t, row, n + j), V::set(kHalf ? kNanF16 : kNanF32));
  }

  /// Columns n to n + 3 of vectors `first` to `end` − 1 of the two from `pair` on, a multiple of kPair.
  /// Scaled: windows, C and the floor are taken relative to the scales, by which the sum is multiplied in the end.
  /// `ahead`: from one call to the next; while products are added, exponents of the next four columns are looked at.
  template <bool kHalf, bool kScaled = false>
  static void group(const MmaTile& t, const Panel& a, const Panel& b, uint32_t pair, uint32_t first, uint32_t end,
                    uint32_t n, Most& ahead) {
    bool all_nan = true;
    for (uint32_t v = first; v < end; ++v) all_nan &= a.masks.all_nan[pair / kLanes + v];
    if (all_nan) return fill<kHalf>(t, pair + first * kLanes, pair + end * kLanes, n);
    const I lowest = V::set(INT32_MIN | 0x8000);
    if (ahead.pair != pair || ahead.n != n) {
      Look look(a, b, pair, n);
      for (I& m : ahead.of) m = lowest;
      for (uint32_t k = 0; k < t.terms; ++k) look.term(ahead.of);
    }
    Sums s[2];
    for (uint32_t v = first; v < end; ++v) begin<kHalf, kScaled>(t, a, b, pair, v, n, ahead.of, s[v]);
    // Behind the last columns it looks at these once more.
    const uint32_t next = n + kColumnStep < t.columns ? n + kColumnStep : n;
    Look look(a, b, pair, next);
    for (I& m : ahead.of) m = lowest;
    ahead.pair = pair, ahead.n = next;
    if (V::kManyRegisters && end - first == 2) {
      multiply<2, true>(a, b, t.terms, n, s, 0, look, ahead.of);
    } else {
      multiply<1, true>(a, b, t.terms, n, s, first, look, ahead.of);
      if (end - first == 2) multiply<1, false>(a, b, t.terms, n, s, first + 1, look, ahead.of);
    }
    for (uint32_t v = first; v < end; ++v) finish<kHalf, kScaled>(t, a, b, n, s[v]);
  }
};

}  // namespace tinygpu::numerics
