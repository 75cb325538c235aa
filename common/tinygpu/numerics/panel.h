// Operands as the fixed-point sums take them (fixed_point.h says why): unpacked once for a tile.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/lanes.h"
#include "common/tinygpu/numerics/magnitudes.h"
#include "common/tinygpu/numerics/patterns.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

inline constexpr uint32_t kBytes = 4 * kLanes;  // of a vector
inline constexpr uint32_t kBlock = 64;          // rows for which exponents are computed together
inline constexpr uint32_t kColumnStep = 4;
inline constexpr int kBaseLimit = 60;  // elements of larger raw exponent are not for here
inline constexpr int kBottom = -101;   // least window that is handled: q is a normal f32
inline constexpr int kLeast = -64;     // relative raw exponent of a zero, and of whatever lies farther below the base
inline constexpr int kNear = -31;      // two elements above it have a product above kLeast

/// An operand unpacked, in tiles that are read from end to end: element (k, r) of a tile of T rows at
/// [r / T * T * kTerms + k * T + r % T]. A, across vector lanes: T is kLanes for values, where rows 0 and 1 of each
/// four come first and rows 2 and 3 after them; kBytes for exponents and signs, where each 16 bytes hold four rows of
/// each vector of rows (row r at r % kLanes / 4 * 16 + r / kLanes * 4 + r % 4). B, which is broadcast: T is kLanes,
/// and each exponent fills four bytes.
template <uint32_t kTerms>
struct Panel {
  static constexpr uint32_t kNibbles = kTerms / 4;  // of a row's sign bits
  alignas(64) double value[kTerms * kPlane];        // divided by 2^base, moved away from zero
  alignas(64) int8_t exponent8[kTerms * kPlane];
  alignas(64) int32_t exponent8x4[kTerms * kPlane];
  alignas(64) uint8_t sign[kNibbles * kPlane];  // four terms' sign bits a byte; B: plane after plane
  int base;                                     // the largest raw exponent
  int least;                                    // of the elements that aren't zero; far below if that is not known

  /// Where column n of B begins.
  static constexpr size_t column_at(uint32_t n) { return n / kLanes * kLanes * kTerms + n % kLanes; }

  /// False if this operand is not for here: an infinity, a NaN, a number too large; or because no product reaches up to
  /// the windows of which q is normal, or significands might add up to too much. `other_base`: the other operand's.
  /// `scales`: a ue8m0 factor for each row, which is as if all its elements had larger exponents; or null.
  template <bool kBroadcast>
  bool unpack(const MmaTile& t, int other_base) {
    bool done = false;
    with_patterns(kBroadcast ? t.b_format : t.a_format, [&]<class P>(P) {
      if constexpr (P::kBits >= 16 ? kTerms <= 32 : kTerms >= 32)
        done =
            kBroadcast
                ? unpack_as<P, true>(t.b, t.scales ? t.b_scales : nullptr, t.columns, t.terms, t.negate_b, other_base)
                : unpack_as<P, false>(t.a, t.scales ? t.a_scales : nullptr, t.rows, t.terms, t.negate_a, other_base);
    });
    return done;
  }

 private:
  /// The first magnitude that is not for here: no number, or a raw exponent above kBaseLimit.
  template <class P>
  static constexpr int32_t limit() {
    constexpr int kAll = (1 << P::kFieldBits) - 1, kBeyond = kBaseLimit + P::kBias + 1;
    return kBeyond < kAll ? kBeyond << P::kField : P::kSpecial;
  }

  /// Puts away a vector of rows' values of term k. Words of smaller exponents are widened by moving their bits to f32's
  /// place, which leaves the value 2^(127 − bias) too small. What underflows is below any quantum.
  template <class P, bool kBroadcast>
  [[gnu::always_inline]] void store_value(I words, I magnitude, F scale, uint32_t row, uint32_t k) {
    I f32 = words;
    if constexpr (P::kBits == 32)
      f32 = And(words, set(int32_t(0x80000000u | P::kMagnitude)));
    else if constexpr (P::kFieldBits == 8)
      f32 = shl<16>(words);
    else
      f32 = Or(shl<32 - P::kBits>(Sub(words, magnitude)), shl<23 - P::kField>(magnitude));
    const F v = Mul(as_float(f32), scale);
    const D more = BitCast(kF64, Set(kU64, 0x3000000000000001));
    double* to = value + row * kTerms + k * kLanes;
    Store(Or(kBroadcast ? low_double(v) : first_doubles(v), more), kF64, to);
    Store(Or(kBroadcast ? high_double(v) : second_doubles(v), more), kF64, to + kLanes / 2);
  }

  /// The base and the least exponent. False: not for here. `shift`: exponents of the factors.
  template <class P>
  bool find_base(const typename P::Word* planes, const uint8_t* scales, uint32_t rows, uint32_t terms, int32_t* shift) {
    const Magnitudes<P> of(planes, rows, terms);
    if (int64_t(of.largest) >= limit<P>()) return false;
    base = of.largest ? raw_exponent<P>(of.largest) : 0;
    least = of.largest ? raw_exponent<P>(of.least) : base;
    if (!scales) return true;
    base = least = -1000;
    for (uint32_t r = 0; r < rows; ++r) {
      shift[r] = int32_t(scales[r]) - 127;
      const int raw = of.of_row[r] ? raw_exponent<P>(of.of_row[r]) + shift[r] : -1000;
      if (scales[r] == 0xff || raw > kBaseLimit) return false;
      if (raw > base) base = raw;
    }
    if (base == -1000) base = 0;
    return true;
  }

  template <class P, bool kBroadcast>
  bool unpack_as(const void* from, const uint8_t* scales, uint32_t rows, uint32_t terms, bool flip, int other_base) {
    constexpr int kField = P::kField, kBias = P::kBias;
    const auto* planes = static_cast<const typename P::Word*>(from);
    alignas(64) int32_t shift[kPlane];  // if there are factors
    if (!find_base<P>(planes, scales, rows, terms, shift) || base + other_base < kBottom) return false;

    const I magnitude_mask = set(P::kMagnitude), power = set(254 - kBias - base), sign_flip = set(flip ? INT32_MIN : 0);
    const I nibble_flip = set(flip ? (kBroadcast ? 15 : 0x0f0f0f0f) : 0), one = set(1), lowest = set(kLeast);
    // 16 products and C wrap around 32 bits at most if the significands of a row of A, which are 1 and a fraction, add
    // up to 31 or more.
    const I light = set((31 - int32_t(terms)) * (1 << kField) - 1);
    // Vectors of rows of A come in fours, whose bytes fill a vector. Of vectors behind the last row only the bytes
    // matter. Planes have room for them.
    constexpr uint32_t kTogether = kBroadcast ? 1 : 4;
    static_assert(kPlane >= kMaxRows + kTogether * kLanes);
    for (uint32_t first = 0; first < rows; first += kTogether * kLanes) {
      const uint32_t left = (rows - first + kLanes - 1) / kLanes;
      I signs[kTogether], fractions[kTogether], e[kTogether], bases[kTogether];
      F scales_of[kTogether];
      for (uint32_t w = 0; w < kTogether; ++w) {
        signs[w] = fractions[w] = Zero(kS32);
        // Where this leaves f32's range, elements are so far below the base that anything smaller than q will do.
        const I s = scales ? load(shift + (w < left ? first + w * kLanes : 0)) : Zero(kS32);
        scales_of[w] = as_float(Or(shl<23>(Min(Max(Add(power, s), one), set(254))), sign_flip));
        bases[w] = Sub(set(base + kBias), s);
      }
      for (uint32_t k = 0; k < terms; ++k) {
#pragma GCC unroll 4
        for (uint32_t w = 0; w < kTogether; ++w) {
          const uint32_t row = first + w * kLanes;
          const I words = load_words(planes + size_t(k) * kPlane + row), magnitude = And(words, magnitude_mask);
          store_value<P, kBroadcast>(words, magnitude, scales_of[w], row, k);
          if constexpr (!kBroadcast && kTerms == 16)
            fractions[w] = Add(fractions[w], And(magnitude, set((1 << kField) - 1)));
          const I relative = Sub(Max(shr<kField>(magnitude), one), bases[w]);
          e[w] = Max(IfThenElse(Eq(magnitude, Zero(kS32)), lowest, relative), lowest);
          if constexpr (kBroadcast) store(low_byte_in_all(e[w]), exponent8x4 + row * kTerms + k * kLanes);
          // Four terms' signs, the first in bit 0.
          const I sign = shl<3>(shr<P::kBits - 1>(words));
          signs[w] = k % 4 == 0 ? sign : Or(shr<1>(signs[w]), sign);
          if constexpr (kBroadcast)
            if (k % 4 == 3) store_bytes(Xor(signs[w], nibble_flip), sign_of(k, row));
        }
        if constexpr (!kBroadcast) {
          if (left < kTogether) [[unlikely]]
            for (uint32_t w = left; w < kTogether; ++w) e[w] = Zero(kS32);
          Store(low_bytes(e[0], e[1], e[2], e[3]), kS8, exponent8 + first * kTerms + k * kBytes);
          if (k % 4 == 3)
            Store(BitCast(kU8, Xor(BitCast(kS32, low_bytes(signs[0], signs[1], signs[2], signs[3])), nibble_flip)), kU8,
                  sign + first * kNibbles + k / 4 * kBytes);
        }
      }
      if constexpr (!kBroadcast && kTerms == 16)
        for (uint32_t w = 0; w < kTogether && w < left; ++w)
          if (!all_at_most(fractions[w], light)) return false;
    }
    // Windows are looked at for whole blocks: rows that are not there are as good as any.
    if constexpr (!kBroadcast)
      for (uint32_t r = (rows + kBytes - 1) / kBytes * kBytes; r % kBlock; r += kBytes)
        for (uint32_t k = 0; k < terms; ++k) Store(Zero(kS8), kS8, exponent8 + r * kTerms + k * kBytes);
    return true;
  }
  uint8_t* sign_of(uint32_t k, uint32_t column) { return sign + k / 4 * kPlane + column; }
};

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
