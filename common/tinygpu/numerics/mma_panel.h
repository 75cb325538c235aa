// Operands as the vector kernel's first way takes them (mma_vector.h says why): unpacked once for a tile.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics {

template <class V>
struct NarrowPanel {
  using I = typename V::I;
  using F = typename V::F;
  using D = typename V::D;
  static constexpr uint32_t kLanes = V::kLanes;
  static constexpr uint32_t kBytes = 4 * kLanes;  // of a vector
  static constexpr uint32_t kBlock = 64;          // rows for which exponents are computed together
  static constexpr uint32_t kTerms = 16;
  static constexpr uint32_t kColumnStep = 4;
  static constexpr int32_t kOne = 1 << 23;
  /// Where column n of B begins in a panel.
  static constexpr size_t column_at(uint32_t n) { return n / kLanes * kLanes * kTerms + n % kLanes; }

  static constexpr int kBaseLimit = 60;  // elements of larger raw exponent: wide
  static constexpr int kBottom = -101;   // least window that is handled: q is a normal f32
  static constexpr int kLeast = -64;     // relative raw exponent of a zero, and of whatever lies farther below the base
  static constexpr uint32_t kNibbles = 4;  // of a row's sign bits

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
    alignas(64) int32_t zeros[kPlane];            // a bit for each term, set if the element is zero
    bool special[kPlane];                         // the row has an element for the wide way
    bool any_special;
    bool heavy;  // A: the significands of a row may add up to 31 or more
    int base;
  };
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

    // f16 words are widened by moving their bits to f32's place, which leaves the value 2^(127 − bias) too small. What
    // underflows is below any quantum.
    const F scale = V::as_float(V::set((254 - kBias - p.base) * kOne | (flip ? INT32_MIN : 0)));
    const D more = V::set_double(__builtin_bit_cast(double, uint64_t(0x3000000000000001)));
    const auto value = [&](D d) { return V::or_double(d, more); };
    const I base = V::set(p.base + kBias), nibble_flip = V::set(flip ? 15 : 0);
    // A significand is at most 1 and the fraction: what a row's fractions add up to at most if it isn't heavy.
    const I light = V::set(int32_t(31 - terms) * (1 << kField) - 1);
    const I one = V::set(1), least = V::set(kLeast);
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
        const F f = V::mul(V::as_float(f32), scale);
        if constexpr (kBroadcast) {
          double* to = p.value + r0 * kTerms + k * kLanes;
          V::store_double(to, value(V::low_double(f)));
          V::store_double(to + kLanes / 2, value(V::high_double(f)));
        } else {
          const F pairs = V::in_pairs(f);
          double* to = p.value + r0 * kTerms + k * kLanes;
          V::store_double(to, value(V::low_double(pairs)));
          V::store_double(to + kLanes / 2, value(V::high_double(pairs)));
        }

        const auto zero = V::equal(magnitude, V::zero());
        zeros = V::add(zeros, zeros);
        zeros = V::select(zero, V::add(zeros, one), zeros);
        if constexpr (!kBroadcast) fractions = V::add(fractions, V::bit_and(magnitude, V::set((1 << kField) - 1)));

        // Of a special row, which nobody looks at, it may be anything.
        const I relative = V::sub(V::max(V::template shr<kField>(magnitude), one), base);
        const I e = V::max(V::select(zero, least, relative), least);
        if constexpr (kBroadcast)
          V::store(p.exponent8x4 + r0 * kTerms + k * kLanes, V::low_byte_in_all(e));
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
};

}  // namespace tinygpu::numerics
