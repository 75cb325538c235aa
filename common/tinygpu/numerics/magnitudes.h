// The largest and the least elements of an operand, by which the vector kernels tell what they can do.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/lanes.h"
#include "common/tinygpu/numerics/patterns.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

/// Magnitudes are patterns without their sign.
template <class P>
struct Magnitudes {
  using Word = typename P::Word;
  alignas(64) Word of_row[kPlane];  // each row's largest
  Word largest;
  Word least;  // of the elements that aren't zero; if all are, zero

  Magnitudes(const Word* planes, uint32_t rows, uint32_t terms) {
    constexpr hn::ScalableTag<Word> kWords;
    constexpr uint32_t kStep = hn::MaxLanes(kWords);
    auto high = Zero(kWords), low = Set(kWords, Word(-1));
    for (uint32_t r = 0; r < rows; r += kStep) {
      // A last vector may reach beyond the rows.
      const auto here = VecFromMask(kWords, first_lanes(kWords, rows - r));
      const auto mask = And(here, Set(kWords, Word(P::kMagnitude)));
      auto most = Zero(kWords), least_here = Set(kWords, Word(-1));
      for (uint32_t k = 0; k < terms; ++k) {
        const auto magnitude = And(LoadU(kWords, planes + size_t(k) * kPlane + r), mask);
        most = Max(most, magnitude);
        least_here = Min(least_here, Sub(magnitude, Set(kWords, Word(1))));  // a zero becomes the largest
      }
      Store(most, kWords, of_row + r);
      high = Max(high, most), low = Min(low, least_here);
    }
    alignas(64) Word tops[kStep], bottoms[kStep];
    Store(high, kWords, tops), Store(low, kWords, bottoms);
    largest = tops[0], least = bottoms[0];
    for (uint32_t i = 1; i < kStep; ++i) {
      largest = tops[i] > largest ? tops[i] : largest;
      least = bottoms[i] < least ? bottoms[i] : least;
    }
    ++least;
  }
};

/// The exponent of a magnitude that is a number: a subnormal's is the smallest normal's.
template <class P>
int32_t raw_exponent(int32_t magnitude) {
  const int32_t field = magnitude >> P::kField;
  return (field ? field : 1) - P::kBias;
}

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
