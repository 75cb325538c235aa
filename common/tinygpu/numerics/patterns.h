// How the vector kernels read a format's patterns.
#pragma once
#include <cstdint>

#include "common/tinygpu/numerics/formats.h"

namespace tinygpu::numerics {

/// What the patterns with all ones in the exponent are.
enum class Top { infinities_and_nans, one_nan, numbers };

/// The sign is the highest of kBits, then come kFieldBits of exponent; below the first kFractionBits behind these
/// nothing counts.
template <class Word_, int kBits_, int kFieldBits_, int kFractionBits_, int kBias_, Top kTop = Top::infinities_and_nans>
struct Patterns {
  using Word = Word_;
  static constexpr int kBits = kBits_, kFieldBits = kFieldBits_, kFractionBits = kFractionBits_, kBias = kBias_;
  static constexpr int kField = kBits - 1 - kFieldBits;  // the exponent's lowest bit
  static constexpr int32_t kMagnitude =
      int32_t((uint32_t(1) << (kBits - 1)) - (uint32_t(1) << (kField - kFractionBits)));
  static constexpr bool kInfinities = kTop == Top::infinities_and_nans;
  /// The least magnitude that is no number: infinity, or e4m3's only NaN, or none.
  static constexpr int32_t kSpecial = kInfinities            ? int32_t(((uint32_t(1) << kFieldBits) - 1) << kField)
                                      : kTop == Top::one_nan ? kMagnitude
                                                             : kMagnitude + 1;
};
using F16 = Patterns<uint16_t, 16, 5, 10, 15>;
using Bf16 = Patterns<uint16_t, 16, 8, 7, 127>;
using Tf32 = Patterns<uint32_t, 32, 8, 10, 127>;
using E5m2 = Patterns<uint8_t, 8, 5, 2, 15>;
using E4m3 = Patterns<uint8_t, 8, 4, 3, 7, Top::one_nan>;
using E3m2 = Patterns<uint8_t, 6, 3, 2, 3, Top::numbers>;
using E2m3 = Patterns<uint8_t, 6, 2, 3, 1, Top::numbers>;
using E2m1 = Patterns<uint8_t, 4, 2, 1, 1, Top::numbers>;

/// Calls body(Patterns<…>()) for a format.
template <class Body>
void with_patterns(Format f, const Body& body) {
  switch (f) {
    case Format::f16: return body(F16());
    case Format::bf16: return body(Bf16());
    case Format::tf32: return body(Tf32());
    case Format::e5m2: return body(E5m2());
    case Format::e4m3: return body(E4m3());
    case Format::e3m2: return body(E3m2());
    case Format::e2m3: return body(E2m3());
    default: return body(E2m1());
  }
}

}  // namespace tinygpu::numerics
