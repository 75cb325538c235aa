// Operands as the vector kernel's first way takes them (mma_vector.h says why): unpacked once for a tile.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "common/tinygpu/numerics/mma_levels.h"
#include "common/tinygpu/numerics/mma_patterns.h"

namespace tinygpu::numerics {

template <class V, uint32_t kMostTerms>
struct NarrowPanel {
  using I = typename V::I;
  using F = typename V::F;
  using D = typename V::D;
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kBytes = 4 * kLanes;  // of a vector
  static constexpr uint32_t kBlock = 64;          // rows for which exponents are computed together
  static constexpr uint32_t kTerms = kMostTerms;
  static constexpr uint32_t kColumnStep = 4;
  static constexpr int32_t kOne = 1 << 23;
  /// Where column n of B begins in a panel.
  static constexpr size_t column_at(uint32_t n) { return n / kLanes * kLanes * kTerms + n % kLanes; }

  static constexpr int kBaseLimit = 60;  // elements of larger raw exponent: wide
  static constexpr int kBottom = -101;   // least window that is handled: q is a normal f32
  static constexpr int kLeast = -64;     // relative raw exponent of a zero, and of whatever lies farther below the base
  static constexpr uint32_t kNibbles = kTerms / 4;        // of a row's sign bits
  static constexpr uint32_t kMasks = (kTerms + 31) / 32;  // words of a bit for each term

  /// An operand unpacked, in tiles that are read from end to end: element (k, r) of a tile of T rows at
  /// [r / T * T * kTerms + k * T + r % T]. A, across vector lanes: T is kLanes for values, where rows 0 and 1 of each
  /// four come first and rows 2 and 3 after them; kBytes for exponents and signs, where each 16 bytes hold four rows of
  /// each vector of rows (row r at r % kLanes / 4 * 16 + r / kLanes * 4 + r % 4). B, which is broadcast: T is kLanes,
  /// and each exponent fills four bytes.
  struct Panel {
    alignas(64) double value[kTerms * kPlane];  // divided by 2^base, moved away from zero
    alignas(64) int8_t exponent8[kTerms * kPlane];
    alignas(64) int32_t exponent8x4[kTerms * kPlane];
    alignas(64) uint8_t sign[kNibbles * kPlane];  // four terms' sign bits a byte; B: plane after plane
    alignas(64) int32_t zeros[kMasks][kPlane];    // a bit for each term, set if the element is zero
    bool special[kPlane];                         // the row has an element for the wide way
    bool any_special;
    bool heavy;  // A of up to 16 terms: the significands of a row may add up to 31 or more
    int base;
  };
  /// Puts away a vector of rows' values of term k. Words of smaller exponents are widened by moving their bits to f32's
  /// place, which leaves the value 2^(127 − bias) too small. What underflows is below any quantum.
  template <class P, bool kBroadcast>
  [[gnu::always_inline]] static void store_value(I words, I magnitude, F scale, uint32_t row, uint32_t k, Panel& p) {
    I f32 = words;
    if constexpr (P::kBits == 32)
      f32 = V::bit_and(words, V::set(int32_t(0x80000000u | P::kMagnitude)));
    else if constexpr (P::kFieldBits == 8)
      f32 = V::template shl<16>(words);
    else
      f32 = V::bit_or(V::template shl<32 - P::kBits>(V::sub(words, magnitude)),
                      V::template shl<23 - P::kField>(magnitude));
    const F f = V::mul(V::as_float(f32), scale), ordered = kBroadcast ? f : V::in_pairs(f);
    const D more = V::set_double(__builtin_bit_cast(double, uint64_t(0x3000000000000001)));
    double* to = p.value + row * kTerms + k * kLanes;
    V::store_double(to, V::or_double(V::low_double(ordered), more));
    V::store_double(to + kLanes / 2, V::or_double(V::high_double(ordered), more));
  }
  /// What the fractions of a row of A add up to at least if it may be heavy: a significand is at most 1 and the
  /// fraction.
  template <class P>
  static constexpr int32_t heavy_from(uint32_t terms) {
    return (31 - int32_t(terms)) * (1 << P::kField);
  }
  /// False, and the panel is not filled, if all groups will need the wide way: for the infinities and NaNs in this
  /// operand, or because no product reaches up to the windows of which q is normal. `other_base`: the other operand's.
  /// `scales`: a ue8m0 factor for each row, which is as if all its elements had larger exponents; or null.
  template <class P, bool kBroadcast>
  static bool unpack_panel(const typename P::Word* planes, const uint8_t* scales, uint32_t rows, uint32_t terms,
                           bool flip, int other_base, Panel& p) {
    constexpr int kField = P::kField, kBias = P::kBias;
    const I magnitude_mask = V::set(P::kMagnitude);

    alignas(64) int32_t largest[kPlane];  // magnitude
    alignas(64) int32_t tops[kLanes];
    alignas(64) int32_t shift[kPlane] = {};  // exponents of the factors
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
    if (scales) {
      p.base = scaled_base<P>(scales, largest, rows, shift, p);
    } else if (rows % kLanes == 0 && V::all_at_most(all, V::set(limit<P>() - 1))) {
      V::store(tops, all);
      for (const int32_t m : tops) top = m > top ? m : top;
      for (uint32_t r = 0; r < rows; ++r) p.special[r] = false;
    } else {
      for (uint32_t r = 0; r < rows; ++r) {
        const bool special = largest[r] >= limit<P>();
        p.special[r] = special;
        p.any_special |= special;
        top = !special && largest[r] > top ? largest[r] : top;
      }
    }
    if (!scales) p.base = top ? raw_of<P>(top) : 0;
    if (p.base + other_base < kBottom ||
        (p.any_special && special_everywhere(p, rows, kBroadcast ? kColumnStep : kBlock)))
      return false;

    const I power = V::set(254 - kBias - p.base), sign_flip = V::set(flip ? INT32_MIN : 0);
    const F scale = V::as_float(V::bit_or(V::template shl<23>(power), sign_flip));
    const I base = V::set(p.base + kBias);
    const I nibble_flip = V::set(flip ? (kBroadcast ? 15 : 0x0f0f0f0f) : 0);
    const I light = V::set(heavy_from<P>(terms) - 1);
    const I one = V::set(1), least = V::set(kLeast);
    // Vectors of rows of A come in fours, whose bytes fill a vector.
    constexpr uint32_t kTogether = kBroadcast ? 1 : 4;
    for (uint32_t first = 0; first < rows; first += kTogether * kLanes) {
      I signs[kTogether], zeros[kTogether], fractions[kTogether], e[kTogether];
      F scales_of[kTogether];
      I bases[kTogether];
      // Of vectors behind the last row only the bytes matter. Planes have room for them.
      const uint32_t left = (rows - first + kLanes - 1) / kLanes;
      static_assert(kPlane >= kMaxRows + kTogether * kLanes);
#pragma GCC unroll 4
      for (uint32_t w = 0; w < kTogether; ++w) {
        signs[w] = zeros[w] = fractions[w] = e[w] = V::zero();
        scales_of[w] = scale;
        bases[w] = base;
        if (!scales || w >= left) continue;
        // Where this leaves f32's range, elements are so far below the base that anything smaller than q will do.
        const I s = V::load(shift + first + w * kLanes);
        scales_of[w] = V::as_float(
            V::bit_or(V::template shl<23>(V::min(V::max(V::add(power, s), V::set(1)), V::set(254))), sign_flip));
        bases[w] = V::sub(base, s);
      }
      for (uint32_t k = 0; k < terms; ++k) {
#pragma GCC unroll 4
        for (uint32_t w = 0; w < kTogether; ++w) {
          const uint32_t r0 = first + w * kLanes;
          const I words = V::load_words(planes + size_t(k) * kPlane + r0);
          const I magnitude = V::bit_and(words, magnitude_mask);

          store_value<P, kBroadcast>(words, magnitude, scales_of[w], r0, k, p);
          if (k == 32) {
            V::store(p.zeros[0] + r0, zeros[w]);
            zeros[w] = V::zero();
          }
          const auto zero = V::equal(magnitude, V::zero());
          zeros[w] = V::add(zeros[w], zeros[w]);
          zeros[w] = V::select(zero, V::add(zeros[w], one), zeros[w]);
          if constexpr (!kBroadcast && kTerms == 16)
            fractions[w] = V::add(fractions[w], V::bit_and(magnitude, V::set((1 << kField) - 1)));

          // Of a special row, which nobody looks at, it may be anything.
          const I relative = V::sub(V::max(V::template shr<kField>(magnitude), one), bases[w]);
          e[w] = V::max(V::select(zero, least, relative), least);
          if constexpr (kBroadcast) V::store(p.exponent8x4 + r0 * kTerms + k * kLanes, V::low_byte_in_all(e[w]));

          // Four terms' signs, the first in bit 0.
          const I sign = V::template shl<3>(V::template shr<P::kBits - 1>(words));
          signs[w] = k % 4 == 0 ? sign : V::bit_or(V::template shr<1>(signs[w]), sign);
          if constexpr (kBroadcast)
            if (k % 4 == 3) V::store_bytes(p.sign + k / 4 * kPlane + r0, V::bit_xor(signs[w], nibble_flip), 4);
        }
        if constexpr (!kBroadcast) {
          if (left < kTogether) [[unlikely]]
            for (uint32_t w = left; w < kTogether; ++w) e[w] = V::zero();
          V::store8(p.exponent8 + first * kTerms + k * kBytes, V::low_bytes(e[0], e[1], e[2], e[3]));
          if (k % 4 == 3)
            V::store8(p.sign + first * kNibbles + k / 4 * kBytes,
                      V::bit_xor(V::low_bytes(signs[0], signs[1], signs[2], signs[3]), nibble_flip));
        }
      }
      for (uint32_t w = 0; w < kTogether; ++w) {
        V::store(p.zeros[kMasks - 1] + first + w * kLanes, zeros[w]);
        if constexpr (!kBroadcast && kTerms == 16) p.heavy |= w < left && !V::all_at_most(fractions[w], light);
      }
    }
    // Windows are looked at for whole blocks: rows that are not there are as good as any.
    if constexpr (!kBroadcast)
      for (uint32_t r0 = (rows + kBytes - 1) / kBytes * kBytes; r0 % kBlock; r0 += kBytes)
        for (uint32_t k = 0; k < terms; ++k) V::store8(p.exponent8 + r0 * kTerms + k * kBytes, V::zero());
    return true;
  }
  /// Some of columns n to n + kColumnStep − 1 of B is special.
  static uint32_t special(const Panel& b, uint32_t n) {
    uint32_t any;
    static_assert(sizeof any == kColumnStep * sizeof b.special[0]);
    std::memcpy(&any, b.special + n, sizeof any);
    return any;
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

  /// The first magnitude that is not for here: no number, or a raw exponent above kBaseLimit.
  template <class P>
  static constexpr int32_t limit() {
    constexpr int kAll = (1 << P::kFieldBits) - 1, kBeyond = kBaseLimit + P::kBias + 1;
    return kBeyond < kAll ? kBeyond << P::kField : P::kSpecial;
  }
  template <class P>
  static int raw_of(int32_t magnitude) {
    const int32_t field = magnitude >> P::kField;
    return (field ? field : 1) - P::kBias;
  }
  /// Rows with factors: which of them are for the wide way, and the largest raw exponent of the others.
  template <class P>
  static int scaled_base(const uint8_t* scales, const int32_t* largest, uint32_t rows, int32_t* shift, Panel& p) {
    int top = -1000;
    for (uint32_t r = 0; r < rows; ++r) {
      shift[r] = int32_t(scales[r]) - 127;
      const int raw = raw_of<P>(largest[r]) + shift[r];
      p.special[r] = scales[r] == 0xff || largest[r] >= limit<P>() || (largest[r] && raw > kBaseLimit);
      p.any_special |= p.special[r];
      if (!p.special[r] && largest[r] && raw > top) top = raw;
    }
    return top > -1000 ? top : 0;
  }

  /// f16, bf16 or tf32; of a panel for more than 16 terms: of 8 bits or less.
  template <bool kBroadcast>
  static bool unpack(Format f, const void* planes, const uint8_t* scales, uint32_t rows, uint32_t terms, bool flip,
                     int other_base, Panel& p) {
    const auto as = [&]<class P>(P) {
      const auto* words = static_cast<const typename P::Word*>(planes);
      return unpack_panel<P, kBroadcast>(words, scales, rows, terms, flip, other_base, p);
    };
    if constexpr (kTerms == 16) {
      if (f == Format::f16) return as(F16{});
      if (f == Format::bf16) return as(Bf16{});
      return as(Tf32{});
    } else {
      if (f == Format::e4m3) return as(E4m3{});
      if (f == Format::e5m2) return as(E5m2{});
      if (f == Format::e3m2) return as(E3m2{});
      if (f == Format::e2m3) return as(E2m3{});
      return as(E2m1{});
    }
  }
};

}  // namespace tinygpu::numerics
