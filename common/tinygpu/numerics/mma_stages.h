// The stages of the vector kernel's first way (mma_vector.h says why they are exact): kBlock rows by four columns at a
// time. Their products' exponents and signs are looked at, their sums begun, the products added and the words stored.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_panel.h"
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
  static constexpr uint32_t kLanes = V::kLanes, kBytes = Panels::kBytes, kBlock = Panels::kBlock;
  static constexpr uint32_t kTerms = Panels::kTerms, kColumnStep = Panels::kColumnStep, kNibbles = Panels::kNibbles;
  static constexpr uint32_t kTiles = kBlock / kBytes;
  static constexpr uint32_t kVectors = kBlock / kLanes;
  static constexpr int32_t kOne = 1 << 23;

  static constexpr int kTop = 122;  // largest e that is handled here: 2^31 q is 2^128
  static constexpr int kBottom = Panels::kBottom, kLeast = Panels::kLeast;

  enum class C { none, plain, scaled };  // how the old accumulator takes part

  /// The number of bits set in i ^ j.
  struct Differences {
    alignas(16) uint8_t count[16][16];
    constexpr Differences() : count() {
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j) count[i][j] = uint8_t(__builtin_popcount(unsigned(i ^ j)));
    }
  };
  static constexpr Differences kDifferences{};

  /// Numbers of one tile. A window is e + 127 in an f32 word's top byte.
  struct Constants {
    I top8, least8;  // of e + 127 of the products: the most, in each byte; the least of e, relative to both bases
    I lowest, highest, window_mask, count_mask, magnitude, c_scale, start, sum_bias, sum_range;
    F c_power;
    I every_term, kept_sign;
    I c_mask;  // of C's words, if more than 16 terms
    I spread[2];
    // Of more than 16 terms: minus the accumulators' start, without C, times `back`, by which sums are multiplied.
    I whole_start;
    D back;
    Constants(const MmaTile& t, const Panel& a, const Panel& b) {
      const int base = a.base + b.base + 127, most = base > 0 ? base : 0;
      const int least = most + kLeast + 1 > kBottom + 127 ? most + kLeast + 1 : kBottom + 127;
      top8 = V::set8(int8_t(most));
      least8 = V::set8(int8_t(least - base < 127 ? least - base : 127));
      lowest = V::set(int32_t(uint32_t(least) << 24));
      highest = V::set(int32_t(uint32_t(kTop + 127) << 24 | 0xffffff));
      window_mask = V::set(int32_t(0xff000000u));
      count_mask = V::set(0xff);
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
      // Pairs of bytes 0 to 3 and 4 to 7 of each 16 to words, the first as the lowest byte, the second as the highest.
      for (int32_t i = 0; i < 2; ++i) {
        const int32_t at = 8 * i;
        const auto word = [&](int32_t pair) {
          return (at + 2 * pair) | 0x808000 | int32_t(uint32_t(at + 2 * pair + 1) << 24);
        };
        spread[i] = V::set_fours(word(0), word(1), word(2), word(3));
      }
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

  // kBlock rows by four columns go through three stages: their exponents and signs are looked at, their sums begun, the
  // products added. Adding keeps the multipliers busy and leaves half of the vector pipes idle (on Zen 4), which is
  // just what the other two stages need. So a group's products are added in chunks, step by step of K, and every step
  // takes a part of the stages before for the group after.
  static constexpr uint32_t kChunk = V::kChunk;  // vectors of rows whose sums the registers hold
  static constexpr uint32_t kChunks = kVectors / kChunk;
  // Columns of which a chunk of the first half takes the first stage, one of the second half the second.
  static constexpr uint32_t kColumns = kColumnStep / (kChunks / 2);

  struct Group {
    uint32_t block, n, vectors;  // vectors: of rows
    int32_t* d[kColumnStep][kVectors];
    /// In bytes, in the order of a panel's rows: the largest exponent of the products; how many of them are negative.
    alignas(64) int32_t most[kColumnStep][kTiles][kLanes], negative[kColumnStep][kTiles][kLanes];
    I least, largest;                                              // of `most`; of windows
    alignas(64) int32_t window[kColumnStep][kVectors][kLanes];     // as V::window() gives it
    alignas(64) int32_t low_start[kColumnStep][kVectors][kLanes];  // low word of the accumulators' start
  };

  static constexpr auto nothing = [](auto) {};

  /// Keeps the compiler from computing all addresses beforehand, which would cost more registers than there are.
  template <class T>
  static void hide(const T*& p) {
    asm("" : "+r"(p));
  }

  /// The largest exponents of `count` columns from `first` on, one term at a time.
  template <uint32_t count>
  [[gnu::always_inline]] static void look_at_term(const Panel& a, const Panel& b, const Group& g, uint32_t first,
                                                  uint32_t k, I (&most)[count][kTiles]) {
    const int8_t* ea = a.exponent8 + g.block * kTerms + k * kBytes;
    const int32_t* eb = b.exponent8x4 + Panels::column_at(g.n) + k * kLanes + first;
    I e[kTiles];
    for (uint32_t i = 0; i < kTiles; ++i) e[i] = V::load8(ea + i * kBytes * kTerms);
    for (uint32_t j = 0; j < count; ++j) {
      const I scalar = V::broadcast8(eb + j);
      for (uint32_t i = 0; i < kTiles; ++i) {
        const I sum = V::add8(e[i], scalar);
        most[j][i] = k == 0 ? sum : V::max8(most[j][i], sum);
      }
    }
  }
  /// Column j: in how many terms the signs differ.
  template <uint32_t terms>
  [[gnu::always_inline]] static void count_negative(const Panel& a, const Panel& b, Group& g, uint32_t j) {
    const uint8_t* scalars = b.sign + g.n + j;
    I count[kTiles];
    for (uint32_t nibble = 0; nibble < terms / 4; ++nibble) {
      const I table = V::load_table(kDifferences.count[scalars[nibble * kPlane]]);
      for (uint32_t i = 0; i < kTiles; ++i) {
        const uint8_t* signs = a.sign + (g.block + i * kBytes) * kNibbles + nibble * kBytes;
        const I differences = V::shuffle8(table, V::load8(signs));
        count[i] = nibble == 0 ? differences : V::add8(count[i], differences);
      }
    }
    for (uint32_t i = 0; i < kTiles; ++i) V::store(g.negative[j][i], count[i]);
  }
  template <uint32_t count>
  [[gnu::always_inline]] static void keep_most(Group& g, uint32_t first, const I (&most)[count][kTiles]) {
    for (uint32_t j = 0; j < count; ++j)
      for (uint32_t i = 0; i < kTiles; ++i) V::store(g.most[first + j][i], most[j][i]);
  }
  template <uint32_t terms>
  static void look_at(const Panel& a, const Panel& b, Group& g) {
    I most[kColumnStep][kTiles];
#pragma GCC unroll 16
    for (uint32_t k = 0; k < terms; ++k) look_at_term(a, b, g, 0, k, most);
    keep_most(g, 0, most);
    for (uint32_t j = 0; j < kColumnStep; ++j) count_negative<terms>(a, b, g, j);
  }

  /// Of a column, in the order of a panel's rows, pairs of bytes: how many products are negative, the largest exponent
  /// of the products + 127. The first half of each 16 rows, the second half.
  struct Pairs {
    I half[kTiles][2];
    /// Of vector v, in words: the count in the lowest byte, the exponent in the highest.
    [[gnu::always_inline]] I of(const Constants& s, uint32_t v) const {
      return V::shuffle8(half[v / 4][v % 4 / 2], s.spread[v % 2]);
    }
  };
  [[gnu::always_inline]] static Pairs pairs_of(const Constants& s, const Group& g, uint32_t j, I& least) {
    Pairs p;
    for (uint32_t i = 0; i < kTiles; ++i) {
      const I most = V::load(g.most[j][i]), count = V::load(g.negative[j][i]);
      least = V::min8(least, most);
      const I largest = V::subs8_unsigned(s.top8, V::sub8(V::zero(), most));
      p.half[i][0] = V::interleave8_low(count, largest);
      p.half[i][1] = V::interleave8_high(count, largest);
    }
    return p;
  }

  template <C kC>
  struct OldValue {
    I word = V::zero(), magnitude = V::zero();
    F c{};
  };
  template <C kC, bool kHalf>
  [[gnu::always_inline]] static OldValue<kC> load_c(const Constants& s, const Group& g, uint32_t j, uint32_t v) {
    OldValue<kC> o;
    if constexpr (kC != C::none) {
      o.word = V::load(g.d[j][v]);
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
  /// Column j of vector v: its windows, C cut to them, the accumulators' start.
  template <C kC>
  [[gnu::always_inline]] static void begin_with(const Constants& s, Group& g, uint32_t j, uint32_t v, I pair, I top,
                                                F c) {
    const I window = V::window(top);
    I low = V::bit_and(pair, s.count_mask);
    if constexpr (kC != C::none) low = V::add(low, V::truncate(V::divide_by_quantum(c, window)));
    V::store(g.window[j][v], window);
    V::store(g.low_start[j][v], low);
  }
  template <C kC, bool kHalf>
  [[gnu::always_inline]] static void begin_one(const Constants& s, Group& g, const Pairs& pairs, uint32_t j, uint32_t v,
                                               I& largest) {
    const I pair = pairs.of(s, v);
    const OldValue<kC> o = load_c<kC, kHalf>(s, g, j, v);
    const I top = V::max_unsigned(pair, V::add(o.magnitude, o.magnitude));
    largest = V::max_unsigned(largest, top);
    begin_with<kC>(s, g, j, v, pair, top, o.c);
  }
  template <C kC, bool kHalf>
  static void begin(const Constants& s, Group& g) {
    g.least = V::set8(127);
    g.largest = V::zero();
    for (uint32_t j = 0; j < kColumnStep; ++j) {
      const Pairs pairs = pairs_of(s, g, j, g.least);
      for (uint32_t v = 0; v < g.vectors; ++v) begin_one<kC, kHalf>(s, g, pairs, j, v, g.largest);
    }
  }
  /// Where some window is beyond what fits the fields, or too small: returns those vectors of rows, a bit for each.
  template <C kC, bool kHalf>
  static uint32_t begin_carefully(const Constants& s, const Panel& a, const Panel& b, Group& g) {
    uint32_t beyond = 0;
    for (uint32_t j = 0; j < kColumnStep; ++j) {
      const Pairs pairs = pairs_of(s, g, j, g.least);
      for (uint32_t v = 0; v < g.vectors; ++v) {
        const I pair = pairs.of(s, v);
        const OldValue<kC> o = load_c<kC, kHalf>(s, g, j, v);
        I top = V::bit_and(V::max_unsigned(pair, V::add(o.magnitude, o.magnitude)), s.window_mask);
        // Where there is neither a product nor C, any window will do.
        I others = V::zero();  // terms that aren't zero
        for (uint32_t m = 0; m < Panels::kMasks; ++m) {
          const I zeros = V::bit_or(V::load(a.zeros[m] + g.block + v * kLanes), V::set(b.zeros[m][g.n + j]));
          others = V::bit_or(others, V::bit_xor(zeros, s.every_term));
        }
        const I c_magnitude = V::bit_and(o.word, V::set(kHalf ? 0x7fff : 0x7fffffff));
        const I nothing = V::is_zero(V::bit_or(others, c_magnitude));
        top = V::max_unsigned(top, V::bit_and(nothing, s.lowest));
        if (!V::all_at_most(V::sub(top, s.lowest), V::sub(s.highest, s.lowest))) beyond |= 1u << v;
        // With scale factors a C of −0 stays where there is no product.
        if (!V::all_at_most(V::bit_and(V::bit_and(nothing, o.word), s.kept_sign), V::zero())) beyond |= 1u << v;
        begin_with<kC>(s, g, j, v, pair, top, o.c);
      }
    }
    return beyond;
  }

  /// Adds the products of `ready`, looks at `next` and begins it.
  template <uint32_t terms, C kC, bool kHalf>
  static void add_all(const Constants& constants, const Panel& a, const Panel& b, const Group& ready, Group& next) {
    const Constants s = constants;  // not memory that a store might change
    for (uint32_t chunk = 0; chunk < kChunks / 2; ++chunk) {
      const uint32_t first = chunk * kColumns;
      I most[kColumns][kTiles];
      add<terms, kHalf, false, kChunk>(
          s, a, b, ready, chunk * kChunk, [&](auto k) __attribute__((always_inline)) {
            look_at_term(a, b, next, first, k.value, most);
            if constexpr (k.value % (terms / kColumns) == terms / kColumns / 2)
              count_negative<terms>(a, b, next, first + k.value / (terms / kColumns));
          });
      keep_most(next, first, most);
    }
    I least = V::set8(127), largest = V::zero();
    for (uint32_t chunk = 0; chunk < kChunks / 2; ++chunk) {
      constexpr uint32_t kItems = kColumns * kVectors;
      const uint32_t first = chunk * kColumns;
      Pairs pairs;
      add<terms, kHalf, false, kChunk>(
          s, a, b, ready, (chunk + kChunks / 2) * kChunk, [&](auto k) __attribute__((always_inline)) {
            constexpr uint32_t kFrom = k.value * kItems / terms, kTo = (k.value + 1) * kItems / terms;
            each<kTo - kFrom>([&](auto i) __attribute__((always_inline)) {
              constexpr uint32_t kItem = kFrom + i.value, j = kItem / kVectors, v = kItem % kVectors;
              if constexpr (v == 0) pairs = pairs_of(s, next, first + j, least);
              begin_one<kC, kHalf>(s, next, pairs, first + j, v, largest);
            });
          });
    }
    next.least = least;
    next.largest = largest;
  }

  /// Adds the products of `count` vectors of rows from `v` on, rounds and stores; meanwhile(Index<k>()) after each
  /// step. Carefully: false, and nothing stored, if some sum wrapped around.
  template <uint32_t terms, bool kHalf, bool kCarefully, uint32_t count, class Meanwhile>
  [[gnu::always_inline]] static bool add(const Constants& s, const Panel& a, const Panel& b, const Group& g, uint32_t v,
                                         const Meanwhile& meanwhile) {
    const double *va = a.value + (g.block + v * kLanes) * kTerms, *vb = b.value + Panels::column_at(g.n);
    hide(va), hide(vb);
    D low[count][kColumnStep], high[count][kColumnStep];
    each<count>([&](auto c) __attribute__((always_inline)) {
      each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
        const I start = V::load(g.low_start[j.value][v + c.value]);
        I start_high = V::add(V::exponent_field(V::load(g.window[j.value][v + c.value])), s.start);
        if constexpr (kTerms > 16) start_high = V::add(start_high, V::template sar<31>(start));
        low[c.value][j.value] = V::pair_low(start, start_high);
        high[c.value][j.value] = V::pair_high(start, start_high);
      });
    });
    // As many steps as are written out one after the other.
    constexpr uint32_t kWritten = terms > 32 ? 16 : terms;
    const auto step = [&](auto k) __attribute__((always_inline)) {
      D x[count][2];
      each<count>([&](auto c) __attribute__((always_inline)) {
        const double* from = va + c.value * kLanes * kTerms + k.value * kLanes;
        x[c.value][0] = V::load_double(from);
        x[c.value][1] = V::load_double(from + kLanes / 2);
      });
      each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
        const D scalar = V::broadcast_double(vb + k.value * kLanes + j.value);
        each<count>([&](auto c) __attribute__((always_inline)) {
          low[c.value][j.value] = V::fma(x[c.value][0], scalar, low[c.value][j.value]);
          high[c.value][j.value] = V::fma(x[c.value][1], scalar, high[c.value][j.value]);
        });
      });
      meanwhile(k);
      each<count>([&](auto c) __attribute__((always_inline)) {
        V::pin(low[c.value][0], high[c.value][0], low[c.value][1], high[c.value][1], low[c.value][2], high[c.value][2],
               low[c.value][3], high[c.value][3]);
      });
    };
    for (uint32_t done = 0;;) {
      each<kWritten>(step);
      if ((done += kWritten) == terms) break;
      va += kWritten * kLanes, vb += kWritten * kLanes;
    }
    if constexpr (kTerms > 16) {
      each<count>([&](auto c) __attribute__((always_inline)) {
        each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
          const I window = V::load(g.window[j.value][v + c.value]);
          const I start = V::add(V::exponent_field(window), s.whole_start);
          const D l = V::fma(low[c.value][j.value], s.back, V::pair_low(V::zero(), start));
          const D h = V::fma(high[c.value][j.value], s.back, V::pair_high(V::zero(), start));
          V::store(g.d[j.value][v + c.value], kHalf ? Wide::to_f16(l, h) : V::as_int(V::narrow(l, h)));
        });
      });
      return true;
    }
    I sums[count][kColumnStep];
    each<count>([&](auto c) __attribute__((always_inline)) {
      each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
        sums[c.value][j.value] = V::low_words(low[c.value][j.value], high[c.value][j.value]);
      });
    });
    if constexpr (kCarefully)
      for (const auto& vector : sums)
        for (const I& sum : vector)
          if (!V::all_at_most(V::add(sum, s.sum_bias), s.sum_range)) return false;
    each<count>([&](auto c) __attribute__((always_inline)) {
      each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
        const I window = V::load(g.window[j.value][v + c.value]), sum = sums[c.value][j.value];
        if constexpr (kHalf)
          V::store(g.d[j.value][v + c.value], V::to_half(sum, window));
        else
          V::store(g.d[j.value][v + c.value], V::as_int(V::times_quantum(V::to_float(sum), window)));
      });
    });
    return true;
  }
};

}  // namespace tinygpu::numerics
