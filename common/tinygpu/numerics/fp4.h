// Sums of the fp4 kinds (fused_sum_fp4) whatever windows cut, a vector of rows by one column at a time: what integers.h
// can't show to be exact.
//
// Of each group of 16 products (of 4, if a window cuts groups of 4) the sum is a small integer, exactly. It is taken
// times both scale factors and 2^-q in f32: 12 bits times at most 8, exact; and cut to an integer. Cut sums are added
// in units of q in f64: groups are below 2^(P + 6) and q is at least P − 39, so that sums of integers stay below 2^50:
// exact as well. P itself is only needed to be compared with C: a product's raw exponent is at most 4 more than its
// scales', so P − 39 never is more than S − 35.
#pragma once
#include <cstdint>

#include "common/tinygpu/numerics/formats.h"
#include "common/tinygpu/numerics/lanes.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

inline constexpr uint32_t kFp4Step = 4;    // columns at a time
inline constexpr uint32_t kFp4Groups = 4;  // of products
inline constexpr uint32_t kFp4Parts = 16;  // groups of ue4m3 factors, if windows cut a quarter of one
inline constexpr int32_t kFp4Unit = -1;    // exponent of the integers that e2m1 numbers are

/// The bytes of a table of 16 at the low bits of each of `count` bytes.
inline void look_up(const int8_t (&table)[16], const void* from, uint32_t count, int8_t* to) {
  for (uint32_t at = 0; at < count; at += 4 * kLanes) {
    const auto bytes = And(LoadU(kS8, static_cast<const int8_t*>(from) + at), Set(kS8, 15));
    Store(TableLookupBytes(LoadDup128(kS8, table), bytes), kS8, to + at);
  }
}

/// A scale factor.
inline Unpacked fp4_scale(Format f, uint8_t bits) {
  struct Table {
    Unpacked of[2][256];
    Table() {
      for (uint32_t i = 0; i < 256; ++i)
        of[0][i] = numerics::unpack(Format::ue8m0, i), of[1][i] = numerics::unpack(Format::ue4m3, i);
    }
  };
  static const Table table;
  return table.of[f == Format::ue4m3][bits];
}

/// An operand of a tile. "Row" is a column for B.
struct Fp4Operand {
  static constexpr int32_t kNone = -3000, kBad = 10000;
  alignas(64) int8_t exponents[2 * kMaxTerms * kPlane];  // raw, as elements lie in planes; a zero's far below
  alignas(64) double factor[kMaxScales][kPlane];         // scale factors, times the elements' unit
  // Exponents: of the last place of a row's least factor, of its largest; kBad if a factor is a NaN. Factors of zeros
  // don't count.
  alignas(64) int32_t low[kPlane], high[kPlane];
  alignas(64) int32_t scale[kFp4Groups][kPlane];  // of each group's factor, raw; kNone if it is zero
  alignas(64) float significand[kFp4Groups][kPlane];

  Fp4Operand(const MmaTile& t, const void* planes, const uint8_t* scales, uint32_t rows) {
    alignas(16) static constexpr int8_t kRaw[16] = {-64, 0, 0, 0, 1, 1, 2, 2, -64, 0, 0, 0, 1, 1, 2, 2};
    look_up(kRaw, planes, t.terms * kPlane, exponents);
    const uint32_t block = t.terms / t.scales, groups = kFp4Groups / t.scales;
    const int32_t fraction = info(t.scale_format).fraction_bits;
    for (uint32_t r = 0; r < rows; ++r) low[r] = -kNone, high[r] = kNone;
    for (uint32_t j = 0; j < t.scales; ++j) {
      alignas(64) uint8_t any[kPlane];
      for (uint32_t r = 0; r < rows; r += 4 * kLanes) {
        auto bits = Zero(kU8);
        for (uint32_t k = j * block; k < (j + 1) * block; ++k)
          bits = Or(bits, LoadU(kU8, static_cast<const uint8_t*>(planes) + k * kPlane + r));
        Store(And(bits, Set(kU8, 7)), kU8, any + r);
      }
      for (uint32_t r = 0; r < rows; ++r) {
        const Unpacked u = fp4_scale(t.scale_format, scales[j * kPlane + r]);
        const int32_t last = kFp4Unit + u.exponent - fraction;
        factor[j][r] = double(u.significand) * __builtin_bit_cast(double, uint64_t(1023 + last) << 52);
        for (uint32_t g = j * groups; g < (j + 1) * groups; ++g) {
          scale[g][r] = u.significand ? u.exponent : kNone;
          significand[g][r] = float(u.significand);
        }
        if (u.kind == Unpacked::Class::nan) high[r] = kBad;
        if (any[r] == 0 || u.significand == 0) continue;
        if (last < low[r]) low[r] = last;
        if (u.exponent > high[r]) high[r] = u.exponent;
      }
    }
  }
};

/// The largest raw exponents of products without their scales, of each group, for the kBytes rows of a tile of which
/// `row` is one by kFp4Step columns.
struct Fp4Exponents {
  static constexpr uint32_t kBytes = 4 * kLanes;
  uint32_t first = 1, column = 0;  // of what they are; `first` of no tile is odd
  alignas(64) int8_t of[kFp4Groups][kFp4Step][kBytes];

  void look(const Fp4Operand& a, const Fp4Operand& b, uint32_t terms, uint32_t row, uint32_t n) {
    if (first == row / kBytes * kBytes && column == n) return;
    first = row / kBytes * kBytes, column = n;
    for (uint32_t g = 0; g < kFp4Groups; ++g) {
      Byte most[kFp4Step];
      each<kFp4Step>([&](auto j) { most[j.value] = Set(kS8, -128); });
      for (uint32_t k = g * terms / kFp4Groups; k < (g + 1) * terms / kFp4Groups; ++k) {
        const Byte e = Load(kS8, a.exponents + k * kPlane + first);
        const int8_t* scalars = b.exponents + k * kPlane + n;
        each<kFp4Step>([&](auto j) { most[j.value] = Max(most[j.value], Add(e, Set(kS8, scalars[j.value]))); });
      }
      each<kFp4Step>([&](auto j) { Store(most[j.value], kS8, of[g][j.value]); });
    }
  }
  /// Those of kLanes rows by column n + j.
  I words(uint32_t group, uint32_t row, uint32_t j) const {
    const hn::Rebind<int8_t, decltype(kS32)> bytes;
    return PromoteTo(kS32, LoadU(bytes, of[group][j] + (row - first)));
  }
};

/// `parts`: the products' sums as integers, of groups of 4 for ue4m3 factors, else of groups of 16. Returns the words
/// of kLanes rows of column n + j; `c`: the old words, or zero. `looked`: at them.
template <bool kFine, class Parts>
I fp4_words(const MmaTile& t, const Fp4Operand& a, const Fp4Operand& b, const Fp4Exponents& looked, const Parts& parts,
            uint32_t row, uint32_t n, uint32_t j, I c) {
  constexpr int32_t kNone = Fp4Operand::kNone, kBias = 127;
  const uint32_t column = n + j;
  const auto power = [](I field) { return as_float(shl<23>(field)); };  // 2^(field − kBias)
  // Raw exponents of each group: of its largest product, of its scales; of a group without products anything.
  const I none = set(kNone);
  I raw[kFp4Groups], scale[kFp4Groups], p = none, s = none;
  for (uint32_t g = 0; g < kFp4Groups; ++g) {
    const I e = looked.words(g, row, j);
    const I sum = Add(load(a.scale[g] + row), set(b.scale[g][column]));
    M empty = Lt(e, Zero(kS32));  // e2m1's products have no negative exponents
    if constexpr (kFine) empty = Or(empty, Lt(sum, set(kNone / 2)));
    raw[g] = Add(sum, e);
    scale[g] = IfThenElse(empty, none, sum);
    s = Max(s, scale[g]);
    p = IfThenElse(empty, p, Max(p, raw[g]));
  }
  const I magnitude = And(c, set(0x7fffffff));
  const I c_raw = IfThenElse(Eq(magnitude, Zero(kS32)), none, Sub(Max(shr<23>(magnitude), set(1)), set(127)));
  const M follows = Lt(c_raw, p);  // C does; else it leads
  const I own = Sub(c_raw, set(35));
  // Of outputs that have nothing it may be anything.
  const I q = Max(IfThenElse(follows, Max(Sub(c_raw, set(39)), Sub(s, set(35))), own), set(-400));

  // Fields of powers of two: of the integers' units in units of q. Below the least they are cut to nothing.
  const int32_t units = 2 * (kFp4Unit - info(t.scale_format).fraction_bits);
  const auto field_of = [&](uint32_t g) { return Max(Sub(Add(scale[g], set(units + kBias)), q), set(kBias - 60)); };
  const auto part = [&](uint32_t i) { return ConvertTo(kF32, parts[i][j]); };
  const Doubles c_cut = (Doubles::of(as_float(c)) * Doubles::power(Sub(Zero(kS32), q))).whole();
  Doubles sum = c_cut;
  F cut[kFp4Groups];
  if constexpr (kFine) {
    // Products are multiples of 2^(their scales' exponents − 8): where q is more, groups of 4 are cut, unless C leads.
    M cuts = Lt(none, none);
    for (const I& e : scale) cuts = Or(cuts, Lt(Sub(e, set(8)), q));
    const bool in_fours = !AllFalse(kS32, And(cuts, follows));
    for (uint32_t g = 0; g < kFp4Groups; ++g) {
      const F factor =
          Mul(Mul(LoadU(kF32, a.significand[g] + row), Set(kF32, b.significand[g][column])), power(field_of(g)));
      const F four[4] = {part(4 * g), part(4 * g + 1), part(4 * g + 2), part(4 * g + 3)};
      cut[g] = Trunc(Mul(Add(Add(four[0], four[1]), Add(four[2], four[3])), factor));
      if (in_fours) {
        F fours = Trunc(Mul(four[0], factor));
        for (uint32_t i = 1; i < 4; ++i) fours = Add(fours, Trunc(Mul(four[i], factor)));
        cut[g] = as_float(IfThenElse(follows, as_int(fours), as_int(cut[g])));
      }
      sum = sum + Doubles::of(cut[g]);
    }
  } else {
    // A group that C reaches is cut as if C led, at 2^apart, apart being at most 4.
    const I apart = IfThenElseZero(follows, Max(Sub(own, q), Zero(kS32)));
    for (uint32_t g = 0; g < kFp4Groups; ++g) {
      const I here = IfThenZeroElse(Lt(c_raw, raw[g]), apart);
      cut[g] = Mul(Trunc(Mul(part(g), power(Sub(field_of(g), here)))), power(Add(here, set(kBias))));
      sum = sum + Doubles::of(cut[g]);
    }
  }
  I words = (sum * Doubles::power(q)).words();
  if constexpr (!kFine) {
    const I size = And(words, set(0x7fffffff));
    const M subnormal = And(Lt(size, set(0x00800000)), Gt(size, Zero(kS32)));
    if (!AllFalse(kS32, subnormal)) {
      // Small groups of smaller scales are left out then.
      Doubles others = c_cut;
      for (uint32_t g = 0; g < kFp4Groups; ++g) {
        const Doubles least = Doubles::power(IfThenElse(Lt(scale[g], s), Sub(set(-174), q), set(-1000)));
        const Doubles group = Doubles::of(cut[g]);
        others = others + Doubles{IfThenElseZero(Ge(Abs(group.low), least.low), group.low),
                                  IfThenElseZero(Ge(Abs(group.high), least.high), group.high)};
      }
      words = IfThenElse(subnormal, (others * Doubles::power(q)).words(), words);
    }
  }
  const I infinity = set(0x7f800000);
  words = IfThenElse(Or(Eq(p, none), Eq(magnitude, infinity)), c, words);
  const M nan = Gt(Add(load(a.high + row), set(b.high[column])), set(Fp4Operand::kBad / 2));
  return IfThenElse(Or(Gt(magnitude, infinity), nan), set(int32_t(kNanF32)), words);
}

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
