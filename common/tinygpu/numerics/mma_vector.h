// The tile evaluated in fixed point, vector lanes over M, scalars over N and K. Included by one translation unit for
// each x86-64 level, which passes its vector operations as V. Nothing here may be an inline function of namespace scope
// that another level also compiles, so everything is a template of V.
//
// Why it is exact. Let an operand row's base be its largest raw exponent; values are stored divided by 2^base, so that
// every product is an exact f32 (at most 22 significand bits) of raw exponent at most 0. With e the largest raw
// exponent of an output's terms, relative to both bases, adding 25 − e to a product's exponent field and converting to
// int32 with truncation is the cut toward zero to 25 fraction bits. A sum of 16 products is below 16 * 4 * 2^25 = 2^31;
// C can take it past that, which is seen and left to the scalar model, like infinities, NaNs, and exponents outside the
// fields used here. Raw exponents relative to the bases fit in signed bytes with saturation: the maximum is right
// whenever it is above −128.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {

template <class V>
struct VectorMma {
  using I = typename V::I;
  using F = typename V::F;
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kBlock = 4 * kLanes;  // rows for which exponents are computed together
  static constexpr uint32_t kTerms = 16;
  static constexpr int kColumnStep = 4;
  static constexpr uint32_t kVectors = 4;  // of a block

  static constexpr uint8_t kNoProduct = 25 + 128;  // what 25 − e is when e is −128, the least it can be
  static constexpr int kBaseLimit = 48;            // |base| beyond: scalar

  /// An operand unpacked, in tiles that are read from end to end: element (k, r) of a tile of T rows at
  /// [r / T * T * kTerms + k * T + r % T]. A, across vector lanes: T is kLanes for values, kBlock for exponents. B,
  /// which is broadcast: T is kColumnStep, and each exponent fills four bytes.
  struct Panel {
    alignas(64) float value[kTerms * kPlane];
    alignas(64) int8_t exponent8[kTerms * kPlane];
    alignas(64) uint32_t exponent8x4[kTerms * kPlane];
    alignas(64) int32_t base[kPlane];  // as an f32 exponent field in place: unbiased for A, biased and 25 more for B
    alignas(64) int32_t flags[kPlane];
    bool any_special;
    int least_base;  // unbiased
  };
  enum class C { none, plain, scaled };  // how the old accumulator takes part
  enum Flag : int32_t {
    kSpecial = 1,
    kWide = 2
  };  // kWide: some non-zero element lies more than 2^63 below the largest

  template <class Word, int kFieldBits, int kFractionBits, int kBias, bool kBroadcast>
  static void unpack_panel(const Word* planes, uint32_t rows, uint32_t terms, bool flip, Panel& p) {
    constexpr int32_t kAll = (1 << kFieldBits) - 1;
    constexpr int kDrop = sizeof(Word) == 4 ? 13 : 0;  // tf32: low bits of the f32 word
    constexpr uint32_t kMagnitude = (uint32_t(kAll) << kFractionBits | ((1u << kFractionBits) - 1));
    alignas(64) int32_t largest[kPlane], smallest[kPlane], special[kPlane];
    for (uint32_t r = 0; r < rows; ++r) largest[r] = 0, smallest[r] = 512, special[r] = 0;
    for (uint32_t k = 0; k < terms; ++k) {
      const Word* w = planes + size_t(k) * kPlane;
      for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t bits = uint32_t(w[r]) >> kDrop;
        const int32_t field = int32_t(bits >> kFractionBits) & kAll;
        const int32_t raw = (bits & kMagnitude) ? (field > 1 ? field : 1) : 0;
        largest[r] = raw > largest[r] ? raw : largest[r];
        const int32_t low = raw ? raw : 512;
        smallest[r] = low < smallest[r] ? low : smallest[r];
        special[r] |= field == kAll;
      }
    }
    int32_t any = 0, least = kBaseLimit;
    alignas(64) float scale[kPlane];
    for (uint32_t r = 0; r < rows; ++r) {
      const int32_t base = largest[r] ? largest[r] - kBias : 0;
      const bool outside = base > kBaseLimit || base < -kBaseLimit;
      const int32_t used = outside ? 0 : base;
      p.base[r] = int32_t(uint32_t(used + (kBroadcast ? 127 + 25 : 0)) << 23);
      p.flags[r] = (special[r] | outside ? kSpecial : 0) | (largest[r] - smallest[r] > 63 ? kWide : 0);
      any |= special[r] | outside;
      least = used < least ? used : least;
      // f16 words are widened by moving their bits to f32's place, which leaves the value 2^(127 − bias) too small.
      const int32_t power = 127 - used + (127 - kBias);
      scale[r] = __builtin_bit_cast(float, uint32_t(power) << 23);
    }
    p.any_special = any;
    p.least_base = least;
    const uint32_t sign_flip = flip ? 0x80000000u : 0;
    constexpr uint32_t kValueTile = kBroadcast ? uint32_t(kColumnStep) : kLanes;
    for (uint32_t r0 = 0; r0 < rows; r0 += kValueTile)
      for (uint32_t k = 0; k < terms; ++k) {
        const Word* w = planes + size_t(k) * kPlane + r0;
        float* value = p.value + r0 * kTerms + k * kValueTile;
        for (uint32_t r = 0; r < kValueTile; ++r) {
          const uint32_t bits = uint32_t(w[r]) >> kDrop << kDrop;
          uint32_t word;
          if constexpr (sizeof(Word) == 4)
            word = bits;
          else if constexpr (kFieldBits == 8)
            word = bits << 16;
          else
            word = (bits & 0x8000u) << 16 | (bits & 0x7fffu) << 13;
          value[r] = __builtin_bit_cast(float, word ^ sign_flip) * scale[r0 + r];
        }
      }
    constexpr uint32_t kExponentTile = kBroadcast ? uint32_t(kColumnStep) : kBlock;
    for (uint32_t r0 = 0; r0 < rows; r0 += kExponentTile)
      for (uint32_t k = 0; k < terms; ++k) {
        const Word* w = planes + size_t(k) * kPlane + r0;
        const size_t at = r0 * kTerms + k * kExponentTile;
        for (uint32_t r = 0; r < kExponentTile; ++r) {
          const uint32_t bits = uint32_t(w[r]) >> kDrop;
          const int32_t field = int32_t(bits >> kFractionBits) & kAll;
          int32_t e = (field > 1 ? field : 1) - largest[r0 + r];
          e = (bits & kMagnitude) && e > -128 ? e : -128;
          if constexpr (kBroadcast)
            p.exponent8x4[at + r] = uint32_t(e & 0xff) * 0x01010101u;
          else
            p.exponent8[at + r] = int8_t(e);
        }
      }
  }

  template <bool kBroadcast>
  static bool unpack(Format f, const void* planes, uint32_t rows, uint32_t terms, bool flip, Panel& p) {
    const auto* halves = static_cast<const uint16_t*>(planes);
    if (f == Format::f16)
      unpack_panel<uint16_t, 5, 10, 15, kBroadcast>(halves, rows, terms, flip, p);
    else if (f == Format::bf16)
      unpack_panel<uint16_t, 8, 7, 127, kBroadcast>(halves, rows, terms, flip, p);
    else if (f == Format::tf32)
      unpack_panel<uint32_t, 8, 10, 127, kBroadcast>(static_cast<const uint32_t*>(planes), rows, terms, flip, p);
    else
      return false;
    return true;
  }

  /// What the scalar model has to do, or the two common cases in which there is nothing to add up.
  static uint32_t element(const MmaTile& t, const Panel& a, const Panel& b, uint32_t m, uint32_t n, bool least,
                          uint32_t c) {
    const bool half = t.rule.result == SumRule::Result::f16_nearest;
    if (half) c &= 0xffff;
    const bool no_product = least && !((a.flags[m] | b.flags[n]) & (kSpecial | kWide));
    if (no_product && !half && t.c_scale == 0) {
      if (!t.read_c) return 0;
      if ((c & 0x7f800000u) != 0x7f800000u) return c & 0x7fffffffu ? c : 0;
    }
    return mma_element(t, m, n, c);
  }

  // Exponents below are fields of f32 words (at bit 23), so that they combine with C's own. With e the largest of an
  // output's exponents, `shift` is 25 − e relative to the bases and x = 25 − e as a power of two to scale C by. A block
  // is four vectors of rows by four columns; it goes through three passes, each wide enough to hide the latency of its
  // operations.
  template <uint32_t terms, C kC, bool kHalf>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b) {
    constexpr int32_t kOne = 1 << 23;
    constexpr bool kReadC = kC != C::none;
    const I scale_top = V::set(int32_t(279u << 23)), output_top = V::set(int32_t(254u << 23));
    // 25 − e, the shift, may be 0 to 125 (products then stay normal f32), and 2^(e − 25), the output's quantum, must be
    // a normal f32, for the least bases that occur; the largest are limited so that C's field can't overflow here.
    const int least = a.least_base + b.least_base + 127;
    const I shift_limit = V::set((least - 1 < 125 ? least - 1 : 125) * kOne);
    const I sum_bias = V::set(0x7c000000), sum_range = V::set(int32_t(0xf8000000u));
    const I field_mask = V::set(0x7f800000);
    const I c_scale = V::set(t.c_scale * kOne);
    alignas(64) uint8_t window[kColumnStep][kBlock];  // 25 − the largest exponent of the products
    I x[kVectors][kColumnStep], shift[kVectors][kColumnStep], sum[kVectors][kColumnStep];

    for (uint32_t n0 = 0; n0 < t.columns; n0 += 64) {
      const uint32_t n1 = n0 + 64 < t.columns ? n0 + 64 : t.columns;
      for (uint32_t block = 0; block < t.rows; block += kBlock) {
        const uint32_t vectors = t.rows - block < kBlock ? (t.rows - block) / kLanes : kVectors;
        uint32_t lane[kVectors] = {};
        for (uint32_t v = 0; v < vectors; ++v) lane[v] = t.lane[(block + v * kLanes) / 16] + (block + v * kLanes) % 16;
        for (uint32_t n = n0; n < n1; n += kColumnStep) {
          largest_exponents<terms>(a.exponent8 + block * kTerms, b.exponent8x4 + n * kTerms, window);
          uint32_t* column[kColumnStep];
          for (int j = 0; j < kColumnStep; ++j) column[j] = t.d + size_t(n + uint32_t(j)) * t.column_stride;

          // Window of each output, and C in it.
          I worst_shift = V::zero(), worst_sum = V::zero();
          for (int j = 0; j < kColumnStep; ++j) {
            const I column_base = V::broadcast_int(b.base + n + j);
            for (uint32_t v = 0; v < vectors; ++v) {
              const I bases = V::add(V::load(a.base + block + v * kLanes), column_base);  // and 25
              I s = V::shl23(V::widen8(window[j] + v * kLanes));
              F c{};
              if constexpr (kReadC) {
                const I word = V::load(reinterpret_cast<const int32_t*>(column[j] + lane[v]));
                I field;
                if constexpr (kHalf) {
                  c = V::from_half(word);
                  field = V::half_field(word);
                } else {
                  c = V::as_float(word);
                  field = V::bit_and(word, field_mask);
                }
                if constexpr (kC == C::scaled) field = V::sub(field, c_scale);
                s = V::min(s, V::sub(bases, field));
              }
              shift[v][j] = s;
              x[v][j] = V::add(s, V::sub(scale_top, bases));
              worst_shift = V::max_unsigned(worst_shift, s);
              if constexpr (kReadC)
                sum[v][j] = V::truncate(V::mul(c, V::as_float(kC == C::scaled ? V::sub(x[v][j], c_scale) : x[v][j])));
              else
                sum[v][j] = V::zero();
            }
          }
          uint32_t scalar = 0;  // bit v: these rows can't be done here
          if (!V::all_at_most(worst_shift, shift_limit))
            for (uint32_t v = 0; v < vectors; ++v)
              for (int j = 0; j < kColumnStep; ++j)
                if (!V::all_at_most(shift[v][j], shift_limit)) scalar |= 1u << v;

          for (uint32_t v = 0; v < vectors; ++v)
            products<terms>(a.value + (block + v * kLanes) * kTerms, b.value + n * kTerms, shift[v], sum[v]);

          if constexpr (kReadC) {
            for (uint32_t v = 0; v < vectors; ++v)
              for (int j = 0; j < kColumnStep; ++j) worst_sum = V::max_unsigned(worst_sum, V::add(sum[v][j], sum_bias));
            if (!V::all_at_most(worst_sum, sum_range))
              for (uint32_t v = 0; v < vectors; ++v)
                for (int j = 0; j < kColumnStep; ++j)
                  if (!V::all_at_most(V::add(sum[v][j], sum_bias), sum_range)) scalar |= 1u << v;
          }
          for (uint32_t v = 0; v < vectors; ++v) {
            if (scalar >> v & 1) {
              scalar_block(t, a, b, block + v * kLanes, n, window, v * kLanes, column, lane[v]);
              continue;
            }
            for (int j = 0; j < kColumnStep; ++j) {
              const F power = V::as_float(V::sub(output_top, x[v][j]));
              I word;
              if constexpr (kHalf)
                word = V::to_half(sum[v][j], power);
              else
                word = V::as_int(V::mul(V::to_float(sum[v][j]), power));
              V::store(reinterpret_cast<int32_t*>(column[j] + lane[v]), word);
            }
          }
        }
      }
    }
  }

  /// For kBlock rows and four columns: the largest sum of exponents over K.
  template <uint32_t terms>
  static void largest_exponents(const int8_t* ea, const uint32_t* eb, uint8_t (*out)[kBlock]) {
    const auto first = V::load8(ea);
    auto m0 = V::adds8(first, V::broadcast8(eb)), m1 = V::adds8(first, V::broadcast8(eb + 1)),
         m2 = V::adds8(first, V::broadcast8(eb + 2)), m3 = V::adds8(first, V::broadcast8(eb + 3));
#pragma GCC unroll 16
    for (uint32_t k = 1; k < terms; ++k) {
      const auto e = V::load8(ea + k * kBlock);
      const uint32_t* s = eb + k * kColumnStep;
      m0 = V::max8(m0, V::adds8(e, V::broadcast8(s)));
      m1 = V::max8(m1, V::adds8(e, V::broadcast8(s + 1)));
      m2 = V::max8(m2, V::adds8(e, V::broadcast8(s + 2)));
      m3 = V::max8(m3, V::adds8(e, V::broadcast8(s + 3)));
    }
    const auto top = V::set8(25);
    V::store8(out[0], V::sub8(top, m0));
    V::store8(out[1], V::sub8(top, m1));
    V::store8(out[2], V::sub8(top, m2));
    V::store8(out[3], V::sub8(top, m3));
  }

  static I cut(F value, const float* scalar, I shift) {
    return V::truncate(V::as_float(V::add(V::as_int(V::mul(value, V::broadcast(scalar))), shift)));
  }

  /// Adds the cut products of one vector of rows and four columns. Named accumulators: arrays would live in memory.
  template <uint32_t terms>
  static void products(const float* va, const float* vb, const I* shift, I* sum) {
    const I h0 = shift[0], h1 = shift[1], h2 = shift[2], h3 = shift[3];
    I s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
#pragma GCC unroll 16
    for (uint32_t k = 0; k < terms; ++k) {
      const F value = V::load_float(va + k * kLanes);
      const float* scalars = vb + k * kColumnStep;
      s0 = V::add(s0, cut(value, scalars, h0));
      s1 = V::add(s1, cut(value, scalars + 1, h1));
      s2 = V::add(s2, cut(value, scalars + 2, h2));
      s3 = V::add(s3, cut(value, scalars + 3, h3));
      V::pin(s0);
      V::pin(s1);
      V::pin(s2);
      V::pin(s3);
    }
    sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
  }

  /// Elements by the scalar model. Tiles padded with zeros have whole vectors without a product: those are told apart
  /// first.
  static void scalar_block(const MmaTile& t, const Panel& a, const Panel& b, uint32_t row, uint32_t n,
                           const uint8_t (*window)[kBlock], uint32_t sub, uint32_t* const* column, uint32_t lane) {
    const bool plain = t.rule.result != SumRule::Result::f16_nearest && t.c_scale == 0;
    for (int j = 0; j < kColumnStep; ++j) {
      uint32_t* d = column[j] + lane;
      int32_t flags = b.flags[n + uint32_t(j)], busy = 0, infinite = 0;
      for (uint32_t i = 0; i < kLanes; ++i) {
        flags |= a.flags[row + i];
        busy |= window[j][sub + i] ^ kNoProduct;
        infinite |= (d[i] & 0x7f800000u) == 0x7f800000u;
      }
      if (plain && !busy && !(flags & (kSpecial | kWide)) && !(t.read_c && infinite)) {
        for (uint32_t i = 0; i < kLanes; ++i) d[i] = t.read_c && (d[i] & 0x7fffffffu) ? d[i] : 0;
        continue;
      }
      for (uint32_t i = 0; i < kLanes; ++i)
        d[i] = element(t, a, b, row + i, n + uint32_t(j), window[j][sub + i] == kNoProduct, d[i]);
    }
  }

  /// A special row or column makes garbage of the fixed point: those elements are kept aside and done by the scalar
  /// model.
  static void special_elements(const MmaTile& t, const Panel& a, const Panel& b, const uint32_t* old) {
    for (uint32_t n = 0; n < t.columns; ++n)
      for (uint32_t m = 0; m < t.rows; ++m)
        if ((a.flags[m] | b.flags[n]) & kSpecial) {
          const uint32_t c = old[size_t(n) * t.rows + m];
          t.d[size_t(n) * t.column_stride + t.lane[m / 16] + m % 16] =
              mma_element(t, m, n, t.rule.result == SumRule::Result::f16_nearest ? c & 0xffff : c);
        }
  }

  template <uint32_t terms>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b) {
    if (!t.read_c)
      tile<terms, C::none>(t, a, b);
    else if (t.c_scale == 0)
      tile<terms, C::plain>(t, a, b);
    else
      tile<terms, C::scaled>(t, a, b);
  }
  template <uint32_t terms, C kC>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b) {
    if (t.rule.result == SumRule::Result::f16_nearest)
      tile<terms, kC, true>(t, a, b);
    else
      tile<terms, kC, false>(t, a, b);
  }

  static bool run(const MmaTile& t) {
    if (t.rule.window != 25 || t.rule.result == SumRule::Result::f32_14_bits || (t.terms != 16 && t.terms != 8))
      return false;
    Panel a, b;
    if (!unpack<false>(t.a_format, t.a, t.rows, t.terms, t.negate_a, a)) return false;
    if (!unpack<true>(t.b_format, t.b, t.columns, t.terms, t.negate_b, b)) return false;
    uint32_t* old = nullptr;
    if (a.any_special || b.any_special) {
      old = new uint32_t[size_t(t.rows) * t.columns];
      for (uint32_t n = 0; n < t.columns; ++n)
        for (uint32_t m = 0; m < t.rows; ++m)
          old[size_t(n) * t.rows + m] = t.d[size_t(n) * t.column_stride + t.lane[m / 16] + m % 16];
    }
    const unsigned saved = V::round_toward_zero();
    if (t.terms == 16)
      tile<16>(t, a, b);
    else
      tile<8>(t, a, b);
    V::restore(saved);
    if (old) {
      special_elements(t, a, b, old);
      delete[] old;
    }
    return true;
  }
};

}  // namespace tinygpu::numerics
