// The stages of the vector kernel's first way (mma_vector.h says why they are exact): kBlock rows by four columns at a
// time. Their products' exponents and signs are looked at, their windows found, their sums begun, the products added
// and the words stored. mma_run.h does this for group after group.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_panel.h"
#include "common/tinygpu/numerics/mma_tables.h"
#include "common/tinygpu/numerics/mma_wide.h"

namespace tinygpu::numerics {

template <class V, uint32_t kMostTerms>
struct SumStages {
  using I = typename V::I;
  using F = typename V::F;
  using D = typename V::D;
  using Wide = WideMma<V>;
  using Panels = NarrowPanel<V, kMostTerms>;
  using Panel = typename Panels::Panel;
  using Signs = SignTable<V, kMostTerms, Panels::kBlock>;
  static constexpr uint32_t kLanes = V::kLanes, kBytes = Panels::kBytes, kBlock = Panels::kBlock;
  static constexpr uint32_t kTerms = Panels::kTerms, kColumnStep = Panels::kColumnStep, kNibbles = Panels::kNibbles;
  static constexpr uint32_t kTiles = kBlock / kBytes;
  static constexpr uint32_t kVectors = kBlock / kLanes;
  static constexpr int32_t kOne = 1 << 23;

  static constexpr int kTop = 122;  // largest e that is handled here: 2^31 q is 2^128
  static constexpr int kBottom = Panels::kBottom, kLeast = Panels::kLeast;

  enum class C { none, plain, scaled };  // how the old accumulator takes part

  /// Numbers of one tile. A window is kept as the byte e + 127.
  struct Constants {
    I base8, least_most8;  // e + 127 of products whose bytes add up to 0; the least such byte that is above 0
    I least8, highest8;    // the least of the products' bytes; the most of e + 127
    I lowest, highest;     // of e + 127 in an f32 word's top byte
    I most_window;         // the most of e + 127 as an f32's exponent
    I magnitude, c_scale, start, sum_bias, sum_range;
    F c_power;
    I every_term, kept_sign;
    I c_mask;  // of C's words, if more than 16 terms
    // Of more than 16 terms: minus the accumulators' start, without C, times `back`, by which sums are multiplied.
    I whole_start;
    D back;
    Constants(const MmaTile& t, const Panel& a, const Panel& b) {
      const int base = a.base + b.base + 127, most = base > 0 ? base : 0;
      const int least = most + kLeast + 1 > kBottom + 127 ? most + kLeast + 1 : kBottom + 127;
      base8 = V::set8(int8_t(most));
      least_most8 = V::set8(int8_t(most < 128 ? -most : -128));
      least8 = V::set8(int8_t(least - base < 127 ? least - base : 127));
      highest8 = V::set8(int8_t(kTop + 127));
      lowest = V::set(int32_t(uint32_t(least) << 24));
      highest = V::set(int32_t(uint32_t(kTop + 127) << 24 | 0xffffff));
      most_window = V::set((kTop + 127) << 23);
      magnitude = V::set(0x7fffffff);
      c_scale = V::set(t.c_scale * kOne);
      c_power = V::as_float(V::set((127 - t.c_scale) * kOne));
      // The high word of 1.5 * 2^52 q / 2^base.
      start = V::set(((52 - 25 + 1023 - base) << 20) | 0x80000);
      sum_bias = V::set(0x7c000000);
      sum_range = V::set(int32_t(0xf8000000u));
      whole_start = V::set(int32_t(uint32_t(52 - 25 + 1023 - 127) << 20 | 0x80080000u));
      back = V::set_double(__builtin_bit_cast(double, uint64_t(1023 + a.base + b.base) << 52));
      kept_sign = V::set(t.sum == SumKind::scaled ? INT32_MIN : 0);
      c_mask = V::set(t.read_c ? -1 : 0);
      every_term = V::set(t.terms < 32 ? (1 << t.terms) - 1 : -1);
    }
  };

  /// Calls body(Index<0>()) to body(Index<count − 1>()). Constant indices keep arrays of vectors in registers.
  template <uint32_t i>
  struct Index {
    static constexpr uint32_t value = i;
  };
  template <uint32_t count, uint32_t from = 0, class Body>
  [[gnu::always_inline]] static void each(const Body& body) {
    if constexpr (from < count) {
      body(Index<from>());
      each<count, from + 1>(body);
    }
  }

  /// Calls body(Index<i>()) for those of `items` that fall to step `at` when they are spread over steps `from` to `to`.
  template <uint32_t items, uint32_t from, uint32_t to, uint32_t at, class Body>
  [[gnu::always_inline]] static void spread(const Body& body) {
    if constexpr (at >= from && at < to) {
      constexpr uint32_t kFirst = (at - from) * items / (to - from), kEnd = (at - from + 1) * items / (to - from);
      each<kEnd - kFirst>([&](auto i) __attribute__((always_inline)) { body(Index<kFirst + decltype(i)::value>()); });
    }
  }
  /// Keeps the compiler from computing all addresses beforehand, which would cost more registers than there are.
  template <class T>
  [[gnu::always_inline]] static void hide(const T*& p) {
    asm("" : "+r"(p));
  }

  struct Group {
    uint32_t block, n, vectors;  // vectors: of rows
    int32_t* first;              // C's word of column n; lane[v] further is the first of a vector of rows
    size_t stride, lane[kVectors];
    /// How many products are negative and the window, a byte each, of a tile's vectors 0 and 1, 2 and 3 of rows: in
    /// each 16 bytes four rows of either.
    alignas(64) int32_t pairs[kColumnStep][kTiles][2][kLanes];

    [[gnu::always_inline]] int32_t* d(uint32_t j, uint32_t v) const { return first + j * stride + lane[v]; }
  };
  static constexpr uint32_t kLines = kBlock * 4 / 64;  // of the host's cache, in a column of a group
  /// The host is told that the accumulators of the group behind `g` come next: those of many SMs don't fit its inner
  /// caches. Behind the last group lies what nobody reads.
  [[gnu::always_inline]] static void fetch(const Group& g, uint32_t column, uint32_t line) {
    __builtin_prefetch(g.d(kColumnStep + column, line * (kVectors / kLines)));
  }
  /// Where a run over groups ended.
  struct End {
    uint32_t n;    // the first column that has not been added
    Group* begun;  // it has begun, and is not plain; or null
  };

  /// The largest exponents of `count` columns, one term at a time. `ea`, `eb`: of the block's, the first column's first
  /// term.
  template <uint32_t count>
  [[gnu::always_inline]] static void look_at_term(const int8_t* ea, const int32_t* eb, uint32_t k,
                                                  I (&most)[count][kTiles]) {
    I e[kTiles];
    for (uint32_t i = 0; i < kTiles; ++i) e[i] = V::load8(ea + k * kBytes + i * kBytes * kTerms);
    for (uint32_t j = 0; j < count; ++j) {
      const I scalar = V::broadcast8(eb + k * kLanes + j);
      for (uint32_t i = 0; i < kTiles; ++i) {
        const I sum = V::add8(e[i], scalar);
        most[j][i] = k == 0 ? sum : V::max8(most[j][i], sum);
      }
    }
  }
  /// Sums of what `of` says of each four terms and tile of rows.
  template <uint32_t terms, class Of>
  [[gnu::always_inline]] static void add_fours(I (&count)[kTiles], const Of& of) {
    for (uint32_t four = 0; four < terms / 4; ++four)
      for (uint32_t i = 0; i < kTiles; ++i) {
        const I differences = of(four, i);
        count[i] = four == 0 ? differences : V::add8(count[i], differences);
      }
  }
  /// Column j: in how many terms the signs differ.
  template <uint32_t terms>
  [[gnu::always_inline]] static void count_negative(const Panel& a, const Panel& b, const Group& g, uint32_t j,
                                                    I (&count)[kTiles]) {
    const uint8_t* scalars = b.sign + g.n + j;
    add_fours<terms>(
        count, [&](uint32_t four, uint32_t i) __attribute__((always_inline)) {
          const uint8_t* rows = a.sign + (g.block + i * kBytes) * kNibbles + four * kBytes;
          return V::shuffle8(V::load_table(Signs::kDifferences.count[scalars[four * kPlane]]), V::load8(rows));
        });
  }
  /// The same, looked up. `scalars`: the column's signs.
  template <uint32_t terms>
  [[gnu::always_inline]] static void look_up_negative(const Signs& signs, const uint8_t* scalars, I (&count)[kTiles]) {
    add_fours<terms>(
        count, [&](uint32_t four, uint32_t i) __attribute__((always_inline)) {
          return V::load8(signs.entry(four, scalars[four * kPlane]) + i * kBytes);
        });
  }
  template <C kC>
  struct OldValue {
    I word = V::zero(), magnitude = V::zero();
    F c{};
  };
  template <C kC, bool kHalf>
  [[gnu::always_inline]] static OldValue<kC> load_c(const Constants& s, const int32_t* d) {
    OldValue<kC> o;
    if constexpr (kC != C::none) {
      o.word = V::load(d);
      if constexpr (kTerms > 16) o.word = V::bit_and(o.word, s.c_mask);
      o.magnitude = o.word;
      if constexpr (kHalf) {
        o.c = V::from_half(o.word);
        o.magnitude = V::half_field(o.word);
      } else {
        o.c = V::as_float(o.word);
      }
      if constexpr (kC == C::scaled) {
        const I field = V::set(0x7f800000);
        const I special = V::is_zero(V::bit_and(V::bit_xor(o.magnitude, field), field));
        o.c = V::mul(o.c, s.c_power);
        o.magnitude = V::max(V::sub(V::bit_and(o.magnitude, s.magnitude), s.c_scale), V::bit_and(special, field));
      }
    }
    return o;
  }
  /// What the windows of a group, or of a part of it, are between.
  struct Extremes {
    I least = V::set8(127), largest = V::zero();  // of the products' bytes; of the windows
    [[gnu::always_inline]] bool plain(const Constants& s) const {
      return !V::any_below8(least, s.least8) && V::all_at_most8(largest, s.highest8);
    }
  };
  /// The windows of tile i of column j: `most` are the largest exponents of its products, `negative` of these are below
  /// zero.
  template <C kC, bool kHalf>
  [[gnu::always_inline]] static void begin_tile(const Constants& s, Group& g, uint32_t j, uint32_t i, I most,
                                                I negative, Extremes& extremes) {
    extremes.least = V::min8(extremes.least, most);
    I top = V::add8(V::max8(most, s.least_most8), s.base8);
    if constexpr (kC != C::none) {
      const auto c = [&](uint32_t w) __attribute__((always_inline)) {
        return load_c<kC, kHalf>(s, g.d(j, 4 * i + w)).magnitude;
      };
      top = V::max8_unsigned(top, V::exponent_bytes(c(0), c(1), c(2), c(3)));
    }
    extremes.largest = V::max8_unsigned(extremes.largest, top);
    V::store(g.pairs[j][i][0], V::bytes_low(negative, top));
    V::store(g.pairs[j][i][1], V::bytes_high(negative, top));
  }
  /// A group's windows and signs. True: all windows are for here.
  template <uint32_t terms, C kC, bool kHalf>
  static bool begin(const Constants& s, const Panel& a, const Panel& b, Group& g) {
    I most[kColumnStep][kTiles];
    Extremes extremes;
    const int8_t* ea = a.exponent8 + g.block * kTerms;
    const int32_t* eb = b.exponent8x4 + Panels::column_at(g.n);
#pragma GCC unroll 16
    for (uint32_t k = 0; k < terms; ++k) look_at_term(ea, eb, k, most);
    for (uint32_t j = 0; j < kColumnStep; ++j) {
      I negative[kTiles];
      count_negative<terms>(a, b, g, j, negative);
      for (uint32_t i = 0; i < kTiles; ++i) begin_tile<kC, kHalf>(s, g, j, i, most[j][i], negative[i], extremes);
    }
    return extremes.plain(s);
  }
  /// Where some window of a group that has begun is beyond what fits the fields, or too small: returns those vectors of
  /// rows, a bit for each.
  template <C kC, bool kHalf>
  static uint32_t begin_carefully(const Constants& s, const Panel& a, const Panel& b, Group& g) {
    uint32_t beyond = 0;
    for (uint32_t j = 0; j < kColumnStep; ++j)
      for (uint32_t i = 0; i < kTiles; ++i) {
        I tops[4];
        for (uint32_t w = 0; w < 4; ++w) {
          const uint32_t v = 4 * i + w;
          tops[w] = V::window_byte(split(g, j, v).window);
          if (v >= g.vectors) continue;
          // Where there is neither a product nor C, any window will do.
          I others = V::zero();  // terms that aren't zero
          for (uint32_t m = 0; m < Panels::kMasks; ++m) {
            const I zeros = V::bit_or(V::load(a.zeros[m] + g.block + v * kLanes), V::set(b.zeros[m][g.n + j]));
            others = V::bit_or(others, V::bit_xor(zeros, s.every_term));
          }
          const I word = load_c<kC, kHalf>(s, g.d(j, v)).word;
          const I nothing = V::is_zero(V::bit_or(others, V::bit_and(word, V::set(kHalf ? 0x7fff : 0x7fffffff))));
          tops[w] = V::max_unsigned(tops[w], V::bit_and(nothing, s.lowest));
          if (!V::all_at_most(V::sub(tops[w], s.lowest), V::sub(s.highest, s.lowest))) beyond |= 1u << v;
          // With scale factors a C of −0 stays where there is no product.
          if (!V::all_at_most(V::bit_and(V::bit_and(nothing, word), s.kept_sign), V::zero())) beyond |= 1u << v;
          tops[w] = V::template shr<1>(tops[w]);
        }
        const I windows = V::exponent_bytes(tops[0], tops[1], tops[2], tops[3]), negative = V::set(0x00ff00ff);
        int32_t *low = g.pairs[j][i][0], *high = g.pairs[j][i][1];
        V::store(low, V::bit_or(V::bit_and(V::load(low), negative), V::bytes_low(V::zero(), windows)));
        V::store(high, V::bit_or(V::bit_and(V::load(high), negative), V::bytes_high(V::zero(), windows)));
      }
    return beyond;
  }

  /// Column j of vector v: what V makes of the window; the number of negative products.
  struct Start {
    I window, negative;
  };
  [[gnu::always_inline]] static Start split(const Group& g, uint32_t j, uint32_t v) {
    const I pairs = V::load(g.pairs[j][v / 4][v / 2 % 2]);
    Start s;
    if (v % 2 == 0)
      V::split_low(pairs, s.window, s.negative);
    else
      V::split_high(pairs, s.window, s.negative);
    return s;
  }
  /// The accumulators of kColumnStep columns of a vector of rows.
  struct Sums {
    D low[kColumnStep], high[kColumnStep];
  };
  /// Keeps the compiler from moving work from step to step.
  [[gnu::always_inline]] static void pin(Sums& s) {
    V::pin(s.low[0], s.high[0], s.low[1], s.high[1], s.low[2], s.high[2], s.low[3], s.high[3]);
  }
  /// What sums start with: C, cut to the window, and one unit for each negative product.
  template <C kC, bool kHalf>
  [[gnu::always_inline]] static I low_start(const Constants& s, const int32_t* d, I window, I negative) {
    if constexpr (kC == C::none) return negative;
    return V::add(negative, V::truncate(V::divide_by_quantum(load_c<kC, kHalf>(s, d).c, window)));
  }
  /// Column j: the accumulators' start.
  [[gnu::always_inline]] static void start(const Constants& s, I window, I low, uint32_t j, Sums& sums) {
    I high = V::add(V::exponent_field(window), s.start);
    if constexpr (kTerms > 16) high = V::add(high, V::template sar<31>(low));
    sums.low[j] = V::pair_low(low, high);
    sums.high[j] = V::pair_high(low, high);
  }
  template <C kC, bool kHalf>
  [[gnu::always_inline]] static void start(const Constants& s, const Group& g, uint32_t v, uint32_t j, Sums& sums) {
    const Start from = split(g, j, v);
    start(s, from.window, low_start<kC, kHalf>(s, g.d(j, v), from.window, from.negative), j, sums);
  }
  /// Adds the products of one term. `va`, `vb`: of a vector of rows, of kColumnStep columns.
  [[gnu::always_inline]] static void add_term(const double* va, const double* vb, uint32_t k, Sums& sums) {
    const D low = V::load_double(va + k * kLanes), high = V::load_double(va + k * kLanes + kLanes / 2);
    each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      const D scalar = V::broadcast_double(vb + k * kLanes + j.value);
      V::accumulate(sums.low[j.value], low, scalar);
      V::accumulate(sums.high[j.value], high, scalar);
    });
  }
  /// Column j: rounds and stores.
  template <bool kHalf>
  [[gnu::always_inline]] static void finish(const Constants& s, I window, int32_t* d, uint32_t j, const Sums& sums) {
    if constexpr (kTerms > 16) {
      const I minus = V::add(V::exponent_field(window), s.whole_start);
      const D low = V::fma(sums.low[j], s.back, V::pair_low(V::zero(), minus));
      const D high = V::fma(sums.high[j], s.back, V::pair_high(V::zero(), minus));
      V::store(d, kHalf ? Wide::to_f16(low, high) : V::as_int(V::narrow(low, high)));
    } else {
      const I sum = V::low_words(sums.low[j], sums.high[j]);
      V::store(d, kHalf ? V::to_half(sum, window) : V::as_int(V::times_quantum(V::to_float(sum), window)));
    }
  }
  template <bool kHalf>
  [[gnu::always_inline]] static void finish(const Constants& s, const Group& g, uint32_t v, uint32_t j,
                                            const Sums& sums) {
    finish<kHalf>(s, split(g, j, v).window, g.d(j, v), j, sums);
  }

  /// Adds the products of vector v, rounds and stores. Carefully: false, and nothing stored, if some sum wrapped
  /// around.
  template <uint32_t terms, C kC, bool kHalf, bool kCarefully = false>
  static bool add(const Constants& s, const Panel& a, const Panel& b, const Group& g, uint32_t v) {
    const double *va = a.value + (g.block + v * kLanes) * kTerms, *vb = b.value + Panels::column_at(g.n);
    Sums sums;
    each<kColumnStep>([&](auto j) { start<kC, kHalf>(s, g, v, j.value, sums); });
    for (uint32_t k = 0; k < terms; k += 8) each<8>([&](auto i) { add_term(va, vb, k + i.value, sums); });
    if constexpr (kCarefully)
      for (uint32_t j = 0; j < kColumnStep; ++j) {
        const I sum = V::low_words(sums.low[j], sums.high[j]);
        if (!V::all_at_most(V::add(sum, s.sum_bias), s.sum_range)) return false;
      }
    each<kColumnStep>([&](auto j) { finish<kHalf>(s, g, v, j.value, sums); });
    return true;
  }
};

}  // namespace tinygpu::numerics
