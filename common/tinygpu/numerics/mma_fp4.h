// Sums of the fp4 kinds (fused_sum_fp4) whatever windows cut, a vector of rows by one column at a time: what
// mma_narrow.h can't show to be exact. Only for translation units of one x86-64 level, as there.
//
// Of each group of 16 products (of 4, if a window cuts groups of 4) the sum is a small integer, exactly. It is taken
// times both scale factors and 2^-q in f32: 12 bits times at most 8, exact; and cut to an integer. Cut sums are added
// in units of q in f64: groups are below 2^(P + 6) and q is at least P − 39, so that sums of integers stay below 2^50:
// exact as well. P itself is only needed to be compared with C: a product's raw exponent is at most 4 more than its
// scales', so P − 39 never is more than S − 35.
#pragma once
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {

template <class V>
struct Fp4Mma {
  using I = typename V::I;
  using F = typename V::F;
  using D = typename V::D;
  using M = typename V::M;
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kBlock = 4 * kLanes;
  static constexpr uint32_t kStep = 4;  // columns at a time
  static constexpr uint32_t kGroups = 4;
  static constexpr uint32_t kParts = 16;  // groups of 4
  static constexpr int32_t kNone = -3000;

  /// An operand's scale factors, group by group. "Row" is a column for B.
  struct Scales {
    alignas(64) int32_t exponent[kGroups][kPlane];  // kNone if the factor is zero
    alignas(64) float significand[kGroups][kPlane];
    alignas(64) int32_t unit[kPlane];  // of the row's integers times a factor's significand, if its exponent is 0
    alignas(64) int32_t nan[kPlane];   // not zero if the row has a factor that is a NaN
  };
  /// `units`: exponents of the rows' integers.
  static void unpack(const MmaTile& t, const uint8_t* scales, const int32_t* units, uint32_t rows, Scales& s) {
    const uint32_t groups_of_scale = kGroups / t.scales;
    const int32_t fraction_bits = t.scale_format == Format::ue8m0 ? 0 : 3;
    for (uint32_t r = 0; r < rows; ++r) s.nan[r] = 0, s.unit[r] = units[r] - fraction_bits;
    for (uint32_t g = 0; g < kGroups; ++g)
      for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t bits = scales[g / groups_of_scale * kPlane + r];
        int32_t exponent, significand;
        if (t.scale_format == Format::ue8m0) {
          exponent = int32_t(bits) - 127, significand = 1;
          s.nan[r] |= bits == 0xff;
        } else {
          const int32_t field = bits >> 3 & 15, fraction = bits & 7;  // bit 7 says nothing
          exponent = (field ? field : 1) - 7, significand = field ? 8 + fraction : fraction;
          s.nan[r] |= (bits & 0x7f) == 0x7f;
        }
        s.exponent[g][r] = significand ? exponent : kNone;
        s.significand[g][r] = float(significand);
      }
  }

  /// The largest raw exponents of products without their scales, group by group; below zero: there is none.
  struct Most {
    alignas(64) int8_t of[kGroups][kStep][kBlock];
  };

  struct Halves {
    D low, high;
    static Halves power(I exponent) { return {V::low_power(exponent), V::high_power(exponent)}; }
    static Halves of(F floats) { return {V::low_double(V::as_int(floats)), V::high_double(V::as_int(floats))}; }
    Halves operator*(const Halves& o) const { return {V::mul(low, o.low), V::mul(high, o.high)}; }
    Halves operator+(const Halves& o) const { return {V::plus(low, o.low), V::plus(high, o.high)}; }
    /// Toward zero.
    F floats() const { return V::as_float(V::to_float(low, high)); }
  };
  static constexpr int32_t kBias = 127;
  /// 2^(field − kBias) as f32.
  static F power(I field) { return V::as_float(V::template shl<23>(field)); }

  /// The words of kLanes rows of column n + j; `lane`: where they are in `most`; `c`: the old words, or zero. `parts`:
  /// the products' sums as integers, of groups of 4 for ue4m3 factors, else of groups of 16. `scales`: factors of a
  /// row.
  template <bool kFine, class Parts>
  [[gnu::always_inline]] static I sums(const Scales& sa, const Scales& sb, const Most& most, uint32_t lane,
                                       const Parts& parts, uint32_t scales, uint32_t row, uint32_t n, uint32_t j, I c) {
    // Raw exponents of each group: of its largest product, of its scales; of a group without products anything.
    const I none = V::set(kNone);
    I raw[kGroups], scale[kGroups], p = none, s = none;
    for (uint32_t g = 0; g < kGroups; ++g) {
      const I e = V::widen8(most.of[g][j] + lane);
      const I sum = V::add(V::load(sa.exponent[g] + row), V::set(sb.exponent[g][n + j]));
      M empty = V::less(e, V::zero());
      if constexpr (kFine) empty = V::either(empty, V::less(sum, V::set(kNone / 2)));
      raw[g] = V::add(sum, e);
      scale[g] = V::select(empty, none, sum);
      s = V::max(s, scale[g]);
      p = V::select(empty, p, V::max(p, raw[g]));
    }
    const I magnitude = V::bit_and(c, V::set(0x7fffffff));
    const I field = V::template shift_right<23>(magnitude);
    const I c_raw = V::select(V::equal(magnitude, V::zero()), none, V::sub(V::max(field, V::set(1)), V::set(127)));
    const M follows = V::less(c_raw, p);  // C does; else it leads
    const I own = V::sub(c_raw, V::set(35));
    // Of outputs that have nothing it may be anything.
    const I q = V::max(V::select(follows, V::max(V::sub(c_raw, V::set(39)), V::sub(s, V::set(35))), own), V::set(-400));

    // Products are multiples of 2^(their scales' exponents − 8) of ue4m3: where q is more, groups of 4 are cut, unless
    // C leads.
    bool in_fours = false;
    if constexpr (kFine) {
      M cuts = V::never();
      for (const I& e : scale) cuts = V::either(cuts, V::less(V::sub(e, V::set(8)), q));
      in_fours = V::any(V::both(cuts, follows));
    }

    // Fields of powers of two: of the integers' units in units of q. Below the least they are cut to nothing.
    const I to_field = V::sub(V::add(V::load(sa.unit + row), V::set(sb.unit[n + j] + kBias)), q);
    const auto field_of = [&](uint32_t g) { return V::max(V::add(scale[g], to_field), V::set(kBias - 60)); };
    const F c_cut = V::whole(V::scaled(V::as_float(c), V::sub(V::zero(), q)));
    Halves sum = Halves::of(c_cut);
    F cut[kGroups];
    if constexpr (kFine) {
      for (uint32_t g = 0; g < kGroups; ++g) {
        const F significand =
            V::times(V::as_float(V::load(sa.significand[g] + row)), V::set_float(sb.significand[g][n + j]));
        const F factor = V::times(significand, power(field_of(g)));
        const I four[4] = {parts[4 * g][j], parts[4 * g + 1][j], parts[4 * g + 2][j], parts[4 * g + 3][j]};
        const I group = V::add(V::add(four[0], four[1]), V::add(four[2], four[3]));
        cut[g] = V::whole(V::times(V::floats(group), factor));
        if (in_fours) {
          F fours = V::whole(V::times(V::floats(four[0]), factor));
          for (uint32_t i = 1; i < 4; ++i) fours = V::plus_float(fours, V::whole(V::times(V::floats(four[i]), factor)));
          cut[g] = V::as_float(V::select(follows, V::as_int(fours), V::as_int(cut[g])));
        }
        sum = sum + Halves::of(cut[g]);
      }
    } else {
      // A group that C reaches is cut as if C led, at 2^apart, apart being at most 4.
      const I apart = V::select(follows, V::max(V::sub(own, q), V::zero()), V::zero());
      if (V::any(V::less(V::zero(), apart))) {
        for (uint32_t g = 0; g < kGroups; ++g) {
          const I here = V::select(V::less(c_raw, raw[g]), V::zero(), apart);
          const F units = V::times(V::floats(parts[g][j]), power(V::sub(field_of(g), here)));
          cut[g] = V::times(V::whole(units), power(V::add(here, V::set(kBias))));
        }
      } else {
        for (uint32_t g = 0; g < kGroups; ++g) cut[g] = V::whole(V::times(V::floats(parts[g][j]), power(field_of(g))));
      }
      // Both groups of a factor have the same unit, so that f32 holds their sum.
      if (scales == 2)
        sum = sum + Halves::of(V::plus_float(cut[0], cut[1])) + Halves::of(V::plus_float(cut[2], cut[3]));
      else
        for (const F& group : cut) sum = sum + Halves::of(group);
    }
    I words = V::as_int(V::scaled(sum.floats(), q));
    const I size = V::bit_and(words, V::set(0x7fffffff));
    if constexpr (!kFine) {
      const M subnormal = V::both(V::less(size, V::set(0x00800000)), V::any_bit(size));
      if (V::any(subnormal)) {
        // Small groups of smaller scales are left out then.
        const I limit = V::sub(V::set(-174), q);
        Halves others = Halves::of(c_cut);
        for (uint32_t g = 0; g < kGroups; ++g) {
          const Halves least = Halves::power(V::select(V::less(scale[g], s), limit, V::set(-1000)));
          const Halves group = Halves::of(cut[g]);
          others = others + Halves{V::zero_below(group.low, least.low), V::zero_below(group.high, least.high)};
        }
        words = V::select(subnormal, V::as_int(V::scaled(others.floats(), q)), words);
      }
    }
    // Toward zero nothing becomes infinity: half of a sum that should is at least 2^127.
    const I infinity = V::set(0x7f800000);
    if (V::any(V::less(V::set(0x7f7ffffe), size))) {
      const I half = V::as_int(V::scaled(sum.floats(), V::sub(q, V::set(1))));
      const I sign = V::bit_and(words, V::set(INT32_MIN));
      const M above = V::less(V::set(0x7effffff), V::bit_and(half, V::set(0x7fffffff)));
      words = V::select(above, V::bit_or(sign, infinity), words);
    }
    words = V::select(V::equal(V::bit_and(words, V::set(0x7fffffff)), V::zero()), V::zero(), words);
    words = V::select(V::either(V::equal(p, none), V::equal(magnitude, infinity)), c, words);
    const M nan =
        V::either(V::less(infinity, magnitude), V::any_bit(V::bit_or(V::load(sa.nan + row), V::set(sb.nan[n + j]))));
    return V::select(nan, V::set(int32_t(kNanF32)), words);
  }
};

}  // namespace tinygpu::numerics
