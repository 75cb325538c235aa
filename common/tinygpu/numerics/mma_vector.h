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
  static constexpr uint32_t kPanel =
      kPlane + 16;  // elements from one k to the next: a stride that spreads over the cache
  static constexpr int kColumnStep = 4;

  static constexpr int kBaseLimit = 63;  // |base| beyond: scalar

  /// An operand unpacked. Vector operands use `exponent8`, broadcast ones `exponent8x4`.
  struct Panel {
    alignas(64) float value[kTerms * kPanel];
    alignas(64) int8_t exponent8[kTerms * kPanel];
    alignas(64) uint32_t exponent8x4[kTerms * kPanel];
    alignas(64) int32_t base[kPlane];  // unbiased
    alignas(64) int32_t flags[kPlane];
    bool any_special;
  };
  enum Flag : int32_t {
    kSpecial = 1,
    kWide = 2
  };  // kWide: some non-zero element lies more than 2^63 below the largest

  template <class Word, int kFieldBits, int kFractionBits, int kBias>
  static void unpack_panel(const Word* planes, uint32_t rows, uint32_t terms, bool flip, bool broadcast, Panel& p) {
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
    int32_t any = 0;
    alignas(64) float scale[kPlane];
    for (uint32_t r = 0; r < rows; ++r) {
      const int32_t base = largest[r] ? largest[r] - kBias : 0;
      const bool outside = base > kBaseLimit || base < -kBaseLimit;
      p.base[r] = outside ? 0 : base;
      p.flags[r] = (special[r] | outside ? kSpecial : 0) | (largest[r] - smallest[r] > 63 ? kWide : 0);
      any |= special[r] | outside;
      // f16 words are widened by moving their bits to f32's place, which leaves the value 2^(127 − bias) too small.
      const int32_t power = 127 - p.base[r] + (127 - kBias);
      scale[r] = __builtin_bit_cast(float, uint32_t(power) << 23);
    }
    p.any_special = any;
    const uint32_t sign_flip = flip ? 0x80000000u : 0;
    for (uint32_t k = 0; k < terms; ++k) {
      const Word* w = planes + size_t(k) * kPlane;
      float* value = p.value + size_t(k) * kPanel;
      for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t bits = uint32_t(w[r]) >> kDrop << kDrop;
        uint32_t word;
        if constexpr (sizeof(Word) == 4)
          word = bits;
        else if constexpr (kFieldBits == 8)
          word = bits << 16;
        else
          word = (bits & 0x8000u) << 16 | (bits & 0x7fffu) << 13;
        value[r] = __builtin_bit_cast(float, word ^ sign_flip) * scale[r];
      }
      int8_t* e8 = p.exponent8 + size_t(k) * kPanel;
      for (uint32_t r = 0; r < rows; ++r) {
        const uint32_t bits = uint32_t(w[r]) >> kDrop;
        const int32_t field = int32_t(bits >> kFractionBits) & kAll;
        int32_t e = (field > 1 ? field : 1) - largest[r];
        e = (bits & kMagnitude) && e > -128 ? e : -128;
        e8[r] = int8_t(e);
      }
      if (broadcast) {
        uint32_t* e32 = p.exponent8x4 + size_t(k) * kPanel;
        for (uint32_t r = 0; r < rows; ++r) e32[r] = uint8_t(e8[r]) * 0x01010101u;
      }
    }
  }

  static bool unpack(Format f, const void* planes, uint32_t rows, uint32_t terms, bool flip, bool broadcast, Panel& p) {
    switch (f) {
      case Format::f16:
        unpack_panel<uint16_t, 5, 10, 15>(static_cast<const uint16_t*>(planes), rows, terms, flip, broadcast, p);
        return true;
      case Format::bf16:
        unpack_panel<uint16_t, 8, 7, 127>(static_cast<const uint16_t*>(planes), rows, terms, flip, broadcast, p);
        return true;
      case Format::tf32:
        unpack_panel<uint32_t, 8, 10, 127>(static_cast<const uint32_t*>(planes), rows, terms, flip, broadcast, p);
        return true;
      default: return false;
    }
  }

  /// What the scalar model has to do, or the two common cases in which there is nothing to add up.
  static uint32_t element(const MmaTile& t, const Panel& a, const Panel& b, uint32_t m, uint32_t n, int8_t largest,
                          uint32_t c) {
    const bool half = t.rule.result == SumRule::Result::f16_nearest;
    if (half) c &= 0xffff;
    const bool no_product = largest == -128 && !((a.flags[m] | b.flags[n]) & (kSpecial | kWide));
    if (no_product && !half && t.c_scale == 0) {
      if (!t.read_c) return 0;
      if ((c & 0x7f800000u) != 0x7f800000u) return c & 0x7fffffffu ? c : 0;
    }
    return mma_element(t, m, n, c);
  }

  // Exponents below are fields of f32 words (biased, at bit 23), so that they combine with C's own.
  template <uint32_t terms, bool kReadC, bool kHalf>
  static void tile(const MmaTile& t, const Panel& a, const Panel& b) {
    constexpr int32_t kOne = 1 << 23;
    const I window_top = V::set(int32_t(279u << 23));
    const I output_top = V::set(int32_t(254u << 23));
    const I shift_limit = V::set(125 * kOne), exponent_low = V::set(26 * kOne), exponent_range = V::set(221 * kOne);
    const I sum_bias = V::set(0x7c000000), sum_range = V::set(int32_t(0xf8000000u));
    const I field_mask = V::set(0x7f800000);
    const I c_scale = V::set(t.c_scale * kOne);
    alignas(64) int8_t largest[kColumnStep][kBlock];

    for (uint32_t n0 = 0; n0 < t.columns; n0 += 64) {
      const uint32_t n1 = n0 + 64 < t.columns ? n0 + 64 : t.columns;
      for (uint32_t block = 0; block < t.rows; block += kBlock)
        for (uint32_t n = n0; n < n1; n += kColumnStep) {
          {
            const auto ea = V::load8(a.exponent8 + block);
            auto m0 = V::adds8(ea, V::broadcast8(b.exponent8x4 + n)),
                 m1 = V::adds8(ea, V::broadcast8(b.exponent8x4 + n + 1)),
                 m2 = V::adds8(ea, V::broadcast8(b.exponent8x4 + n + 2)),
                 m3 = V::adds8(ea, V::broadcast8(b.exponent8x4 + n + 3));
#pragma GCC unroll 16
            for (uint32_t k = 1; k < terms; ++k) {
              const auto e = V::load8(a.exponent8 + k * kPanel + block);
              const uint32_t* s = b.exponent8x4 + k * kPanel + n;
              m0 = V::max8(m0, V::adds8(e, V::broadcast8(s)));
              m1 = V::max8(m1, V::adds8(e, V::broadcast8(s + 1)));
              m2 = V::max8(m2, V::adds8(e, V::broadcast8(s + 2)));
              m3 = V::max8(m3, V::adds8(e, V::broadcast8(s + 3)));
            }
            V::store8(largest[0], m0);
            V::store8(largest[1], m1);
            V::store8(largest[2], m2);
            V::store8(largest[3], m3);
          }
          for (uint32_t sub = 0; sub < kBlock && block + sub < t.rows; sub += kLanes) {
            const uint32_t row = block + sub;
            const uint32_t lane = t.lane[row / 16] + row % 16;
            uint32_t* cells[kColumnStep];
            I x[kColumnStep], shift[kColumnStep], sum[kColumnStep];
            I worst_shift = V::zero(), worst_exponent = V::zero(), worst_sum = V::zero();
            const I row_base = V::shl23(V::load(a.base + row));
            for (int j = 0; j < kColumnStep; ++j) {
              cells[j] = t.d + size_t(n + j) * t.column_stride + lane;
              const I bases = V::add(row_base, V::set((b.base[n + j] + 127) * kOne));
              I e = V::add(V::shl23(V::widen8(largest[j] + sub)), bases);
              F c{};
              if constexpr (kReadC) {
                const I word = V::load(reinterpret_cast<const int32_t*>(cells[j]));
                I field;
                if constexpr (kHalf) {
                  c = V::from_half(word);
                  field = V::half_field(word);
                } else {
                  c = V::as_float(word);
                  field = V::bit_and(word, field_mask);
                }
                e = V::max(e, V::sub(field, c_scale));
              }
              x[j] = V::sub(window_top, e);
              shift[j] = V::add(x[j], V::sub(bases, output_top));
              worst_shift = V::max_unsigned(worst_shift, shift[j]);
              worst_exponent = V::max_unsigned(worst_exponent, V::sub(e, exponent_low));
              if constexpr (kReadC)
                sum[j] = V::truncate(V::mul(c, V::as_float(V::sub(x[j], c_scale))));
              else
                sum[j] = V::zero();
            }
            if (!V::all_at_most(worst_shift, shift_limit) || !V::all_at_most(worst_exponent, exponent_range)) {
              scalar_block(t, a, b, row, n, largest, sub, cells);
              continue;
            }
            const float* va = a.value + row;
            const float* vb = b.value + n;
#pragma GCC unroll 16
            for (uint32_t k = 0; k < terms; ++k) {
              const F value = V::load_float(va + k * kPanel);
              for (int j = 0; j < kColumnStep; ++j) {
                const F product = V::mul(value, V::broadcast(vb + k * kPanel + j));
                sum[j] = V::add(sum[j], V::truncate(V::as_float(V::add(V::as_int(product), shift[j]))));
                V::pin(sum[j]);
              }
            }
            for (int j = 0; j < kColumnStep; ++j) worst_sum = V::max_unsigned(worst_sum, V::add(sum[j], sum_bias));
            if (kReadC && !V::all_at_most(worst_sum, sum_range)) {
              scalar_block(t, a, b, row, n, largest, sub, cells);
              continue;
            }
            for (int j = 0; j < kColumnStep; ++j) {
              const F power = V::as_float(V::sub(output_top, x[j]));
              I word;
              if constexpr (kHalf)
                word = V::to_half(sum[j], power);
              else
                word = V::as_int(V::mul(V::to_float(sum[j]), power));
              V::store(reinterpret_cast<int32_t*>(cells[j]), word);
            }
          }
        }
    }
  }

  static void scalar_block(const MmaTile& t, const Panel& a, const Panel& b, uint32_t row, uint32_t n,
                           const int8_t (*largest)[kBlock], uint32_t sub, uint32_t* const* cells) {
    for (int j = 0; j < kColumnStep; ++j)
      for (uint32_t i = 0; i < kLanes; ++i)
        cells[j][i] = element(t, a, b, row + i, n + uint32_t(j), largest[j][sub + i], cells[j][i]);
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
    const bool half = t.rule.result == SumRule::Result::f16_nearest;
    if (t.read_c)
      half ? tile<terms, true, true>(t, a, b) : tile<terms, true, false>(t, a, b);
    else
      half ? tile<terms, false, true>(t, a, b) : tile<terms, false, false>(t, a, b);
  }

  static bool run(const MmaTile& t) {
    if (t.rule.window != 25 || t.rule.result == SumRule::Result::f32_14_bits || (t.terms != 16 && t.terms != 8))
      return false;
    Panel a, b;
    if (!unpack(t.a_format, t.a, t.rows, t.terms, t.negate_a, false, a)) return false;
    if (!unpack(t.b_format, t.b, t.columns, t.terms, t.negate_b, true, b)) return false;
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
