// Tiles of 8-bit and narrower elements, vector lanes over M: a row of A and a column of B as 16-bit integers, the sum
// of their products by integer multiply-adds, exactly.
//
// Floats of an operand are integers in units of its least element's last place, if they span no more than 15 bits. What
// a window cuts off a product is then nothing, as long as the window's quantum q is no more than the product of both
// units: the fused sum is the exact sum, plus C cut to q, rounded once. All of that fits an f64. How far that is known:
// * one window (fused_sum): q is 2^(e − 25), e the largest raw exponent of a product or C. The tile is for here if the
//   largest product that there may be and all of C leave q at that, and if C has no bits below q, which sums of such
//   products have not; so C is looked through before.
// * fp4 kinds: q depends on P and S (see fused_sum_fp4) and is at most what the row's and the column's own largest make
//   them. If C's last bit is above that as well, nothing at all is cut, whatever q is; otherwise see fp4.h.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/tinygpu/numerics/fp4.h"
#include "common/tinygpu/numerics/lanes.h"
#include "common/tinygpu/numerics/magnitudes.h"
#include "common/tinygpu/numerics/patterns.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

class Integers {
 public:
  static bool knows(const MmaTile& t) {
    if (t.c_scale != 0 || info(t.a_format).bits > 8 || info(t.b_format).bits > 8) return false;
    return t.sum == SumKind::integer || t.sum == SumKind::fp4 ||
           (t.sum == SumKind::fused && t.rule.window == 25 && t.rule.result != SumRule::Result::f32_14_bits);
  }
  /// A tile that it knows; false, and nothing done, if it can't be shown to be exact.
  static bool run(const MmaTile& t) {
    const TowardZero mode(false);
    Integers tile(t);
    const bool half = t.sum == SumKind::fused && t.rule.result == SumRule::Result::f16_nearest;
    if (t.sum == SumKind::fused && !(half ? tile.exact<true>() : tile.exact<false>())) return false;
    tile.unpack<false>(t.a_format, t.a, t.rows, t.negate_a, tile.a_unit_, tile.a_pairs_);
    tile.unpack<true>(t.b_format, t.b, t.columns, t.negate_b, tile.b_unit_, tile.b_pairs_);
    switch (t.sum) {
      case SumKind::fp4: tile.fp4(); break;
      case SumKind::integer: tile.each_step(&Integers::finish_integer); break;
      default: tile.each_step(half ? &Integers::finish<true> : &Integers::finish<false>);
    }
    return true;
  }

 private:
  static constexpr uint32_t kStep = kFp4Step, kMostTerms = 2 * kMaxTerms;
  /// The products' sums of a vector of rows by kStep columns, before rounding: of each part of the terms.
  using Sums = I[kFp4Parts][kStep];

  explicit Integers(const MmaTile& t) : t_(t), a_unit_(kFp4Unit), b_unit_(kFp4Unit) {}

  // ---- Which tiles are exact

  /// Raw exponents: of the largest element, of the least one's last place. False: there are infinities or NaNs.
  bool span(Format f, const void* planes, uint32_t rows, int32_t& high, int32_t& unit) const {
    bool numbers = false;
    with_patterns(f, [&]<class P>(P) {
      if constexpr (P::kBits > 8) return;
      const Magnitudes<P> of(static_cast<const typename P::Word*>(planes), rows, t_.terms);
      numbers = int32_t(of.largest) < P::kSpecial;
      high = raw_exponent<P>(of.largest);
      unit = raw_exponent<P>(of.least) - P::kFractionBits;
    });
    return numbers;
  }
  template <bool kHalf>
  bool exact() {
    int32_t a_high, b_high;
    if (!span(t_.a_format, t_.a, t_.rows, a_high, a_unit_) || !span(t_.b_format, t_.b, t_.columns, b_high, b_unit_))
      return false;
    const int32_t high = a_high + b_high, unit = a_unit_ + b_unit_;
    const int32_t a_bits = a_high - a_unit_ + 1, b_bits = b_high - b_unit_ + 1,
                  terms_bits = 31 - __builtin_clz(t_.terms);
    if (a_bits > 15 || b_bits > 15 || a_bits + b_bits + terms_bits > 31 || high - 25 > unit) return false;
    if (!t_.read_c) return true;
    const F to_units = as_float(set((127 + 25 - high) << 23)), limit = as_float(set((127 + unit + 26) << 23));
    for (uint32_t n = 0; n < t_.columns; ++n) {
      M bad = Lt(Zero(kS32), Zero(kS32));
      for (uint32_t row = 0; row < t_.rows; row += kLanes) {
        const F c = old_value<kHalf>(word(row, n)), units = Mul(c, to_units);
        bad = Or(bad, RebindMask(kS32, Or(Ne(Trunc(units), units), Not(Lt(Abs(c), limit)))));
      }
      if (!AllFalse(kS32, bad)) return false;
    }
    return true;
  }

  // ---- Operands

  /// Elements as 16-bit integers in units of 2^unit, pairs along K. A: [pair * kMaxRows + row]; B: [column / 4 * 4 *
  /// pairs + pair * 4 + column % 4].
  template <bool kB>
  void unpack(Format f, const void* planes, uint32_t rows, bool flip, int32_t unit, int32_t* to) {
    if (f == Format::s8) return fill<kB>(static_cast<const int8_t*>(planes), rows, to, [](I v) { return v; });
    if (t_.sum == SumKind::fp4) {
      alignas(16) static constexpr int8_t kValues[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
      alignas(64) int8_t values[kMostTerms * kPlane];
      look_up(kValues, planes, t_.terms * kPlane, values);
      return fill<kB>(values, rows, to, [&](I v) { return flip ? Neg(v) : v; });
    }
    const auto* bytes = static_cast<const uint8_t*>(planes);
    if (f == Format::u8) return fill<kB>(bytes, rows, to, [](I v) { return v; });
    const F factor = as_float(Xor(set((127 - unit) << 23), set(flip ? INT32_MIN : 0)));
    with_patterns(f, [&]<class P>(P) {
      if constexpr (P::kBits <= 8)
        fill<kB>(bytes, rows, to, [&](I v) { return truncate(Mul(as_float(number<P>(v)), factor)); });
    });
  }
  template <bool kB, class Word, class Value>
  void fill(const Word* planes, uint32_t rows, int32_t* to, const Value& value) {
    const uint32_t pairs = t_.terms / 2;
    for (uint32_t r = 0; r < rows; r += kLanes)
      for (uint32_t i = 0; i < pairs; ++i) {
        const Word* from = planes + 2 * i * kPlane + r;
        const I first = value(load_words(from)), second = value(load_words(from + kPlane));
        const I pair = Or(And(first, set(0xffff)), shl<16>(second));
        if constexpr (kB) {
          alignas(64) int32_t words[kLanes];
          store(pair, words);
          for (uint32_t j = 0; j < kLanes; j += kStep)
            std::memcpy(to + (r + j) * pairs + i * kStep, words + j, kStep * sizeof words[0]);
        } else {
          store(pair, to + i * kMaxRows + r);
        }
      }
  }

  // ---- Sums

  /// Two vectors of rows.
  void dot(uint32_t row, uint32_t n, uint32_t parts, Sums (&out)[2]) const {
    const uint32_t pairs = t_.terms / 2, each_part = pairs / parts;
    for (uint32_t part = 0; part < parts; ++part) {
      const int32_t* a = a_pairs_ + part * each_part * kMaxRows + row;
      const int32_t* b = b_pairs_ + n * pairs + part * each_part * kStep;
      I x[kStep], y[kStep], unused = Zero(kS32);
      each<kStep>([&](auto j) { x[j.value] = y[j.value] = Zero(kS32); });
#pragma GCC unroll 4
      for (uint32_t i = 0; i < each_part; ++i, a += kMaxRows, b += kStep) {
        const Short p = BitCast(kS16, load(a)), q = BitCast(kS16, load(a + kLanes));
        each<kStep>([&](auto j) __attribute__((always_inline)) {
          const Short scalar = BitCast(kS16, set(b[j.value]));
          x[j.value] = ReorderWidenMulAccumulate(kS32, p, scalar, x[j.value], unused);
          y[j.value] = ReorderWidenMulAccumulate(kS32, q, scalar, y[j.value], unused);
        });
      }
      each<kStep>([&](auto j) { out[0][part][j.value] = x[j.value], out[1][part][j.value] = y[j.value]; });
    }
  }
  /// Finishes each vector of rows and kStep columns.
  void each_step(void (Integers::*finish)(const Sums&, uint32_t, uint32_t)) {
    Sums sums[2];
    for (uint32_t n = 0; n < t_.columns; n += kStep)
      for (uint32_t row = 0; row < t_.rows; row += 2 * kLanes) {
        dot(row, n, 1, sums);
        for (uint32_t i = 0; i < 2 && row + i * kLanes < t_.rows; ++i) (this->*finish)(sums[i], row + i * kLanes, n);
      }
  }

  int32_t* word(uint32_t row, uint32_t n) const { return reinterpret_cast<int32_t*>(t_.word(row, n)); }
  template <bool kHalf>
  void finish(const Sums& sums, uint32_t row, uint32_t n) {
    const D unit = Set(kF64, __builtin_bit_cast(double, uint64_t(1023 + a_unit_ + b_unit_) << 52));
    for (uint32_t j = 0; j < kStep; ++j) {
      int32_t* d = word(row, n + j);
      Doubles sum = Doubles::of(sums[0][j]) * unit;
      if (t_.read_c) sum = sum + Doubles::of(old_value<kHalf>(d));
      store(kHalf ? sum.half_words() : as_int(narrow(sum.low, sum.high)), d);
    }
  }
  void finish_integer(const Sums& sums, uint32_t row, uint32_t n) {
    for (uint32_t j = 0; j < kStep; ++j) {
      int32_t* d = word(row, n + j);
      const I s = sums[0][j], c = t_.read_c ? load(d) : Zero(kS32), sum = Add(s, c);
      store(t_.saturate ? saturated(s, c, sum) : sum, d);
    }
  }
  static I saturated(I s, I c, I sum) {
    // Overflow: both have the sign that the sum has not.
    const M over = Lt(And(Xor(sum, s), Xor(sum, c)), Zero(kS32));
    return IfThenElse(over, Xor(hn::ShiftRight<31>(s), set(INT32_MAX)), sum);
  }

  // ---- fp4

  void fp4() {
    const Fp4Operand a(t_, t_.a, t_.a_scales, t_.rows), b(t_, t_.b, t_.b_scales, t_.columns);
    Fp4Exponents most;
    const bool fine = t_.scale_format == Format::ue4m3;
    Sums sums[2], parts[2];
    // Where most of the first columns need fp4.h, all are done so.
    uint32_t tried = 0, failed = 0;
    for (uint32_t n = 0; n < t_.columns; n += kStep)
      for (uint32_t row = 0; row < t_.rows; row += 2 * kLanes) {
        const bool direct = tried >= 64 && 2 * failed > tried;
        bool has_parts = false;
        if (!direct) dot(row, n, t_.scales, sums);
        for (uint32_t i = 0; i < 2 && row + i * kLanes < t_.rows; ++i) {
          const uint32_t at = row + i * kLanes;
          if (!direct && (++tried, finish_fp4(a, b, sums[i], at, n))) continue;
          ++failed;
          if (!has_parts) dot(row, n, fine ? kFp4Parts : kFp4Groups, parts);
          has_parts = true;
          most.look(a, b, t_.terms, at, n);
          for (uint32_t j = 0; j < kStep; ++j) {
            int32_t* d = word(at, n + j);
            const I c = t_.read_c ? load(d) : Zero(kS32);
            store(fine ? fp4_words<true>(t_, a, b, most, parts[i], at, n, j, c)
                       : fp4_words<false>(t_, a, b, most, parts[i], at, n, j, c),
                  d);
          }
        }
      }
  }
  /// False, and nothing stored: something may be cut, or overflow or subnormal numbers are near.
  bool finish_fp4(const Fp4Operand& a, const Fp4Operand& b, const Sums& sums, uint32_t row, uint32_t n) const {
    constexpr int32_t kHighest = 100;
    I words[kStep];
    const I low = load(a.low + row), high = load(a.high + row);
    M bad = Lt(Zero(kS32), Zero(kS32));
    const size_t stride = t_.column_stride;
    int32_t* const d = word(row, n);
    each<kStep>([&](auto index) __attribute__((always_inline)) {
      constexpr uint32_t j = index.value;
      const I c = t_.read_c ? load(d + j * stride) : Zero(kS32), magnitude = And(c, set(0x7fffffff));
      const I c_raw = t_.read_c ? Sub(Max(shr<23>(magnitude), set(1)), set(127)) : set(Fp4Operand::kNone);
      const I s = Add(high, set(b.high[n + j])), q = Sub(s, set(35));
      bad = Or(bad, Lt(Add(low, set(b.low[n + j])), Max(Max(q, Sub(c_raw, set(35))), set(-149))));
      bad = Or(bad, Lt(set(kHighest), Max(Add(s, set(4)), c_raw)));
      // C is cut, unless it is zero.
      bad = Or(bad, And(Lt(c_raw, Add(q, set(23))), Gt(magnitude, Zero(kS32))));
      Doubles sum = Doubles::of(as_float(c));
      for (uint32_t k = 0; k < t_.scales; ++k)
        sum =
            sum.plus_product(Doubles::of(sums[k][j]), Doubles::load(a.factor[k] + row) * Set(kF64, b.factor[k][n + j]));
      words[j] = as_int(narrow(sum.low, sum.high));
      // Subnormal words; a C of −0 stays where there is no product.
      const I size = And(words[j], set(0x7fffffff));
      bad = Or(bad, Or(And(Gt(size, Zero(kS32)), Lt(size, set(0x00800000))), Eq(c, set(INT32_MIN))));
    });
    if (!AllFalse(kS32, bad)) return false;
    each<kStep>([&](auto j) { store(words[j.value], d + j.value * stride); });
    return true;
  }

  const MmaTile& t_;
  int32_t a_unit_, b_unit_;
  alignas(64) int32_t a_pairs_[kMostTerms / 2 * kMaxRows];
  alignas(64) int32_t b_pairs_[kMostTerms / 2 * kPlane];
};

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
