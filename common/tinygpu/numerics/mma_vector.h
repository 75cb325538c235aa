// The tile evaluated in fixed point, vector lanes over M, scalars over N and K. Included by one translation unit for
// each x86-64 level, which passes its vector operations as V. Nothing here may be an inline function of namespace scope
// that another level also compiles, so everything is a template of V.
//
// Let e be the largest raw exponent of an output's terms and q = 2^(e − 25) its quantum. Each product is multiplied,
// cut and added by one fused multiply-add in f64, rounding toward zero, into an accumulator that starts at 1.5 * 2^52 q
// plus at most 2^32 q, and so always has q as its last place. Why that is exact:
// * 16 products of magnitude below 4 * 2^e move the accumulator by less than 2^31 q: it stays in its binade. It is
//   positive, so that rounding toward zero adds floor(p / q) q for a product p.
// * The model cuts toward zero, which is one q more than floor for a negative p unless q divides p. So every operand is
//   taken one unit in its 53rd bit too large in magnitude (a zero: 2^-255 of the operands' scale, with its sign). This
//   makes |p| larger by less than 2^-50 |p|. p has at most 22 significand bits, so the distance from |p| to the next
//   multiple of q above it is at least 2^-22 |p| and, p being below 2^27 q, more than the error in either case: nothing
//   changes for a positive p, and a negative one always gets one q too little.
// * That one q for each negative product is put into the accumulator beforehand: it is the number of bits in which the
//   signs of A's row and B's column differ. So is C, cut to q by a conversion to int32.
// The low 32 bits of the accumulator then are the sum in units of q, if that is within 31 bits and a sign:
// * 8 products and C are below 8 * 2^27 + 2^26 = 0.53 * 2^31, 16 products alone below 2^31.
// * With C: if the significands of A's row add up to less than 31, those of B being below 2, 16 products are below
//   62 * 2^25 and C below 2 * 2^25. Rows of which that isn't known (`heavy`) are looked at sum by sum: 16 products and
//   C are below 2^31 + 2^26, so a sum that wrapped around is beyond ±(2^31 − 2^26) = ±0x7c000000, or at it.
// Infinities, NaNs and exponents outside the fields used here are left to the wide way (below).
//
// Raw exponents relative to the operand's largest (its base) are kept in signed bytes, at least −64, zeros at −64, so
// that sums of two don't overflow: their maximum is right whenever it is above −64. Where it isn't, and where the
// window would be below the least that q can have as a normal f32, nothing is known but C. An output that has neither a
// product nor C is zero in any window; others that C does not lift above that are left to the wide way.
//
// The wide way multiplies and adds just so, but holds for every operand. Operands are divided by 2^127, whatever they
// are, and a zero is 2^-511, which stays below any quantum; raw exponents are 16 bits wide; the accumulator starts 2^31
// q higher, with C and the negative products' units above or below that as they come, so that subtracting the start
// gives the sum exactly, as an f64, however large. Infinities and NaNs take part as zeros, and every output that has
// one among its terms gets the word that they force. It is a half slower, and is taken by groups of outputs.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_wide.h"

namespace tinygpu::numerics {

template <class V>
struct VectorMma {
  using I = typename V::I;
  using F = typename V::F;
  using D = typename V::D;
  using Wide = WideMma<V>;
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kBytes = 4 * kLanes;  // of a vector
  static constexpr uint32_t kBlock = 64;          // rows for which exponents are computed together
  static constexpr uint32_t kTiles = kBlock / kBytes;
  static constexpr uint32_t kVectors = kBlock / kLanes;
  static constexpr uint32_t kTerms = 16;
  static constexpr uint32_t kColumnStep = 4;
  static constexpr int32_t kOne = 1 << 23;

  static constexpr int kBaseLimit = 60;  // elements of larger raw exponent: wide
  static constexpr int kTop = 122;       // largest e that is handled here: 2^31 q is 2^128
  static constexpr int kBottom = -101;   // least: q is a normal f32
  static constexpr int kLeast = -64;     // relative raw exponent of a zero, and of whatever lies farther below the base
  static constexpr uint32_t kNibbles = 4;  // of a row's sign bits

  /// An operand unpacked, in tiles that are read from end to end: element (k, r) of a tile of T rows at
  /// [r / T * T * kTerms + k * T + r % T]. A, across vector lanes: T is kLanes for values, where rows 0 and 1 of each
  /// four come first and rows 2 and 3 after them; kBytes for exponents and signs, where each 16 bytes hold four rows of
  /// each vector of rows (row r at r % kLanes / 4 * 16 + r / kLanes * 4 + r % 4). B, which is broadcast: T is
  /// kColumnStep, and each exponent fills four bytes.
  struct Panel {
    alignas(64) double value[kTerms * kPlane];  // divided by 2^base, moved away from zero
    alignas(64) int8_t exponent8[kTerms * kPlane];
    alignas(64) uint32_t exponent8x4[kTerms * kPlane];
    alignas(64) uint8_t sign[kNibbles * kPlane];  // four terms' sign bits a byte; B: plane after plane
    alignas(64) int32_t zeros[kPlane];            // a bit for each term, set if the element is zero
    bool special[kPlane];                         // the row has an element for the wide way
    bool any_special;
    bool heavy;  // A: the significands of a row may add up to 31 or more
    int base;
  };
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

  /// False, and the panel is not filled, if all groups will need the wide way: for the infinities and NaNs in this
  /// operand, or because no product reaches up to the windows of which q is normal. `other_base`: the other operand's.
  template <class Word, int kFieldBits, int kFractionBits, int kBias, bool kBroadcast>
  static bool unpack_panel(const Word* planes, uint32_t rows, uint32_t terms, bool flip, int other_base, Panel& p) {
    constexpr int kWordBits = int(sizeof(Word)) * 8;
    constexpr int kField = kWordBits - 1 - kFieldBits;  // its lowest bit
    constexpr int kAll = (1 << kFieldBits) - 1;
    constexpr int kFieldLimit = kBaseLimit + kBias < kAll ? kBaseLimit + kBias + 1 : kAll;  // from here on: wide
    // tf32: the low bits of the f32 word don't count.
    constexpr int32_t kMagnitude =
        int32_t((uint32_t(1) << (kWordBits - 1)) - (uint32_t(1) << (kField - kFractionBits)));
    const I magnitude_mask = V::set(kMagnitude);

    alignas(64) int32_t largest[kPlane];  // magnitude
    alignas(64) int32_t tops[kLanes];
    int32_t top = 0;
    I all = V::zero();
    p.any_special = p.heavy = false;
    for (uint32_t r0 = 0; r0 < rows; r0 += kLanes) {
      I most = V::zero();
      for (uint32_t k = 0; k < terms; ++k)
        most = V::max(most, V::bit_and(V::load_words(planes + size_t(k) * kPlane + r0), magnitude_mask));
      V::store(largest + r0, most);
      all = V::max(all, most);
    }
    // A last vector may reach beyond the rows.
    if (rows % kLanes == 0 && V::all_at_most(all, V::set((kFieldLimit << kField) - 1))) {
      V::store(tops, all);
      for (const int32_t m : tops) top = m > top ? m : top;
      for (uint32_t r = 0; r < rows; ++r) p.special[r] = false;
    } else {
      for (uint32_t r = 0; r < rows; ++r) {
        const bool special = largest[r] >= kFieldLimit << kField;
        p.special[r] = special;
        p.any_special |= special;
        top = !special && largest[r] > top ? largest[r] : top;
      }
    }
    const int32_t top_field = top >> kField ? top >> kField : 1;
    p.base = top ? top_field - kBias : 0;
    if (p.base + other_base < kBottom ||
        (p.any_special && special_everywhere(p, rows, kBroadcast ? kColumnStep : kBlock)))
      return false;

    // f16 words are widened by moving their bits to f32's place, which leaves the value 2^(127 − bias) too small.
    const D scale = V::set_double(__builtin_bit_cast(double, uint64_t(1023 - p.base + 127 - kBias) << 52));
    const D more = V::set_double(__builtin_bit_cast(double, uint64_t(0x3000000000000001)));
    const auto value = [&](D d) { return V::or_double(V::mul_double(d, scale), more); };
    const I sign_flip = V::set(flip ? INT32_MIN : 0), base = V::set(p.base + kBias),
            nibble_flip = V::set(flip ? 15 : 0);
    // A significand is at most 1 and the fraction: what a row's fractions add up to at most if it isn't heavy.
    const I light = V::set(int32_t(31 - terms) * (1 << kField) - 1);
    for (uint32_t r0 = 0; r0 < rows; r0 += kLanes) {
      I signs{}, zeros = V::zero(), fractions = V::zero();
      for (uint32_t k = 0; k < terms; ++k) {
        const I words = V::load_words(planes + size_t(k) * kPlane + r0);
        const I magnitude = V::bit_and(words, magnitude_mask);

        I f32 = words;
        if constexpr (sizeof(Word) == 4)
          f32 = V::bit_and(words, V::set(int32_t(0x80000000u | kMagnitude)));
        else if constexpr (kFieldBits == 8)
          f32 = V::template shl<16>(words);
        else
          f32 = V::bit_or(V::template shl<16>(V::sub(words, magnitude)), V::template shl<13>(magnitude));
        f32 = V::bit_xor(f32, sign_flip);
        if constexpr (kBroadcast) {
          double* to = p.value + r0 * kTerms + k * kColumnStep;
          V::store_fours(to, kTerms * kColumnStep, value(V::low_double(V::as_float(f32))));
          V::store_fours(to + kTerms * kLanes / 2, kTerms * kColumnStep, value(V::high_double(V::as_float(f32))));
        } else {
          const F f = V::in_pairs(V::as_float(f32));
          double* to = p.value + r0 * kTerms + k * kLanes;
          V::store_double(to, value(V::low_double(f)));
          V::store_double(to + kLanes / 2, value(V::high_double(f)));
        }

        const I zero = V::is_zero(magnitude);
        zeros = V::sub(V::add(zeros, zeros), zero);
        if constexpr (!kBroadcast) fractions = V::add(fractions, V::bit_and(magnitude, V::set((1 << kField) - 1)));

        I e = V::min(V::sub(V::max(V::template shr<kField>(magnitude), V::set(1)), base), V::zero());
        e = V::max(V::add(e, V::template shl<9>(zero)), V::set(kLeast));
        if constexpr (kBroadcast)
          V::store_replicated(p.exponent8x4 + r0 * kTerms + k * kColumnStep, kTerms * kColumnStep, e);
        else
          V::store_bytes(p.exponent8 + r0 / kBytes * kBytes * kTerms + k * kBytes + r0 % kBytes / kLanes * 4, e, 16);

        // Four terms' signs, the first in bit 0.
        const I sign = V::template shl<3>(V::template shr<kWordBits - 1>(words));
        signs = k % 4 == 0 ? sign : V::bit_or(V::template shr<1>(signs), sign);
        if (k % 4 == 3) {
          const uint32_t nibble = k / 4;
          const I nibble_signs = V::bit_xor(signs, nibble_flip);
          if constexpr (kBroadcast)
            V::store_bytes(p.sign + nibble * kPlane + r0, nibble_signs, 4);
          else
            V::store_bytes(p.sign + r0 / kBytes * kBytes * kNibbles + nibble * kBytes + r0 % kBytes / kLanes * 4,
                           nibble_signs, 16);
        }
      }
      V::store(p.zeros + r0, zeros);
      if constexpr (!kBroadcast) p.heavy |= !V::all_at_most(fractions, light);
    }
    return true;
  }
  /// Some row of each `step` is special.
  static bool special_everywhere(const Panel& p, uint32_t rows, uint32_t step) {
    for (uint32_t first = 0; first < rows; first += step) {
      bool some = false;
      for (uint32_t r = first; r < rows && r < first + step; ++r) some |= p.special[r];
      if (!some) return false;
    }
    return true;
  }

  /// f16, bf16 or tf32.
  template <bool kBroadcast>
  static bool unpack(Format f, const void* planes, uint32_t rows, uint32_t terms, bool flip, int other_base, Panel& p) {
    const auto* halves = static_cast<const uint16_t*>(planes);
    if (f == Format::f16)
      return unpack_panel<uint16_t, 5, 10, 15, kBroadcast>(halves, rows, terms, flip, other_base, p);
    if (f == Format::bf16)
      return unpack_panel<uint16_t, 8, 7, 127, kBroadcast>(halves, rows, terms, flip, other_base, p);
    const auto* words = static_cast<const uint32_t*>(planes);
    return unpack_panel<uint32_t, 8, 10, 127, kBroadcast>(words, rows, terms, flip, other_base, p);
  }

  /// The wide way's panels, unpacked when they are first needed.
  class WidePanels {
   public:
    explicit WidePanels(const MmaTile& t) : t_(t) {}
    /// Columns n to n + 3 of these vectors of rows, all of one block.
    template <bool kHalf>
    void group(uint32_t block, uint32_t first, uint32_t end, uint32_t n) {
      if (!ready_) {
        Wide::template unpack<false>(t_.a_format, t_.a, t_.rows, t_.terms, t_.negate_a, a_);
        Wide::template unpack<true>(t_.b_format, t_.b, t_.columns, t_.terms, t_.negate_b, b_);
        ready_ = true;
      }
      for (uint32_t pair = first / 2 * 2; pair < end; pair += 2)
        Wide::template group<kHalf>(t_, a_, b_, block + pair * kLanes, first > pair ? first - pair : 0,
                                    end - pair < 2 ? end - pair : 2, n);
    }

   private:
    const MmaTile& t_;
    bool ready_ = false;
    typename Wide::Panel a_, b_;
  };

  /// Numbers of one tile. A window is e + 127 in an f32 word's top byte.
  struct Constants {
    I top8, least8;  // of e + 127 of the products: the most, in each byte; the least of e, relative to both bases
    I lowest, highest, window_mask, count_mask, magnitude, c_scale, power_c, power_result, start, sum_bias, sum_range;
    I every_term;
    I spread[2];
    Constants(const MmaTile& t, const Panel& a, const Panel& b) {
      const int base = a.base + b.base + 127, most = base > 0 ? base : 0;
      const int least = most + kLeast + 1 > kBottom + 127 ? most + kLeast + 1 : kBottom + 127;
      top8 = V::set8(int8_t(most));
      least8 = V::set8(int8_t(least - base < 127 ? least - base : 127));
      lowest = V::set(int32_t(uint32_t(least) << 24));
      highest = V::set(int32_t(uint32_t(kTop + 127) << 24));
      window_mask = V::set(int32_t(0xff000000u));
      count_mask = V::set(0xff);
      magnitude = V::set(0x7fffffff);
      c_scale = V::set(t.c_scale * kOne);
      power_c = V::set(int32_t(uint32_t(25 + 127 + 127) << 23));  // 1 / q = power_c − window / 2
      power_result = V::set(-25 * kOne);                          // q = power_result + window / 2
      // The high word of 1.5 * 2^52 q / 2^base.
      start = V::set(((52 - 25 + 1023 - base) << 20) | 0x80000);
      sum_bias = V::set(0x7c000000);
      sum_range = V::set(int32_t(0xf8000000u));
      every_term = V::set((1 << t.terms) - 1);
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

  /// kBlock rows by four columns, which go through three passes: look_at, begin, products. Each keeps the core's pipes
  /// busy by itself: interleaving them gains nothing.
  struct Group {
    uint32_t block, n, vectors;  // vectors: of rows
    uint32_t* d;
    uint32_t lane[kVectors];
    /// In the order of a panel's rows, pairs of bytes: how many products are negative, the largest exponent of the
    /// products + 127. The first half of each 16 rows, the second half.
    I pairs[kColumnStep][kTiles][2];
    bool low;  // some largest exponent of products may be below what fits the fields, or there may be no product
    I half_window[kColumnStep][kVectors];
    D low_sum[kColumnStep][kVectors], high_sum[kColumnStep][kVectors];
  };

  template <uint32_t terms, C kC, bool kHalf>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b, WidePanels& wide) {
    const Constants s(t, a, b);
    const size_t stride = t.column_stride;
    Group g;
    for (uint32_t& lane : g.lane) lane = 0;
    // Groups that need the wide way come together: the next few take it at once.
    constexpr uint32_t kAgain = 7;
    uint32_t again = 0;
    for (g.block = 0; g.block < t.rows; g.block += kBlock) {
      g.vectors = t.rows - g.block < kBlock ? (t.rows - g.block) / kLanes : kVectors;
      bool special_rows = false;
      for (uint32_t r = 0; r < g.vectors * kLanes; ++r) special_rows |= a.special[g.block + r];
      for (uint32_t v = 0; v < g.vectors; ++v) {
        const uint32_t row = g.block + v * kLanes;
        g.lane[v] = t.lane[row / 16] + row % 16;
      }
      for (g.n = 0; g.n < t.columns; g.n += kColumnStep) {
        bool special = special_rows;
        for (uint32_t j = 0; j < kColumnStep; ++j) special |= b.special[g.n + j];
        if (special || again) [[unlikely]] {
          again -= again ? 1 : 0;
          wide.template group<kHalf>(g.block, 0, g.vectors, g.n);
          continue;
        }
        g.d = t.d + g.n * stride;
        look_at<terms>(s, a, b, g);
        uint32_t beyond = 0;  // a bit for each vector of rows: the wide way does these
        if (g.low || !(g.vectors == kVectors ? begin<kC, kHalf, false, true>(s, a, b, g, stride, beyond)
                                             : begin<kC, kHalf, false, false>(s, a, b, g, stride, beyond)))
          begin<kC, kHalf, true, false>(s, a, b, g, stride, beyond);
        const bool careful = terms == 16 && kC != C::none && a.heavy;
        for (uint32_t v = 0; v < g.vectors; ++v) {
          const double *va = a.value + (g.block + v * kLanes) * kTerms, *vb = b.value + g.n * kTerms;
          if (careful ? !(beyond >> v & 1) && products<terms, kHalf, true>(s, va, vb, g, stride, v)
                      : !(beyond >> v & 1) && products<terms, kHalf, false>(s, va, vb, g, stride, v))
            continue;
          wide.template group<kHalf>(g.block, v, v + 1, g.n);
          again = kAgain;
        }
      }
    }
  }

  /// Keeps the compiler from computing all addresses beforehand, which would cost more registers than there are.
  template <class T>
  static void hide(const T*& p) {
    asm("" : "+r"(p));
  }

  template <uint32_t terms>
  static void look_at(const Constants& s, const Panel& a, const Panel& b, Group& g) {
    const int8_t* ea = a.exponent8 + g.block * kTerms;
    const uint32_t* eb = b.exponent8x4 + g.n * kTerms;
    hide(ea), hide(eb);
    const I none = V::set8(2 * kLeast);
    I most[kColumnStep][kTiles];
    for (uint32_t j = 0; j < kColumnStep; ++j)
      for (uint32_t i = 0; i < kTiles; ++i) most[j][i] = none;
#pragma GCC unroll 16
    for (uint32_t k = 0; k < terms; ++k) {
      I e[kTiles];
      for (uint32_t i = 0; i < kTiles; ++i) e[i] = V::load8(ea + i * kBytes * kTerms + k * kBytes);
      for (uint32_t j = 0; j < kColumnStep; ++j) {
        const I scalar = V::broadcast8(eb + k * kColumnStep + j);
        for (uint32_t i = 0; i < kTiles; ++i) most[j][i] = V::max8(most[j][i], V::add8(e[i], scalar));
      }
    }
    // In how many terms the signs differ.
    I least = most[0][0];
    for (uint32_t j = 0; j < kColumnStep; ++j) {
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
      for (uint32_t i = 0; i < kTiles; ++i) {
        const I largest = V::subs8_unsigned(s.top8, V::sub8(V::zero(), most[j][i]));
        g.pairs[j][i][0] = V::interleave8_low(count[i], largest);
        g.pairs[j][i][1] = V::interleave8_high(count[i], largest);
        least = V::min8(least, most[j][i]);
      }
    }
    g.low = V::any_below8(least, s.least8);
  }

  /// The windows of a group, C cut to them, the accumulators' start. False: some window is beyond what fits the fields.
  /// Carefully: marks the rows of those instead, and of those too small, in `beyond`.
  template <C kC, bool kHalf, bool kCarefully, bool kFull>
  static bool begin(const Constants& s, const Panel& a, const Panel& b, Group& g, size_t stride, uint32_t& beyond) {
    uint32_t lane[kVectors];
    for (uint32_t v = 0; v < kVectors; ++v) lane[v] = g.lane[v];
    const uint32_t* d = g.d;
    I largest = V::zero();
    for (uint32_t j = 0; j < kColumnStep; ++j, d += stride) {
#pragma GCC unroll 8
      for (uint32_t v = 0; v < kVectors; ++v) {
        if (!kFull && v >= g.vectors) break;
        const I pair = V::shuffle8(g.pairs[j][v / 4][v % 4 / 2], s.spread[v % 2]);
        I word = V::zero(), magnitude = V::zero();  // of C
        F c{};
        if constexpr (kC != C::none) {
          word = magnitude = V::load(reinterpret_cast<const int32_t*>(d + lane[v]));
          if constexpr (kHalf) {
            c = V::from_half(word);
            magnitude = V::half_field(word);
          } else {
            c = V::as_float(word);
          }
          if constexpr (kC == C::scaled) {
            const I field = V::set(0x7f800000);
            const I special = V::is_zero(V::bit_and(V::bit_xor(magnitude, field), field));
            magnitude = V::max(V::sub(V::bit_and(magnitude, s.magnitude), s.c_scale), V::bit_and(special, field));
          }
        }
        I w = V::bit_and(V::max_unsigned(pair, V::add(magnitude, magnitude)), s.window_mask);
        if constexpr (kCarefully) {
          // Where there is neither a product nor C, any window will do.
          const I zeros = V::bit_or(V::load(a.zeros + g.block + v * kLanes), V::set(b.zeros[g.n + j]));
          const I c_magnitude = V::bit_and(word, V::set(kHalf ? 0x7fff : 0x7fffffff));
          const I nothing = V::is_zero(V::bit_or(V::bit_xor(zeros, s.every_term), c_magnitude));
          w = V::max_unsigned(w, V::bit_and(nothing, s.lowest));
          if (!V::all_at_most(V::sub(w, s.lowest), V::sub(s.highest, s.lowest))) beyond |= 1u << v;
        } else {
          largest = V::max_unsigned(largest, w);
        }
        const I half_window = V::template shr<1>(w);
        I low = V::bit_and(pair, s.count_mask);
        if constexpr (kC != C::none) {
          I power = V::sub(s.power_c, half_window);
          if constexpr (kC == C::scaled) power = V::sub(power, s.c_scale);
          low = V::add(low, V::truncate(V::mul(c, V::as_float(power))));
        }
        const I start = V::add(V::template shr<4>(w), s.start);
        g.half_window[j][v] = half_window;
        g.low_sum[j][v] = V::pair_low(low, start);
        g.high_sum[j][v] = V::pair_high(low, start);
      }
    }
    return kCarefully || V::all_at_most(largest, s.highest);
  }

  /// Adds the products of one vector of rows, rounds and stores. Carefully: false, and nothing stored, if some sum
  /// wrapped around. Named accumulators: arrays would live in memory.
  template <uint32_t terms, bool kHalf, bool kCarefully>
  static bool products(const Constants& s, const double* va, const double* vb, const Group& g, size_t stride,
                       uint32_t v) {
    D l0 = g.low_sum[0][v], l1 = g.low_sum[1][v], l2 = g.low_sum[2][v], l3 = g.low_sum[3][v];
    D h0 = g.high_sum[0][v], h1 = g.high_sum[1][v], h2 = g.high_sum[2][v], h3 = g.high_sum[3][v];
    hide(va), hide(vb);
#pragma GCC unroll 16
    for (uint32_t k = 0; k < terms; ++k) {
      const D low = V::load_double(va + k * kLanes), high = V::load_double(va + k * kLanes + kLanes / 2);
      const double* scalars = vb + k * kColumnStep;
      const D x0 = V::broadcast_double(scalars);
      l0 = V::fma(low, x0, l0), h0 = V::fma(high, x0, h0);
      const D x1 = V::broadcast_double(scalars + 1);
      l1 = V::fma(low, x1, l1), h1 = V::fma(high, x1, h1);
      const D x2 = V::broadcast_double(scalars + 2);
      l2 = V::fma(low, x2, l2), h2 = V::fma(high, x2, h2);
      const D x3 = V::broadcast_double(scalars + 3);
      l3 = V::fma(low, x3, l3), h3 = V::fma(high, x3, h3);
      V::pin(l0, h0, l1, h1, l2, h2, l3, h3);
    }
    const I sums[kColumnStep] = {V::low_words(l0, h0), V::low_words(l1, h1), V::low_words(l2, h2),
                                 V::low_words(l3, h3)};
    if constexpr (kCarefully)
      for (const I& sum : sums)
        if (!V::all_at_most(V::add(sum, s.sum_bias), s.sum_range)) return false;
    uint32_t* d = g.d + g.lane[v];
#pragma GCC unroll 4
    for (uint32_t j = 0; j < kColumnStep; ++j, d += stride) {
      const F power = V::as_float(V::add(g.half_window[j][v], s.power_result));
      if constexpr (kHalf)
        V::store(reinterpret_cast<int32_t*>(d), V::to_half(sums[j], power));
      else
        V::store(reinterpret_cast<int32_t*>(d), V::as_int(V::mul(V::to_float(sums[j]), power)));
    }
    return true;
  }

  template <uint32_t terms>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b, WidePanels& wide) {
    if (!t.read_c)
      tile<terms, C::none>(t, a, b, wide);
    else if (t.c_scale == 0)
      tile<terms, C::plain>(t, a, b, wide);
    else
      tile<terms, C::scaled>(t, a, b, wide);
  }
  template <uint32_t terms, C kC>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b, WidePanels& wide) {
    if (t.rule.result == SumRule::Result::f16_nearest)
      tile<terms, kC, true>(t, a, b, wide);
    else
      tile<terms, kC, false>(t, a, b, wide);
  }

  /// The wide way for all.
  static void run_wide(const MmaTile& t, WidePanels& wide) {
    for (uint32_t block = 0; block < t.rows; block += kBlock) {
      const uint32_t vectors = t.rows - block < kBlock ? (t.rows - block) / kLanes : kVectors;
      for (uint32_t n = 0; n < t.columns; n += kColumnStep) {
        if (t.rule.result == SumRule::Result::f16_nearest)
          wide.template group<true>(block, 0, vectors, n);
        else
          wide.template group<false>(block, 0, vectors, n);
      }
    }
  }

  static bool run(const MmaTile& t) {
    if (!Wide::knows(t)) return false;
    WidePanels wide(t);
    const auto narrow = [](Format f) { return f == Format::e4m3 || f == Format::e5m2; };
    bool all_wide = t.rule.window != 25 || narrow(t.a_format) || narrow(t.b_format) || (t.terms != 16 && t.terms != 8);
    Panel a, b;
    all_wide = all_wide || !unpack<false>(t.a_format, t.a, t.rows, t.terms, t.negate_a, 0, a) ||
               !unpack<true>(t.b_format, t.b, t.columns, t.terms, t.negate_b, a.base, b);
    const unsigned saved = V::round_toward_zero();
    if (all_wide)
      run_wide(t, wide);
    else if (t.terms == 16)
      tile<16>(t, a, b, wide);
    else
      tile<8>(t, a, b, wide);
    V::restore(saved);
    return true;
  }
};

}  // namespace tinygpu::numerics
