// Tiles of 8-bit and narrower elements, vector lanes over M: a row of A and a column of B as 16-bit integers, the sum
// of their products by integer multiply-adds, exactly. Included by one translation unit for each x86-64 level.
//
// A row's elements are integers in units of its own 2^low, if they span no more than 15 bits; so are a column's. What a
// window cuts off a product is then nothing, as long as the window's quantum q is no more than the product of both
// units: the fused sum is the exact sum, plus C cut to q, rounded once. All of that fits an f64. How far that is known:
// * one window (fused_sum, fused_sum_scaled): q is 2^(e − 25), e the largest raw exponent of a product or C. It is
//   computed for each sum, in bytes. Where q is larger, or anything is infinite, NaN, out of range or near the
//   subnormals, four columns of a vector of rows are left to others (`NarrowRest`: mma_bytes.h). That takes half as
//   long again as these sums, so a tile is not begun if a glance says that much of it would be left (`promising`).
// * fp4 kinds: q depends on P and S (see fused_sum_fp4) and is at most what the row's and the column's own largest make
//   them. If C's last bit is above that as well, nothing at all is cut, whatever q is; otherwise see mma_fp4.h.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_fp4.h"
#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {

template <class V>
struct NarrowMma {
  using I = typename V::I;
  using D = typename V::D;
  using M = typename V::M;  // a truth for each lane
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kBlock = 4 * kLanes;  // rows whose exponents fill a vector
  static constexpr uint32_t kVectors = 4;
  static constexpr uint32_t kStep = 4;  // columns at a time
  static constexpr uint32_t kTried = 16;
  static constexpr uint32_t kMostTerms = 128;
  static constexpr uint32_t kPairs = kMostTerms / 2;
  static constexpr int32_t kNone = -3000;  // raw exponent where there is none: below all others
  static constexpr int8_t kNoProduct = -64;

  /// An operand. "Row" is a column for B.
  struct Panel {
    // Pairs of values along K, 16 bits each. A: [pair * 128 + row]; B: [row / 4 * 4 * pairs + pair * 4 + row % 4].
    alignas(64) int32_t pair[kPairs * kPlane];
    // Raw exponents. A: bytes, [row / kBlock * kBlock * terms + k * kBlock + row % kBlock]; B: four times each, as
    // pair.
    alignas(64) int8_t exponent[kMostTerms * kMaxRows];
    alignas(64) int32_t exponents[kMostTerms * kPlane];
    alignas(64) double factor[kMaxScales][kPlane];  // 2^low times the scale of a block
    alignas(64) int32_t unit[kPlane];               // exponent of what the integers are in units of
    alignas(64) int32_t low[kPlane];                // the same, with the least scale's
    alignas(64) int32_t top[kPlane];    // largest raw exponent of an element, with its scale's; kNone: all are zero
    alignas(64) int32_t scale[kPlane];  // largest scale exponent of a block that isn't all zero
    float largest[kPlane];              // magnitude of the integers
    bool bad[kPlane];                   // not to be done here
  };

  using Fp4 = Fp4Mma<V>;

  /// What a format's patterns are made of.
  struct Shape {
    int32_t fraction, field, magnitude, bias, sign, least_special;
    explicit Shape(Format f) {
      const FormatInfo& i = info(f);
      fraction = i.fraction_bits;
      field = (1 << i.exponent_bits) - 1;
      sign = i.bits - 1;
      magnitude = (1 << sign) - 1;
      bias = i.bias;
      least_special = i.specials == FormatInfo::Specials::none   ? magnitude + 1
                      : i.specials == FormatInfo::Specials::ieee ? field << fraction
                                                                 : magnitude;
    }
    /// The exponent field that counts: a subnormal's is the smallest normal's.
    int32_t field_of(int32_t m) const { return m >> fraction > 1 ? m >> fraction : 1; }
    int32_t significand(int32_t m) const { return m - ((field_of(m) - 1) << fraction); }
  };

  static bool is_integer(Format f) { return f == Format::s8 || f == Format::u8; }

  /// `bytes`: `terms` planes of patterns, `plane` bytes apart. Rows are read kBlock at a time.
  template <bool kB>
  static void unpack(const MmaTile& t, const uint8_t* bytes, uint32_t plane, uint32_t rows, uint32_t terms, Panel& p) {
    const Format format = kB ? t.b_format : t.a_format;
    const Shape s(format);
    if (is_integer(format)) return integers<kB>(bytes, plane, rows, terms, format == Format::s8, p);
    alignas(64) int32_t fields[kPlane];  // the least of a row, twice 16 bits
    alignas(64) uint8_t block_most[kMaxScales * kPlane], most[kPlane], least[kPlane];  // magnitudes
    const uint32_t blocks = t.scales ? t.scales : 1, block = terms / blocks;
    for (uint32_t r = 0; r < rows; r += kBlock) {
      const I mask = V::set8(int8_t(s.magnitude)), one = V::set8(1);
      I all = V::zero(), low = V::set8(-1);
      for (uint32_t j = 0; j < blocks; ++j) {
        I high = V::zero();
        for (uint32_t k = j * block; k < (j + 1) * block; ++k) {
          const I m = V::bit_and(V::load(bytes + k * plane + r), mask);
          high = V::max8_unsigned(high, m);
          low = V::min8_unsigned(low, V::sub8(m, one));  // a zero becomes the largest
        }
        V::store(block_most + j * kPlane + r, high);
        all = V::max8_unsigned(all, high);
      }
      V::store(most + r, all);
      V::store(least + r, V::add8(low, one));
    }
    const uint8_t* scales = kB ? t.b_scales : t.a_scales;
    for (uint32_t r = 0; r < rows; ++r) {
      const int32_t high = s.field_of(most[r]), low = s.field_of(least[r]);
      const bool zero = most[r] == 0;
      fields[r] = low * 0x10001;
      p.bad[r] = most[r] >= s.least_special || high - low + s.fraction + 1 > 15;
      p.largest[r] = float(s.significand(most[r]) << ((high - low) & 15));
      const int32_t unit = low - s.bias - s.fraction;
      p.unit[r] = unit;
      p.low[r] = zero ? -kNone : unit;
      p.top[r] = zero ? kNone : high - s.bias;
      p.scale[r] = 0;
      p.factor[0][r] = V::power(unit);
      if (t.scales) scale(t, scales, block_most, r, unit, s, p);
    }
    values<kB>(bytes, plane, rows, terms, kB ? t.negate_b : t.negate_a, s, fields, p);
    if (t.sum != SumKind::fp4) exponents<kB>(bytes, plane, rows, terms, s, p);
  }

  /// Pairs of kLanes rows to their place.
  template <bool kB>
  static void store_pairs(Panel& p, uint32_t r, uint32_t pair, uint32_t pairs, I v) {
    if constexpr (kB)
      V::store_fours(p.pair + r * pairs + pair * kStep, pairs * kStep, v);
    else
      V::store(p.pair + pair * kMaxRows + r, v);
  }

  template <bool kB>
  static void integers(const uint8_t* bytes, uint32_t plane, uint32_t rows, uint32_t terms, bool has_sign, Panel& p) {
    for (uint32_t r = 0; r < rows; r += kLanes)
      for (uint32_t k = 0; k < terms; k += 2) {
        const uint8_t* from = bytes + k * plane + r;
        store_pairs<kB>(p, r, k / 2, terms / 2,
                        has_sign ? V::pairs_signed(from, from + plane) : V::pairs_unsigned(from, from + plane));
      }
  }

  /// Elements as 16-bit integers in units of their row's.
  template <bool kB>
  static void values(const uint8_t* bytes, uint32_t plane, uint32_t rows, uint32_t terms, bool flip, const Shape& s,
                     const int32_t* fields, Panel& p) {
    const I mask = V::set16(int16_t(s.magnitude)), sign = V::set16(int16_t(1 << s.sign)), one = V::set16(1);
    const I flipped = flip ? sign : V::zero();
    for (uint32_t r = 0; r < rows; r += kLanes) {
      const I least = V::load(fields + r);
      for (uint32_t k = 0; k < terms; k += 2) {
        const uint8_t* from = bytes + k * plane + r;
        const I x = V::pairs_unsigned(from, from + plane), m = V::bit_and(x, mask);
        const I field = V::max16(V::shift_right16(m, s.fraction), one);
        const I significand = V::sub16(m, V::shift_left16(V::sub16(field, one), s.fraction));
        // A zero among larger numbers may be shifted by less than nothing: by anything.
        const I v = V::shift_left16_by(significand, V::sub16(field, least));
        const I negative = V::equal16(V::bit_and(V::bit_xor(x, flipped), sign), sign);
        store_pairs<kB>(p, r, k / 2, terms / 2, V::sub16(V::bit_xor(v, negative), negative));
      }
    }
  }

  template <bool kB>
  static void exponents(const uint8_t* bytes, uint32_t plane, uint32_t rows, uint32_t terms, const Shape& s, Panel& p) {
    const I mask = V::set8(int8_t(s.magnitude)), field_mask = V::set8(int8_t(s.field)), one = V::set8(1);
    const I bias = V::set8(int8_t(s.bias)), none = V::set8(kNoProduct);
    for (uint32_t r = 0; r < rows; r += kBlock)
      for (uint32_t k = 0; k < terms; ++k) {
        const I m = V::bit_and(V::load(bytes + k * plane + r), mask);
        const I field = V::max8_unsigned(V::bit_and(V::shift_right16(m, s.fraction), field_mask), one);
        const I e = V::select_zero8(m, none, V::sub8(field, bias));
        if constexpr (kB) {
          alignas(64) int8_t each[kBlock];
          V::store(each, e);
          for (uint32_t i = 0; i < kBlock; i += kLanes)
            V::store_replicated(p.exponents + (r + i) * terms + k * kStep, terms * kStep, each + i);
        } else {
          V::store(p.exponent + r * terms + k * kBlock, e);
        }
      }
  }

  /// Row `r` with scale factors; `most`: the largest magnitude of each block.
  static void scale(const MmaTile& t, const uint8_t* scales, const uint8_t* most, uint32_t r, int32_t unit,
                    const Shape& s, Panel& p) {
    const int32_t fraction = info(t.scale_format).fraction_bits;
    p.low[r] = -kNone;
    p.top[r] = p.scale[r] = kNone;
    for (uint32_t j = 0; j < t.scales; ++j) {
      const Unpacked u = numerics::unpack(t.scale_format, scales[j * kPlane + r]);
      p.bad[r] |= u.kind == Unpacked::Class::nan;
      p.factor[j][r] = double(u.significand) * V::power(unit + u.exponent - fraction);
      if (most[j * kPlane + r] == 0 || u.significand == 0) continue;
      const int32_t e = s.field_of(most[j * kPlane + r]) - s.bias;
      p.low[r] = V::template least<int32_t>(p.low[r], unit + u.exponent - fraction);
      p.top[r] = V::template most<int32_t>(p.top[r], e + u.exponent);
      p.scale[r] = V::template most<int32_t>(p.scale[r], u.exponent);
    }
  }

  // ---- Sums

  /// One vector of rows by kStep columns, before rounding: of each block of the terms.
  struct Sums {
    I block[Fp4::kParts][kStep];
  };
  static void dot(const Panel& a, const Panel& b, uint32_t row, uint32_t n, uint32_t pairs, uint32_t blocks,
                  Sums (&out)[2]) {
    const int32_t* vb = b.pair + n * pairs;
    const uint32_t each = pairs / blocks;
    for (uint32_t j = 0; j < blocks; ++j) {
      const int32_t *va = a.pair + j * each * kMaxRows + row, *scalars = vb + j * each * kStep;
      I x0 = V::zero(), x1 = V::zero(), x2 = V::zero(), x3 = V::zero();
      I y0 = V::zero(), y1 = V::zero(), y2 = V::zero(), y3 = V::zero();
#pragma GCC unroll 4
      for (uint32_t i = 0; i < each; ++i, va += kMaxRows, scalars += kStep) {
        const I p = V::load(va), q = V::load(va + kLanes);
        const I s0 = V::broadcast(scalars), s1 = V::broadcast(scalars + 1), s2 = V::broadcast(scalars + 2),
                s3 = V::broadcast(scalars + 3);
        x0 = V::add(x0, V::multiply_add(p, s0)), y0 = V::add(y0, V::multiply_add(q, s0));
        x1 = V::add(x1, V::multiply_add(p, s1)), y1 = V::add(y1, V::multiply_add(q, s1));
        x2 = V::add(x2, V::multiply_add(p, s2)), y2 = V::add(y2, V::multiply_add(q, s2));
        x3 = V::add(x3, V::multiply_add(p, s3)), y3 = V::add(y3, V::multiply_add(q, s3));
      }
      out[0].block[j][0] = x0, out[0].block[j][1] = x1, out[0].block[j][2] = x2, out[0].block[j][3] = x3;
      out[1].block[j][0] = y0, out[1].block[j][1] = y1, out[1].block[j][2] = y2, out[1].block[j][3] = y3;
    }
  }

  /// The largest raw exponents of kBlock rows by kStep columns, as bytes, of `count` terms from `first` on.
  static void look(const Panel& a, const Panel& b, uint32_t block, uint32_t n, uint32_t terms, uint32_t first,
                   uint32_t count, int8_t (&out)[kStep][kBlock]) {
    const int8_t* ea = a.exponent + block * terms + first * kBlock;
    const int32_t* eb = b.exponents + n * terms + first * kStep;
    I m0 = V::set8(-128), m1 = m0, m2 = m0, m3 = m0;
#pragma GCC unroll 4
    for (uint32_t k = 0; k < count; ++k, ea += kBlock, eb += kStep) {
      const I e = V::load(ea);
      m0 = V::max8(m0, V::add8(e, V::broadcast(eb)));
      m1 = V::max8(m1, V::add8(e, V::broadcast(eb + 1)));
      m2 = V::max8(m2, V::add8(e, V::broadcast(eb + 2)));
      m3 = V::max8(m3, V::add8(e, V::broadcast(eb + 3)));
    }
    V::store(out[0], m0), V::store(out[1], m1), V::store(out[2], m2), V::store(out[3], m3);
  }

  /// The old accumulators of a vector of rows.
  struct Old {
    I word, raw;  // raw exponent; of a zero kNone, or a subnormal's where that does no harm
  };
  template <bool kHalf>
  static Old old(const MmaTile& t, const int32_t* d) {
    if (!t.read_c) return {V::zero(), V::set(kNone)};
    Old c;
    if constexpr (kHalf) {
      c.word = V::bit_and(V::load(d), V::set(0xffff));
      const I magnitude = V::bit_and(c.word, V::set(0x7fff)), field = V::template shift_right<10>(magnitude);
      const I raw = V::sub(V::max(field, V::set(1)), V::set(15));
      // Infinities and NaNs lie beyond every limit; those of f32 do so by themselves.
      const I number = V::select(V::equal(field, V::set(31)), V::set(1000), raw);
      c.raw = V::select(V::equal(magnitude, V::zero()), V::set(kNone), number);
    } else {
      c.word = V::load(d);
      const I field = V::template shift_right<23>(V::bit_and(c.word, V::set(0x7fffffff)));
      c.raw = V::sub(V::max(field, V::set(1)), V::set(127));
    }
    return c;
  }

  /// The f64 sums of a column's blocks and C (as f32 words), in two halves.
  static void add_up(const MmaTile& t, const Panel& a, const Panel& b, const Sums& sums, uint32_t row, uint32_t n,
                     uint32_t j, I c, D& low, D& high) {
    low = V::low_double(c);
    high = V::high_double(c);
    for (uint32_t k = 0, blocks = t.scales ? t.scales : 1; k < blocks; ++k) {
      const double* fa = a.factor[k] + row;
      const D fb = V::broadcast_double(b.factor[k] + n + j);
      const I s = sums.block[k][j];
      low = V::fma(V::low_integer(s), V::mul(V::load_double(fa), fb), low);
      high = V::fma(V::high_integer(s), V::mul(V::load_double(fa + kLanes / 2), fb), high);
    }
  }

  // Raw exponents beyond these are left to others: overflow is near, or where subnormals begin.
  static constexpr int32_t kHighest = 100, kLowest = -100;

  /// One window. False, and nothing stored: not to be done here.
  template <bool kHalf, bool kScaled>
  static bool finish(const MmaTile& t, const Panel& a, const Panel& b, const Sums& sums,
                     const int8_t (&most)[kStep][kBlock], uint32_t block, uint32_t row, uint32_t n) {
    I words[kStep];
    int32_t* d = reinterpret_cast<int32_t*>(t.d) + size_t(n) * t.column_stride + t.lane[row / 16] + row % 16;
    const I low_a = V::load(a.low + row), scale_a = V::load(a.scale + row), highest = V::set(kHighest);
    M bad = V::never();
    for (uint32_t j = 0; j < kStep; ++j) {
      const Old c = old<kHalf>(t, d + j * size_t(t.column_stride));
      const I bytes = V::widen8(most[j] + (row - block));
      // Bytes below −40: no product.
      const I scaled = kScaled ? V::add(bytes, V::add(scale_a, V::set(b.scale[n + j]))) : bytes;
      const I top = V::max(V::select(V::less(bytes, V::set(-40)), V::set(kNone), scaled), c.raw);
      bad = V::either(bad, V::less(highest, top));
      bad = V::either(bad, V::less(V::add(low_a, V::set(b.low[n + j] + 25)), top));
      // C's bits below the quantum.
      const I drop = V::max(V::sub(top, V::add(c.raw, V::set(kHalf ? 15 : 2))), V::zero());
      const I cut = V::select(V::less(V::set(kHalf ? 10 : 23), drop), V::zero(),
                              V::bit_and(c.word, V::shift_left(V::set(-1), drop)));
      D lo, hi;
      add_up(t, a, b, sums, row, n, j, kHalf ? V::half_to_float(cut) : cut, lo, hi);
      if constexpr (kHalf) {
        words[j] = V::to_half(lo, hi);
      } else {
        words[j] = V::to_float(lo, hi);
        if constexpr (kScaled)
          bad = V::either(bad, doubtful(V::either(small(words[j]), V::less(top, V::set(kLowest))), lo, hi, c.word));
      }
    }
    if (V::any(bad)) return false;
    for (uint32_t j = 0; j < kStep; ++j) V::store(d + j * size_t(t.column_stride), words[j]);
    return true;
  }

  /// Words below the normal f32.
  static M small(I word) { return V::less(V::bit_and(word, V::set(0x7fffffff)), V::set(0x00800000)); }
  /// Small sums, unless they are zero, which is right whatever the window; and where C is −0, which stays where there
  /// is no product.
  static M doubtful(M small, D low, D high, I c) {
    return V::either(V::both(small, V::not_zero(low, high)), V::equal(c, V::set(INT32_MIN)));
  }

  /// fp4 kinds. False, and nothing stored: not to be done here.
  static bool finish_fp4(const MmaTile& t, const Panel& a, const Panel& b, const Sums& sums, uint32_t row, uint32_t n) {
    I words[kStep];
    int32_t* d = reinterpret_cast<int32_t*>(t.d) + size_t(n) * t.column_stride + t.lane[row / 16] + row % 16;
    const I low_a = V::load(a.low + row), top_a = V::load(a.top + row), scale_a = V::load(a.scale + row);
    const I highest = V::set(kHighest);
    M bad = V::never();
    for (uint32_t j = 0; j < kStep; ++j) {
      const Old c = old<false>(t, d + j * size_t(t.column_stride));
      const I p = V::add(top_a, V::set(b.top[n + j]));
      const I q = V::max(V::sub(p, V::set(39)), V::add(scale_a, V::set(b.scale[n + j] - 35)));
      bad = V::either(bad, V::less(V::add(low_a, V::set(b.low[n + j])), V::max(q, V::sub(c.raw, V::set(35)))));
      bad = V::either(bad, V::less(highest, V::max(p, c.raw)));
      // C is cut, unless it is zero.
      bad = V::either(bad, V::both(V::less(c.raw, V::add(q, V::set(23))), V::any_bit(c.word)));
      D lo, hi;
      add_up(t, a, b, sums, row, n, j, c.word, lo, hi);
      words[j] = V::to_float(lo, hi);
      bad = V::either(bad, doubtful(small(words[j]), lo, hi, c.word));
    }
    if (V::any(bad)) return false;
    for (uint32_t j = 0; j < kStep; ++j) V::store(d + j * size_t(t.column_stride), words[j]);
    return true;
  }

  /// The general way of fp4 kinds (mma_fp4.h). What it needs besides is made when it is first needed.
  class GeneralFp4 {
   public:
    /// `a_bytes`: patterns of A, `terms` planes `plane` bytes apart.
    GeneralFp4(const MmaTile& t, const uint8_t* a_bytes, uint32_t plane, uint32_t terms, Panel& a, Panel& b)
        : t_(t), a_bytes_(a_bytes), plane_(plane), terms_(terms), a_(a), b_(b) {}
    /// kStep columns of a vector of rows in this block.
    void columns(uint32_t block, uint32_t row, uint32_t n) {
      if (!ready_) {
        const Shape s(Format::e2m1);
        exponents<false>(a_bytes_, plane_, t_.rows, terms_, s, a_);
        exponents<true>(static_cast<const uint8_t*>(t_.b), kPlane, t_.columns, terms_, s, b_);
        Fp4::unpack(t_, t_.a_scales, a_.unit, t_.rows, a_scales_);
        Fp4::unpack(t_, t_.b_scales, b_.unit, t_.columns, b_scales_);
        ready_ = true;
      }
      if (block != block_ || n != n_) {
        const uint32_t each = terms_ / Fp4::kGroups;
        for (uint32_t g = 0; g < Fp4::kGroups; ++g) look(a_, b_, block, n, terms_, g * each, each, most_.of[g]);
        block_ = block, n_ = n, first_ = kNowhere;
      }
      if (const uint32_t first = row / (2 * kLanes) * (2 * kLanes); first != first_) {
        dot(a_, b_, first, n, terms_ / 2, fine() ? Fp4::kParts : Fp4::kGroups, sums_);
        first_ = first;
      }
      if (fine())
        finish<true>(row, n);
      else
        finish<false>(row, n);
    }

   private:
    bool fine() const { return t_.scale_format == Format::ue4m3; }
    template <bool kFine>
    void finish(uint32_t row, uint32_t n) {
      const auto& parts = sums_[(row - first_) / kLanes].block;
      auto* d = reinterpret_cast<int32_t*>(t_.d) + size_t(n) * t_.column_stride + t_.lane[row / 16] + row % 16;
      for (uint32_t j = 0; j < kStep; ++j, d += t_.column_stride) {
        const I c = t_.read_c ? V::load(d) : V::zero();
        V::store(d,
                 Fp4::template sums<kFine>(a_scales_, b_scales_, most_, row - block_, parts, t_.scales, row, n, j, c));
      }
    }
    static constexpr uint32_t kNowhere = ~0u;
    const MmaTile& t_;
    const uint8_t* const a_bytes_;
    const uint32_t plane_, terms_;
    Panel &a_, &b_;
    bool ready_ = false;
    uint32_t block_ = kNowhere, n_ = kNowhere, first_ = kNowhere;  // of what `most_` and `sums_` are
    typename Fp4::Scales a_scales_, b_scales_;
    typename Fp4::Most most_;
    Sums sums_[2];
  };

  static void finish_integer(const MmaTile& t, const Sums& sums, uint32_t row, uint32_t n) {
    int32_t* d = reinterpret_cast<int32_t*>(t.d) + size_t(n) * t.column_stride + t.lane[row / 16] + row % 16;
    for (uint32_t j = 0; j < kStep; ++j, d += t.column_stride) {
      const I s = sums.block[0][j], c = t.read_c ? V::load(d) : V::zero(), sum = V::add(s, c);
      // Overflow: both have the sign that the sum has not.
      const M over = V::less(V::bit_and(V::bit_xor(sum, s), V::bit_xor(sum, c)), V::zero());
      const I clamped = V::bit_xor(V::sign(s), V::set(INT32_MAX));
      V::store(d, t.saturate ? V::select(over, clamped, sum) : sum);
    }
  }

  /// The tiles that it does.
  static bool knows(const MmaTile& t) {
    if (t.c_scale != 0) return false;
    const auto narrow = [](Format f) { return info(f).bits <= 8; };
    if (!narrow(t.a_format) || !narrow(t.b_format)) return false;
    if (t.sum != SumKind::fused) return true;
    return t.rule.window == 25 && t.rule.result != SumRule::Result::f32_14_bits;
  }

  /// The exponent fields that count, of all elements that aren't zero: the largest and the least.
  struct Fields {
    int32_t high, low;
    bool special;
  };
  static Fields fields_of(Format format, const void* bytes, uint32_t rows, uint32_t terms) {
    const Shape s(format);
    const I mask = V::set8(int8_t(s.magnitude)), one = V::set8(1);
    I high = V::zero(), low = V::set8(-1);
    for (uint32_t k = 0; k < terms; ++k)
      for (uint32_t r = 0; r < rows; r += kBlock) {
        const I m = V::bit_and(V::load(static_cast<const uint8_t*>(bytes) + k * kPlane + r), mask);
        high = V::max8_unsigned(high, m);
        low = V::min8_unsigned(low, V::sub8(m, one));  // a zero becomes the largest
      }
    alignas(64) uint8_t most[kBlock], least[kBlock];
    V::store(most, high), V::store(least, low);
    for (uint32_t i = 1; i < kBlock; ++i) {
      most[0] = V::template most<uint8_t>(most[0], most[i]);
      least[0] = V::template least<uint8_t>(least[0], least[i]);
    }
    return {s.field_of(most[0]), s.field_of(uint8_t(least[0] + 1)), most[0] >= s.least_special};
  }
  /// Whether few sums of a windowed tile will be left to others, as far as a glance tells: elements that fit their
  /// integers, and accumulators, some of which are looked at, whose windows cut nothing off the least product.
  static bool promising(const MmaTile& t) {
    if (t.scales) return t.select != nullptr;  // dense, the other way is as fast
    const uint32_t b_terms = t.select ? 2 * t.terms : t.terms;
    const Fields a = fields_of(t.a_format, t.a, t.rows, t.terms), b = fields_of(t.b_format, t.b, t.columns, b_terms);
    const auto fits = [](const Fields& f, const FormatInfo& i) {
      return !f.special && f.high - f.low + i.fraction_bits + 1 <= 15;
    };
    const FormatInfo &fa = info(t.a_format), &fb = info(t.b_format);
    if (!fits(a, fa) || !fits(b, fb)) return false;
    if (!t.read_c || t.rule.result == SumRule::Result::f16_nearest) return true;
    const int32_t unit = a.low - fa.bias - fa.fraction_bits + b.low - fb.bias - fb.fraction_bits;
    // One sum in a hundred is enough for half of all groups to be left.
    for (uint32_t n = 0; n < t.columns; n += 2) {
      const uint32_t row = n / 2 * 5 % t.rows;
      const uint32_t word = t.d[size_t(n) * t.column_stride + t.lane[row / 16] + row % 16];
      if (int32_t(word << 1 >> 24) - 127 > unit + 25) return false;
    }
    return true;
  }

  static bool run(const MmaTile& t, NarrowRest& rest) {
    if (!knows(t)) return false;
    const bool windowed = t.sum == SumKind::fused || t.sum == SumKind::scaled;
    if (windowed && !promising(t)) return false;
    const uint32_t terms = t.select ? 2 * t.terms : t.terms, pairs = terms / 2, blocks = t.scales ? t.scales : 1;
    Panel a, b;  // of which only what the rows and columns need is filled
    uint8_t spread[2 * kMaxTerms * kMaxRows];
    const uint8_t* planes = static_cast<const uint8_t*>(t.a);
    uint32_t plane = kPlane;
    if (t.select) {
      plane = kMaxRows;
      for (uint32_t i = 0; i < terms * plane; ++i) spread[i] = 0;
      for (uint32_t i = 0; i < t.terms; ++i)
        for (uint32_t r = 0; r < t.rows; ++r) spread[t.select[i * kPlane + r] * plane + r] = planes[i * kPlane + r];
      planes = spread;
    }
    unpack<false>(t, planes, plane, t.rows, terms, a);
    unpack<true>(t, static_cast<const uint8_t*>(t.b), kPlane, t.columns, terms, b);
    GeneralFp4 general(t, planes, plane, terms, a, b);
    const unsigned saved = V::round_toward_zero();
    const bool half = t.sum == SumKind::fused && t.rule.result == SumRule::Result::f16_nearest;
    // Where a block's first columns show that windows cut many sums, the rest of it is left to others at once. So are
    // all sums of fp4 done in the general way at once.
    bool direct = false;
    uint32_t in_general = 0;
    for (uint32_t block = 0; block < t.rows; block += kBlock) {
      const uint32_t vectors = (t.rows - block < kBlock ? t.rows - block : kBlock) / kLanes, before = rest.count;
      bool hopeless = false;
      bool bad_rows[kVectors] = {};
      float largest[kVectors] = {};
      for (uint32_t r = 0; r < vectors * kLanes && t.sum != SumKind::integer; ++r) {
        bad_rows[r / kLanes] |= a.bad[block + r];
        largest[r / kLanes] = V::most(largest[r / kLanes], a.largest[block + r]);
      }
      for (uint32_t n = 0; n < t.columns; n += kStep) {
        if (n == kTried && windowed && !t.select) hopeless = 8 * (rest.count - before) > vectors * kTried / kStep;
        if (block == 0 && n == kTried) direct = 2 * in_general > vectors * kTried / kStep;
        if (hopeless) {
          for (uint32_t v = 0; v < vectors; ++v) rest.add(block + v * kLanes, kLanes, n);
          continue;
        }
        alignas(64) int8_t most[kStep][kBlock];
        if (windowed) look(a, b, block, n, terms, 0, terms, most);
        bool bad_columns = false;
        float column_largest = 0;
        for (uint32_t j = 0; j < kStep && t.sum != SumKind::integer; ++j) {
          bad_columns |= b.bad[n + j];
          column_largest = V::most(column_largest, b.largest[n + j]);
        }
        for (uint32_t v = 0; v < vectors; v += 2) {
          Sums sums[2];
          if (!direct) dot(a, b, block + v * kLanes, n, pairs, blocks, sums);
          for (uint32_t i = 0; i < 2 && v + i < vectors; ++i) {
            const uint32_t row = block + (v + i) * kLanes;
            if (t.sum == SumKind::integer) {
              finish_integer(t, sums[i], row, n);
              continue;
            }
            const bool done = !direct && !bad_columns && !bad_rows[v + i] &&
                              largest[v + i] * column_largest * float(terms / blocks) < 0x1p31f &&
                              (t.sum == SumKind::fp4 ? finish_fp4(t, a, b, sums[i], row, n)
                               : half                ? finish<true, false>(t, a, b, sums[i], most, block, row, n)
                               : t.scales            ? finish<false, true>(t, a, b, sums[i], most, block, row, n)
                                                     : finish<false, false>(t, a, b, sums[i], most, block, row, n));
            if (done) continue;
            if (t.sum != SumKind::fp4) {
              rest.add(row, kLanes, n);
              continue;
            }
            ++in_general;
            general.columns(block, row, n);
          }
        }
      }
    }
    V::restore(saved);
    return true;
  }
};

}  // namespace tinygpu::numerics
