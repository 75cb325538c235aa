// Sums of floats in fixed point, kBlock rows by four columns at a time, vector lanes over M, scalars over N and K.
//
// Let e be the largest raw exponent of an output's terms and q = 2^(e − window) its quantum. Each product is
// multiplied, cut and added by one fused multiply-add in f64, rounding toward zero, into an accumulator that starts
// at 1.5 * 2^52 q plus at most 2^32 q, and so always has q as its last place. Why that is exact:
// * 64 products of magnitude below 4 * 2^e move the accumulator by less than 2^33 q: it stays in its binade. It is
//   positive, so that rounding toward zero adds floor(p / q) q for a product p.
// * The model cuts toward zero, which is one q more than floor for a negative p unless q divides p. So every operand is
//   taken one unit in its 53rd bit too large in magnitude (a zero: 2^-255 of the operands' scale, with its sign). This
//   makes |p| larger by less than 2^-50 |p|. p has at most 22 significand bits, so the distance from |p| to the next
//   multiple of q above it is at least 2^-22 |p| and, p being below 2^27 q, more than the error in either case: nothing
//   changes for a positive p, and a negative one always gets one q too little.
// * That one q for each negative product is put into the accumulator beforehand: it is the number of bits in which the
//   signs of A's row and B's column differ. So is C, cut to q by a conversion to int32.
// Up to 16 terms: the low 32 bits of the accumulator then are the sum in units of q, if that is within 31 bits and a
// sign. With C: the significands of A's row add up to less than 31 (Panel sees to it), those of B are below 2, so 16
// products are below 62 * 2^25 and C below 2 * 2^25. More terms, of few bits: C's cut enters the start as a 64-bit
// integer, and in the end the start without C is subtracted in f64: what remains is an integer below 2^34 times q,
// exactly, of which one conversion rounds. A ue8m0 factor of a row multiplies its elements and adds to their exponents:
// elements of a format with more exponents. So the factors are part of the panels.
//
// Raw exponents relative to the operand's largest (its base) are kept in signed bytes, at least kLeast, zeros at that,
// so that sums of two don't overflow: their maximum is right whenever it is above kLeast. Where it isn't, nothing is
// known but C: four columns of a block that have such an output, whose C does not lift the window above that, are left
// to General, and so are those with windows near the ends of f32. But if all elements are near their operand's base, an
// output that has no product above kLeast has none at all, and if C is zero too, it is zero in any window.
//
// Adding keeps the multipliers busy and leaves half of the vector pipes idle (on Zen 4), which is just what the other
// stages need: while the products of four columns are added, every step of K takes a part of making the next four
// ready. What sums start with waits in memory. On Zen 4, with vectors of 256 bits, a term's 8 multiplications and 6
// loads take 4.3 cycles: eight sums just cover the multipliers' latency. 6 additions more make it 4.5, 2 loads with
// them 5.0, a third load 5.4; a store costs 0.1 and a multiplication or a shuffle 0.2 to 0.4 where there is as much
// besides. (Measured with one such loop for each.) A whole group written out, or five columns a group for ten sums,
// takes longer: inferred, for it no longer fits the host's cache of decoded instructions.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/general.h"
#include "common/tinygpu/numerics/lanes.h"
#include "common/tinygpu/numerics/panel.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

/// Tiles of up to kTerms terms: 16 and 32 of f16, bf16 and tf32; 32 and 64 of 8 bits and less.
template <uint32_t kTerms>
class FixedPoint {
 public:
  static bool knows(const MmaTile& t) {
    const bool words = info(t.a_format).bits >= 16 && info(t.b_format).bits >= 16;
    const bool bytes = info(t.a_format).bits <= 8 && info(t.b_format).bits <= 8 && info(t.a_format).exponent_bits;
    if (t.c_scale != 0 || t.rule.window > 25 || !(kTerms == 16 ? words : kTerms == 32 ? words || bytes : bytes))
      return false;
    if (t.terms != kTerms && (kTerms != 16 || t.terms != 8)) return false;
    return t.sum == SumKind::fused || (t.sum == SumKind::scaled && kTerms > 16 && t.scales == 1);
  }

  /// A tile that it knows; false, and nothing done, if General can't do it.
  static bool run(const MmaTile& t) {
    General general(t);
    Operands p;
    if (!p.a.template unpack<false>(t, 0) || !p.b.template unpack<true>(t, p.a.base)) return general.run();
    const TowardZero mode(true);
    const bool half = t.rule.result == SumRule::Result::f16_nearest;
    if constexpr (kTerms == 16)
      if (t.terms == 8) {
        half ? tile<8, true>(t, p, general) : tile<8, false>(t, p, general);
        return true;
      }
    half ? tile<kTerms, true>(t, p, general) : tile<kTerms, false>(t, p, general);
    return true;
  }

 private:
  using Operand = Panel<kTerms>;
  struct Operands {
    Operand a, b;
  };
  static constexpr uint32_t kTiles = kBlock / kBytes, kVectors = kBlock / kLanes;
  static constexpr uint32_t kLong = kVectors / kColumnStep;  // vectors of rows for which a column is made ready
  static constexpr uint32_t kWords = 4;                      // vectors of words in a tile of bytes
  static constexpr uint32_t kLines = kBlock * 4 / 64;        // of the host's cache, in a column of a block
  static constexpr int kTop = 122;                           // largest e that is handled here: 2^31 q is 2^128
  static constexpr int32_t kField = 0x7f800000;

  /// Numbers of one tile. A window is an f32 word of 2^e.
  struct Constants {
    Byte base8, least_most8;  // e + 127 of products whose bytes add up to 0; the byte that stands for what is less
    Byte least8;              // of products alone that have the least window
    I least_window, most_window, one;  // one: 1 if outputs without a product and C are for here, else 0
    I start, to_units, quantum, result_mask;
    // Of more than 16 terms: minus the accumulators' start, without C, times `back`, by which sums are multiplied.
    I whole_start;
    D back;
    Constants(const MmaTile& t, const Operand& a, const Operand& b) {
      const int base = a.base + b.base + 127, window = t.rule.window, bottom = kBottom + 127;
      const int least = base + kLeast + 1 > bottom ? base + kLeast + 1 : bottom;
      const bool near = a.least - a.base >= kNear && b.least - b.base >= kNear && a.least + b.least >= kBottom;
      base8 = Set(kS8, int8_t(base));
      least_most8 = Set(kS8, int8_t(bottom - 1 - base > -128 ? bottom - 1 - base : -128));
      least8 = Set(kS8, int8_t(least - base));
      least_window = set(least << 23);
      most_window = set((kTop + 127) << 23);
      one = set(near);
      // The high word of 1.5 * 2^52 q / 2^base.
      start = set(((52 - window + 1023 - base) << 20) | 0x80000);
      to_units = set(int32_t(uint32_t(window + 127 + 127) << 23));
      quantum = set(window << 23);
      result_mask = set(t.rule.result == SumRule::Result::f32_14_bits ? ~0x3ff : -1);
      whole_start = set(int32_t(uint32_t(52 - window + 1023 - 127) << 20 | 0x80080000u));
      back = Set(kF64, __builtin_bit_cast(double, uint64_t(1023 + a.base + b.base) << 52));
    }
  };

  /// For each four terms and each four signs of B: in how many of them the signs of A differ, a byte a row.
  struct Signs {
    alignas(64) uint8_t count[kTerms / 4][16][kBlock];
    /// `signs`: of the block.
    void fill(const uint8_t* signs, uint32_t terms) {
      alignas(16) static constexpr uint8_t kBits[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
      for (uint32_t four = 0; four < terms / 4; ++four)
        for (uint32_t i = 0; i < kBlock; i += kBytes) {
          const auto a = Load(kU8, signs + i * (kTerms / 4) + four * kBytes);
          for (uint32_t b = 0; b < 16; ++b)
            Store(TableLookupBytes(LoadDup128(kU8, kBits), Xor(a, Set(kU8, uint8_t(b)))), kU8, count[four][b] + i);
        }
    }
  };

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

  /// What the sums of a column start with, and their windows.
  struct Ready {
    alignas(64) int32_t low[kVectors][kLanes];
    alignas(64) int32_t window[kVectors][kLanes];
  };
  /// What the windows of four columns are between.
  struct Extremes {
    Byte least = Set(kS8, 127);  // of products alone
    I largest = Zero(kS32);
  };
  /// Where accumulators of a block are: word of row r of a vector v and a column at first + column * stride + lane[v] +
  /// r.
  struct Place {
    int32_t* first;
    size_t stride, lane[kVectors];
    [[gnu::always_inline]] int32_t* at(uint32_t v) const { return first + lane[v]; }
  };

  /// The largest exponents and the negative products of a column, a byte for each row of a tile.
  struct Products {
    Byte most[kTiles], negative[kTiles];
  };
  [[gnu::always_inline]] static void look_at_term(const int8_t* ea, const int32_t* eb, uint32_t k, Products& p) {
    const Byte scalar = BitCast(kS8, set(eb[k * kLanes]));
    for (uint32_t i = 0; i < kTiles; ++i) {
      const Byte sum = Add(Load(kS8, ea + k * kBytes + i * kBytes * kTerms), scalar);
      p.most[i] = k == 0 ? sum : Max(p.most[i], sum);
    }
  }
  /// `scalars`: the column's signs.
  template <uint32_t terms>
  [[gnu::always_inline]] static void count_negative(const Signs& signs, const uint8_t* scalars, Products& p) {
    for (uint32_t four = 0; four < terms / 4; ++four)
      for (uint32_t i = 0; i < kTiles; ++i) {
        const auto row = signs.count[four][scalars[four * kPlane]] + i * kBytes;
        const Byte count = Load(kS8, reinterpret_cast<const int8_t*>(row));
        p.negative[i] = four == 0 ? count : Add(p.negative[i], count);
      }
  }
  /// 16-bit words of a tile: the window's e + 127 from bit 7 on, the negative products below. In each 16 bytes `low`
  /// has the first two vectors' of rows.
  [[gnu::always_inline]] static void windows(const Constants& s, const Products& p, uint32_t i, Short& low, Short& high,
                                             Extremes& extremes) {
    extremes.least = Min(extremes.least, p.most[i]);
    const auto half = [](Byte words) { return BitCast(kS16, hn::ShiftRight<1>(BitCast(kU16, words))); };
    const Byte top = Add(Max(p.most[i], s.least_most8), s.base8), twice = Add(p.negative[i], p.negative[i]);
    low = half(InterleaveLower(kS8, twice, top));
    high = half(InterleaveUpper(kS8, twice, top));
  }
  /// A vector of rows of a tile.
  template <uint32_t vector>
  [[gnu::always_inline]] static I words_of(Short low, Short high) {
    const Short from = vector < 2 ? low : high;
    return BitCast(kS32, vector % 2 == 0 ? InterleaveLower(kS16, from, from) : InterleaveUpper(kS16, from, from));
  }
  /// Of C, as an f32 word. A subnormal f16 has the exponent of the least normal one.
  template <bool kHalf>
  [[gnu::always_inline]] static I magnitude(const int32_t* d) {
    const I c = And(as_int(old_value<kHalf>(d)), set(0x7fffffff));
    if constexpr (kHalf) return IfThenElseZero(Gt(c, Zero(kS32)), Max(c, set((127 - 14) << 23)));
    return c;
  }
  /// `word`: of words_of(), so e + 127 in an f32's place and below it how many are negative.
  template <bool kHalf>
  [[gnu::always_inline]] static void make_ready(const Constants& s, Ready& to, uint32_t v, const int32_t* d, I word,
                                                Extremes& extremes) {
    const I c = magnitude<kHalf>(d);
    hide(d);  // C is read once more rather than kept
    const I window = And(Max(word, c), set(kField));
    extremes.largest = Max(extremes.largest, window);
    const I units = truncate(Mul(old_value<kHalf>(d), as_float(Sub(s.to_units, window))));
    store(Add(And(word, set(0x7f)), units), to.low[v]);
    store(window, to.window[v]);
  }

  /// Whether four columns that are ready are for here.
  template <bool kHalf>
  [[gnu::always_inline]] static bool plain(const Constants& s, const Extremes& extremes, const Ready* ready,
                                           const Place& c) {
    if (!all_at_most(extremes.largest, s.most_window)) return false;
    return AllFalse(kS8, Lt(extremes.least, s.least8)) || high_enough<kHalf>(s, ready, c);
  }
  /// Whether the windows are, with C.
  template <bool kHalf>
  [[gnu::noinline]] static bool high_enough(const Constants& s, const Ready* ready, Place c) {
    auto least = Set(kU32, UINT32_MAX);
    for (uint32_t j = 0; j < kColumnStep; ++j, c.first += c.stride)
      for (uint32_t v = 0; v < kVectors; ++v) {
        // With `one`, a C of zero is above every window.
        const I old = Sub(magnitude<kHalf>(c.at(v)), s.one);
        least = Min(least, Max(BitCast(kU32, load(ready[j].window[v])), BitCast(kU32, old)));
      }
    return all_at_most(s.least_window, BitCast(kS32, least));
  }

  /// The accumulators of kColumnStep columns of a vector of rows.
  struct Sums {
    D first[kColumnStep], second[kColumnStep];
  };
  [[gnu::always_inline]] static void start(const Constants& s, const Ready* ready, uint32_t v, Sums& sums) {
    each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      const I low = load(ready[j.value].low[v]);
      I high = Add(shr<3>(load(ready[j.value].window[v])), s.start);
      if constexpr (kTerms > 16) high = Add(high, hn::ShiftRight<31>(low));
      sums.first[j.value] = first_pairs(low, high);
      sums.second[j.value] = second_pairs(low, high);
    });
  }
  /// Adds the products of one term. `va`, `vb`: of a vector of rows, of kColumnStep columns.
  [[gnu::always_inline]] static void add_term(const double* va, const double* vb, uint32_t k, Sums& sums) {
    const D first = Load(kF64, va + k * kLanes), second = Load(kF64, va + k * kLanes + kLanes / 2);
    each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      const D scalar = broadcast(vb + k * kLanes + j.value);
      accumulate(sums.first[j.value], first, scalar);
      accumulate(sums.second[j.value], second, scalar);
    });
  }
  /// Rounds and stores.
  template <bool kHalf>
  [[gnu::always_inline]] static void finish(const Constants& s, const Ready* ready, uint32_t v, int32_t* d,
                                            size_t stride, const Sums& sums) {
    each<kColumnStep>([&](auto j) __attribute__((always_inline)) {
      const I window = load(ready[j.value].window[v]);
      const D first = sums.first[j.value], second = sums.second[j.value];
      I words;
      if constexpr (kTerms > 16) {
        const I minus = Add(shr<3>(window), s.whole_start);
        const D x = MulAdd(first, s.back, first_pairs(Zero(kS32), minus));
        const D y = MulAdd(second, s.back, second_pairs(Zero(kS32), minus));
        words = kHalf ? round_half(narrow_pairs(sticky(x), sticky(y))) : And(as_int(narrow_pairs(x, y)), s.result_mask);
      } else {
        const I sum = low_words(first, second);
        const F quantum = as_float(Sub(window, s.quantum));
        I cut = as_int(ConvertTo(kF32, sum));
        // Through a sticky bit below f32's precision, so that rounding twice is like rounding once.
        if constexpr (kHalf) cut = IfThenElse(Eq(truncate(as_float(cut)), sum), cut, Or(cut, set(1)));
        const F word = Mul(as_float(cut), quantum);
        words = kHalf ? round_half(word) : as_int(word);
      }
      store(words, d + j.value * stride);
    });
  }

  /// Makes the columns from n on ready. Whether they are for here.
  template <uint32_t terms, bool kHalf>
  static bool prepare(const Constants& s, const Operands& p, const Signs& signs, uint32_t block, uint32_t n, Place c,
                      Ready* ready) {
    Extremes extremes;
    const Place first = c;
    for (uint32_t j = 0; j < kColumnStep; ++j, c.first += c.stride) {
      Products products;
      for (uint32_t k = 0; k < terms; ++k)
        look_at_term(p.a.exponent8 + block * kTerms, p.b.exponent8x4 + Operand::column_at(n + j), k, products);
      count_negative<terms>(signs, p.b.sign + n + j, products);
      each<kTiles>([&](auto i) {
        Short low, high;
        windows(s, products, i.value, low, high, extremes);
        each<kWords>([&](auto w) {
          constexpr uint32_t v = decltype(i)::value * kWords + decltype(w)::value;
          make_ready<kHalf>(s, ready[j], v, c.at(v), words_of<decltype(w)::value>(low, high), extremes);
        });
      });
    }
    return plain<kHalf>(s, extremes, ready, first);
  }

  /// Adds the products of columns n to n + 3, and makes those behind them ready. `c`, `d`: old and new accumulators of
  /// column n.
  template <uint32_t terms, bool kHalf>
  [[gnu::always_inline]] static bool steps(const Constants& s, const Operands& p, const Signs& signs, uint32_t block,
                                           uint32_t n, Place c, const Place& d, const Ready* ready, Ready* next) {
    constexpr uint32_t kSteps = terms * kLong, kLooked = kSteps * 3 / 8;
    constexpr uint32_t kTasks = 1 + kWords;  // a tile's windows, their vectors of words
    static_assert(2 * terms <= UINT8_MAX);   // what is negative, twice, is a byte
    const int8_t* const ea = p.a.exponent8 + block * kTerms;
    const int32_t* eb = p.b.exponent8x4 + Operand::column_at(n + kColumnStep);
    const uint8_t* scalars = p.b.sign + n + kColumnStep;
    const double* va = p.a.value + block * kTerms;
    const double* vb = p.b.value + Operand::column_at(n);
    Extremes extremes;
    c.first += kColumnStep * c.stride;
    const Place behind = c;
    uint32_t v0 = 0;
    for (uint32_t column = 0; column < kColumnStep; ++column) {
      Products products;
      Short low, high;
      each<kLong>([&](auto w) __attribute__((always_inline)) {
        Sums sums;
        hide(va), hide(vb);
        const uint32_t v = v0 + w.value;
        start(s, ready, v, sums);
        each<terms>([&](auto k) __attribute__((always_inline)) {
          constexpr uint32_t kAt = w.value * terms + k.value;
          add_term(va, vb, k.value, sums);
          // The host is told that the accumulators of the columns behind come next: those of many SMs don't fit its
          // inner caches. Behind the last ones lies what is not read.
          spread<kLines, 0, kSteps, kAt>([&](auto i) __attribute__((always_inline)) {
            __builtin_prefetch(c.at(i.value * (kVectors / kLines)) + kColumnStep * c.stride);
          });
          spread<terms, 0, kLooked, kAt>([&](auto i) __attribute__((always_inline)) {
            look_at_term(ea, eb, i.value, products);
          });
          if constexpr (kAt == kLooked) count_negative<terms>(signs, scalars, products);
          spread<kTiles * kTasks, kLooked, kSteps, kAt>([&](auto item) __attribute__((always_inline)) {
            constexpr uint32_t tile = item.value / kTasks, task = item.value % kTasks;
            if constexpr (task == 0) {
              windows(s, products, tile, low, high, extremes);
            } else {
              constexpr uint32_t at = tile * kWords + task - 1;
              make_ready<kHalf>(s, next[column], at, c.at(at), words_of<task - 1>(low, high), extremes);
            }
          });
          pin(sums.first[0], sums.first[1], sums.first[2], sums.first[3]);
          pin(sums.second[0], sums.second[1], sums.second[2], sums.second[3]);
        });
        finish<kHalf>(s, ready, v, d.at(v), d.stride, sums);
        va += kLanes * kTerms;
      });
      v0 += kLong, eb += 1, scalars += 1, c.first += c.stride;
    }
    return plain<kHalf>(s, extremes, next, behind);
  }

  /// Adds the products of columns n to n + 3.
  template <uint32_t terms, bool kHalf>
  static void add(const Constants& s, const Operands& p, uint32_t block, uint32_t n, uint32_t vectors, const Place& d,
                  const Ready* ready) {
    const double* va = p.a.value + block * kTerms;
    const double* const vb = p.b.value + Operand::column_at(n);
    for (uint32_t v = 0; v < vectors; ++v, va += kLanes * kTerms) {
      Sums sums;
      start(s, ready, v, sums);
      for (uint32_t k = 0; k < terms; k += 8)
        each<8>([&](auto i) __attribute__((always_inline)) { add_term(va, vb, k + i.value, sums); });
      finish<kHalf>(s, ready, v, d.at(v), d.stride, sums);
    }
  }

  /// A block of rows.
  template <uint32_t terms, bool kHalf>
  [[gnu::noinline]] static void rows(const MmaTile& t, const Constants& constants, const Operands& p, uint32_t block,
                                     General& general) {
    alignas(64) int32_t zeros[kLanes] = {};  // C where it takes no part
    const Constants s = constants;           // not memory that a store might change
    const uint32_t vectors = t.rows - block < kBlock ? (t.rows - block) / kLanes : kVectors;
    Place d{reinterpret_cast<int32_t*>(t.d), t.column_stride, {}}, c{zeros, 0, {}};
    for (uint32_t v = 0; v < kVectors; ++v) {
      const uint32_t row = block + (v < vectors ? v : 0) * kLanes;
      d.lane[v] = t.lane[row / 16] + row % 16;
    }
    if (t.read_c) c = d;
    Signs signs;
    signs.fill(p.a.sign + block * Operand::kNibbles, terms);
    Ready ready[2][kColumnStep];
    const auto advance = [&](uint32_t& n) {
      n += kColumnStep;
      c.first += kColumnStep * c.stride;
      d.first += kColumnStep * d.stride;
    };
    for (uint32_t n = 0; n < t.columns; advance(n)) {
      uint32_t at = 0;
      bool plain = prepare<terms, kHalf>(s, p, signs, block, n, c, ready[at]);
      for (; plain && vectors == kVectors && n + kColumnStep < t.columns; at ^= 1, advance(n))
        plain = steps<terms, kHalf>(s, p, signs, block, n, c, d, ready[at], ready[at ^ 1]);
      if (plain)
        add<terms, kHalf>(s, p, block, n, vectors, d, ready[at]);
      else if (general.begin())  // it is: no element is an infinity or a NaN
        general.sums(block, block + vectors * kLanes, n);
    }
  }
  template <uint32_t terms, bool kHalf>
  static void tile(const MmaTile& t, const Operands& p, General& general) {
    const Constants s(t, p.a, p.b);
    for (uint32_t block = 0; block < t.rows; block += kBlock) rows<terms, kHalf>(t, s, p, block, general);
  }
};

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
