// Largest raw exponents of products, found in bytes for many rows at a time: what windows depend on.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/lanes.h"
#include "common/tinygpu/numerics/magnitudes.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

/// Raw exponents of an operand of 8-bit elements, element (k, r) at [k * kPlane + r]. A zero's is far below, so that
/// its products' are kNoProduct at most.
struct ElementExponents {
  static constexpr int8_t kZero = -64, kNoProduct = -33;
  alignas(64) int8_t of[2 * kMaxTerms * kPlane];

  template <class P>
  void fill(const uint8_t* planes, uint32_t rows, uint32_t terms) {
    static_assert(P::kBits <= 8 && 1 - P::kBias > kNoProduct / 2 &&
                  (1 << P::kFieldBits) - P::kBias < kNoProduct - kZero);
    const auto mask = Set(kU8, uint8_t(P::kMagnitude)), one = Set(kU8, 1);
    for (uint32_t k = 0; k < terms; ++k)
      for (uint32_t r = 0; r < rows; r += 4 * kLanes) {
        const auto magnitude = And(LoadU(kU8, planes + k * kPlane + r), mask);
        const auto field = BitCast(kS8, Max(hn::ShiftRight<P::kField>(magnitude), one));
        const auto zero = Eq(BitCast(kS8, magnitude), Zero(kS8));
        Store(IfThenElse(zero, Set(kS8, kZero), Sub(field, Set(kS8, P::kBias))), kS8, of + k * kPlane + r);
      }
  }
};

/// The largest raw exponents of products without their scales, of each group of terms, for the kBytes rows of a tile of
/// which `row` is one by kStep columns.
struct ProductExponents {
  static constexpr uint32_t kBytes = 4 * kLanes, kStep = 4, kMostGroups = 4;
  uint32_t first = 1, column = 0;  // of what they are; `first` of no tile is odd
  alignas(64) int8_t of[kMostGroups][kStep][kBytes];

  void look(const ElementExponents& a, const ElementExponents& b, uint32_t terms, uint32_t groups, uint32_t row,
            uint32_t n) {
    if (first == row / kBytes * kBytes && column == n) return;
    first = row / kBytes * kBytes, column = n;
    for (uint32_t g = 0; g < groups; ++g) {
      Byte most[kStep];
      each<kStep>([&](auto j) { most[j.value] = Set(kS8, -128); });
      for (uint32_t k = g * terms / groups; k < (g + 1) * terms / groups; ++k) {
        const Byte e = Load(kS8, a.of + k * kPlane + first);
        const int8_t* scalars = b.of + k * kPlane + n;
        each<kStep>([&](auto j) { most[j.value] = Max(most[j.value], Add(e, Set(kS8, scalars[j.value]))); });
      }
      each<kStep>([&](auto j) { Store(most[j.value], kS8, of[g][j.value]); });
    }
  }
  /// Those of kLanes rows by column n + j.
  I words(uint32_t group, uint32_t row, uint32_t j) const {
    const hn::Rebind<int8_t, decltype(kS32)> bytes;
    return PromoteTo(kS32, LoadU(bytes, of[group][j] + (row - first)));
  }
};

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
