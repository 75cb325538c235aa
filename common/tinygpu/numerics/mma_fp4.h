// Sums of the fp4 kinds (fused_sum_fp4) whatever windows cut, a vector of rows by one column at a time: what
// mma_narrow.h can't show to be exact. Only for translation units of one x86-64 level, as there.
//
// Of each group of 16 products (of 4, if a window cuts groups of 4) the sum is a small integer, exactly. It is taken
// times both scale factors and 2^-q in f64: 12 bits times at most 8, exact; cut to an integer; and added, in units of
// q. Groups are below 2^(P + 6) and q is at least P − 39, so that sums of integers stay below 2^50: exact as well. P
// itself is only needed to be compared with C: a product's raw exponent is at most 4 more than its scales', so P − 39
// never is more than S − 35.
#pragma once
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {

/// `Panel`: an operand's pairs of integers and its scale factors (NarrowMma).
template <class V, class Panel>
struct Fp4Mma {
  using I = typename V::I;
  using D = typename V::D;
  using M = typename V::M;
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kGroups = 4;
  static constexpr int32_t kNone = -3000;

  /// What an operand's elements and scales say of raw exponents. "Row" is a column for B.
  struct Levels {
    // A bit for each element of a group that isn't zero and has a raw exponent of at least 0, 1, 2: all that e2m1 has.
    alignas(64) int32_t at_least[3][kGroups][kPlane];
    alignas(64) int32_t scale[kGroups][kPlane];  // exponent of the group's factor
    alignas(64) int32_t nan[kPlane];             // not zero if the row has a factor that is a NaN
  };

  /// A scale factor: significand * 2^(exponent − fraction bits).
  struct Scale {
    int32_t exponent, significand;
    bool nan;
    Scale(Format f, uint32_t bits) {
      if (f == Format::ue8m0) {
        exponent = int32_t(bits) - 127, significand = 1, nan = bits == 0xff;
      } else {
        const int32_t field = bits >> 3 & 15, fraction = bits & 7;  // bit 7 says nothing
        exponent = (field ? field : 1) - 7, significand = field ? 8 + fraction : fraction, nan = (bits & 0x7f) == 0x7f;
      }
    }
  };

  static void levels(const MmaTile& t, const uint8_t* bytes, uint32_t plane, uint32_t rows, uint32_t terms,
                     const uint8_t* scales, Levels& l) {
    const uint32_t each = terms / kGroups, groups_of_scale = kGroups / t.scales;
    for (uint32_t r = 0; r < rows; r += kLanes)
      for (uint32_t g = 0; g < kGroups; ++g) {
        I bits[3] = {V::zero(), V::zero(), V::zero()};
        for (uint32_t k = 0; k < each; ++k) {
          const auto* from = reinterpret_cast<const int8_t*>(bytes + (g * each + k) * plane + r);
          const I magnitude = V::bit_and(V::widen8(from), V::set(7)), bit = V::set(int32_t(1u << k));
          constexpr int32_t kLeast[] = {1, 4, 6};
          for (uint32_t i = 0; i < 3; ++i)
            bits[i] = V::bit_or(bits[i], V::select(V::less(V::set(kLeast[i] - 1), magnitude), bit, V::zero()));
        }
        for (uint32_t i = 0; i < 3; ++i) V::store(l.at_least[i][g] + r, bits[i]);
      }
    for (uint32_t r = 0; r < rows; ++r) {
      l.nan[r] = 0;
      for (uint32_t g = 0; g < kGroups; ++g) {
        const Scale s(t.scale_format, scales[g / groups_of_scale * kPlane + r]);
        l.scale[g][r] = s.exponent;
        l.nan[r] |= s.nan;
        for (auto& level : l.at_least)
          if (s.significand == 0) level[g][r] = 0;
      }
    }
  }

  /// Products of A's row and B's column from pair `first` on.
  static I dot(const Panel& a, const Panel& b, uint32_t row, uint32_t n, uint32_t pairs, uint32_t first,
               uint32_t count) {
    const int32_t *va = a.pair + first * kMaxRows + row, *vb = b.pair + n / 4 * 4 * pairs + first * 4 + n % 4;
    I sum = V::zero();
    for (uint32_t i = 0; i < count; ++i, va += kMaxRows, vb += 4)
      sum = V::add(sum, V::multiply_add(V::load(va), V::broadcast(vb)));
    return sum;
  }

  struct Halves {
    D low, high;
    static Halves power(I exponent) { return {V::low_power(exponent), V::high_power(exponent)}; }
    static Halves of(I integers) { return {V::low_integer(integers), V::high_integer(integers)}; }
    Halves operator*(const Halves& o) const { return {V::mul(low, o.low), V::mul(high, o.high)}; }
    Halves operator+(const Halves& o) const { return {V::plus(low, o.low), V::plus(high, o.high)}; }
    Halves cut() const { return {V::truncate(low), V::truncate(high)}; }
    I words() const { return V::to_float(low, high); }
  };

  /// The words of kLanes rows of column `n`; `c`: the old ones, or zero.
  static I sums(const MmaTile& t, const Panel& a, const Panel& b, const Levels& la, const Levels& lb, uint32_t row,
                uint32_t n, uint32_t pairs, I c) {
    const bool fine = t.scale_format == Format::ue4m3;
    const uint32_t each = pairs / kGroups;
    // Raw exponents of each group: of its largest product, of its scales.
    I raw[kGroups], scale[kGroups], p = V::set(kNone), s = V::set(kNone);
    for (uint32_t g = 0; g < kGroups; ++g) {
      I x[3], y[3];
      for (uint32_t i = 0; i < 3; ++i) {
        x[i] = V::load(la.at_least[i][g] + row);
        y[i] = V::set(lb.at_least[i][g][n]);
      }
      const auto level = [&](I bits, int32_t e, I before) { return V::select(V::any_bit(bits), V::set(e), before); };
      const auto both = [&](int i, int j) { return V::bit_and(x[i], y[j]); };
      I e = level(V::bit_or(both(1, 0), both(0, 1)), 1, V::zero());
      e = level(V::bit_or(V::bit_or(both(2, 0), both(0, 2)), both(1, 1)), 2, e);
      e = level(V::bit_or(both(2, 1), both(1, 2)), 3, e);
      e = level(both(2, 2), 4, e);
      const M some = V::any_bit(both(0, 0));
      const I sum = V::add(V::load(la.scale[g] + row), V::set(lb.scale[g][n]));
      scale[g] = V::select(some, sum, V::set(kNone));
      raw[g] = V::select(some, V::add(sum, e), V::set(kNone));
      s = V::max(s, scale[g]);
      p = V::max(p, raw[g]);
    }
    const I magnitude = V::bit_and(c, V::set(0x7fffffff));
    const I field = V::template shift_right<23>(magnitude);
    const I c_raw =
        V::select(V::equal(magnitude, V::zero()), V::set(kNone), V::sub(V::max(field, V::set(1)), V::set(127)));
    const M follows = V::less(c_raw, p);  // C does; else it leads
    const I own = V::sub(c_raw, V::set(35));
    // Of outputs that have nothing it may be anything.
    const I q = V::max(V::select(follows, V::max(V::sub(c_raw, V::set(39)), V::sub(s, V::set(35))), own), V::set(-400));

    // Products are multiples of 2^(their scales' exponents − 8) of ue4m3: where q is more, groups of 4 are cut, unless
    // C leads.
    M cuts = V::never();
    if (fine)
      for (const I& e : scale) cuts = V::either(cuts, V::both(V::less(V::sub(e, V::set(8)), q), follows));
    const bool in_fours = V::any(cuts);

    const Halves to_units = Halves::power(V::sub(V::zero(), q));
    const Halves zero = Halves::of(V::zero());
    Halves cut[kGroups], fours = zero;
    for (uint32_t g = 0; g < kGroups; ++g) {
      const uint32_t block = g * t.scales / kGroups;
      const double* fa = a.factor[block] + row;
      const D fb = V::broadcast_double(b.factor[block] + n);
      const Halves factor =
          Halves{V::mul(V::load_double(fa), fb), V::mul(V::load_double(fa + kLanes / 2), fb)} * to_units;
      I group = V::zero();
      if (in_fours) {
        for (uint32_t i = 0; i < 4; ++i) {
          const I four = dot(a, b, row, n, pairs, g * each + i * each / 4, each / 4);
          fours = fours + (Halves::of(four) * factor).cut();
          group = V::add(group, four);
        }
      } else {
        group = dot(a, b, row, n, pairs, g * each, each);
      }
      const Halves exact = Halves::of(group) * factor;
      if (fine) {
        cut[g] = exact.cut();
        continue;
      }
      // A group that C reaches is cut as if C led.
      const I coarse = V::select(V::less(c_raw, raw[g]), q, V::select(follows, V::max(q, own), q));
      const I apart = V::sub(coarse, q);
      cut[g] = (exact * Halves::power(V::sub(V::zero(), apart))).cut() * Halves::power(apart);
    }
    const auto total = [&](const Halves(&groups)[kGroups]) {
      Halves sum = zero;
      for (const Halves& g : groups) sum = sum + g;
      return sum;
    };
    Halves sum = total(cut);
    if (in_fours) sum = {V::select_low(follows, fours.low, sum.low), V::select_high(follows, fours.high, sum.high)};
    const Halves units = Halves::power(q);
    const Halves c_cut = (Halves{V::low_double(c), V::high_double(c)} * to_units).cut();
    Halves value = (sum + c_cut) * units;
    I words = value.words();
    const I size = V::bit_and(words, V::set(0x7fffffff));
    const M subnormal = V::both(V::less(size, V::set(0x00800000)), V::any_bit(size));
    if (!fine && V::any(subnormal)) {
      // Small groups of smaller scales are left out then.
      const I limit = V::sub(V::set(-174), q);
      for (uint32_t g = 0; g < kGroups; ++g) {
        const Halves least = Halves::power(V::select(V::less(scale[g], s), limit, V::set(-1000)));
        cut[g] = {V::zero_below(cut[g].low, least.low), V::zero_below(cut[g].high, least.high)};
      }
      words = V::select(subnormal, ((total(cut) + c_cut) * units).words(), words);
    }
    // A conversion toward zero never gives infinity: half of a sum that should is at least 2^127.
    const I half = V::bit_and((value * Halves::power(V::set(-1))).words(), V::set(0x7fffffff));
    const I sign = V::bit_and(words, V::set(INT32_MIN)), infinity = V::set(0x7f800000);
    words = V::select(V::less(V::set(0x7effffff), half), V::bit_or(sign, infinity), words);
    words = V::select(V::equal(V::bit_and(words, V::set(0x7fffffff)), V::zero()), V::zero(), words);
    words = V::select(V::either(V::equal(p, V::set(kNone)), V::equal(magnitude, infinity)), c, words);
    const M nan =
        V::either(V::less(infinity, magnitude), V::any_bit(V::bit_or(V::load(la.nan + row), V::set(lb.nan[n]))));
    return V::select(nan, V::set(int32_t(kNanF32)), words);
  }
};

}  // namespace tinygpu::numerics
