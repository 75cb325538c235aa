// Sums of floats one product after the other, as the model does it (fused_sum.h), a vector of rows by kStep columns:
// for every format, operand and rule. The other kernels leave to it what they can't show to be exact.
//
// An element is an f64, a product of two is one exactly. Times 2^(window − e), e being the sum's largest raw exponent,
// it is cut to an integer; so the sum is exact, and rounded once. Infinities and NaNs are the f64's own: what sums and
// products of f64 make of them is what the model asks for.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/lanes.h"
#include "common/tinygpu/numerics/patterns.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

class General {
 public:
  static constexpr uint32_t kStep = 4;
  explicit General(const MmaTile& t) : t_(t) {}
  static bool knows(const MmaTile& t) {
    return (t.sum == SumKind::fused || t.sum == SumKind::scaled) && t.terms <= kMaxTerms &&
           info(t.a_format).exponent_bits != 0;
  }

  /// Whether it does the tile: not where an infinity or NaN meets a missing element of A, which is a zero here.
  bool begin() {
    if (ready_) return true;
    const TowardZero mode(false);
    const bool special = unpack(t_.b_format, t_.b, t_.b_scales, t_.columns, t_.negate_b, b_);
    if (special && t_.spread) return false;
    unpack(t_.a_format, t_.a, t_.a_scales, t_.rows, t_.negate_a, a_);
    return ready_ = true;
  }
  /// The vectors of rows `row` to `end` − 1 by columns n to n + kStep − 1.
  void sums(uint32_t row, uint32_t end, uint32_t n) {
    const TowardZero mode(false);
    for (; row < end; row += kLanes)
      t_.rule.result == SumRule::Result::f16_nearest ? step<true>(row, n) : step<false>(row, n);
  }
  /// The whole tile; false, and nothing done: see begin().
  bool run() {
    if (!begin()) return false;
    for (uint32_t n = 0; n < t_.columns; n += kStep) sums(0, t_.rows, n);
    return true;
  }

 private:
  static constexpr int32_t kNothing = -1000;  // raw exponent of zeros, infinities and NaNs
  static constexpr int32_t kMagnitude = 0x7fffffff, kInfinity = 0x7f800000;

  /// Element (k, r) at [k * kPlane + r].
  struct Operand {
    alignas(64) double value[kMaxTerms * kPlane];
    alignas(64) int32_t exponent[kMaxTerms * kPlane];  // raw
    alignas(64) int32_t scale[kPlane];
  };

  /// The raw exponents of f32 numbers, of a format whose least one is given.
  static I raw_exponents(I bits, int32_t least) {
    const I magnitude = And(bits, set(kMagnitude));
    const M number = And(Gt(magnitude, Zero(kS32)), Lt(magnitude, set(kInfinity)));
    return IfThenElse(number, Max(Sub(shr<23>(magnitude), set(127)), set(least)), set(kNothing));
  }
  /// Whether some element is an infinity or a NaN. A scale that is a NaN makes its row's first element one.
  bool unpack(Format f, const void* planes, const uint8_t* scales, uint32_t rows, bool flip, Operand& to) {
    M special = Lt(Zero(kS32), Zero(kS32));
    with_patterns(f, [&]<class P>(P) {
      const auto* words = static_cast<const typename P::Word*>(planes);
      for (uint32_t k = 0; k < t_.terms; ++k)
        for (uint32_t r = 0; r < rows; r += kLanes) {
          const I bits = Xor(number<P>(load_words(words + k * kPlane + r)), set(flip ? INT32_MIN : 0));
          Doubles::of(as_float(bits)).store(to.value + k * kPlane + r);
          store(raw_exponents(bits, 1 - P::kBias), to.exponent + k * kPlane + r);
          const M here = first_lanes(kS32, rows - r);
          special = Or(special, And(here, Gt(And(bits, set(kMagnitude)), set(kInfinity - 1))));
        }
    });
    bool nan = false;
    for (uint32_t r = 0; r < rows && t_.sum == SumKind::scaled; ++r) {
      to.scale[r] = int32_t(scales[r]) - 127;
      if (scales[r] != 0xff) continue;
      to.value[r] = __builtin_nan("");
      to.exponent[r] = kNothing;
      nan = true;
    }
    return nan || !AllFalse(kS32, special);
  }

  template <bool kHalf>
  void step(uint32_t row, uint32_t n) {
    const bool scaled = t_.sum == SumKind::scaled;
    const I window = set(t_.rule.window), floor = set(t_.rule.floor > -400 ? t_.rule.floor : -400);
    I top[kStep], scale[kStep], old[kStep];
    each<kStep>([&](auto j) { top[j.value] = set(kNothing); });
    for (uint32_t k = 0; k < t_.terms; ++k) {
      const I e = load(a_.exponent + k * kPlane + row);
      const int32_t* b = b_.exponent + k * kPlane + n;
      each<kStep>([&](auto j)
                      __attribute__((always_inline)) { top[j.value] = Max(top[j.value], Add(e, set(b[j.value]))); });
    }
    M none[kStep];  // no finite product
    Doubles sum[kStep], unit[kStep];
    auto* const d = reinterpret_cast<int32_t*>(t_.word(row, n));
    each<kStep>([&](auto index) __attribute__((always_inline)) {
      constexpr uint32_t j = index.value;
      scale[j] = scaled ? Add(load(a_.scale + row), set(b_.scale[n + j])) : Zero(kS32);
      none[j] = Lt(top[j], set(kNothing / 2));
      old[j] = t_.read_c ? load(d + j * size_t(t_.column_stride)) : Zero(kS32);
      const F c = number_of<kHalf>(old[j]);
      const I c_scale = Add(scale[j], set(t_.c_scale)), c_top = raw_exponents(as_int(c), kHalf ? -14 : -126);
      top[j] = Max(Max(top[j], Sub(floor, scale[j])), Sub(c_top, c_scale));
      const I places = Sub(window, top[j]);
      unit[j] = Doubles::power(places);
      sum[j] = (Doubles::of(c) * Doubles::power(Sub(places, c_scale))).whole();
    });
    for (uint32_t k = 0; k < t_.terms; ++k) {
      const Doubles a = Doubles::load(a_.value + k * kPlane + row);
      const double* b = b_.value + k * kPlane + n;
      each<kStep>([&](auto j) __attribute__((always_inline)) {
        sum[j.value] = sum[j.value] + (a * Set(kF64, b[j.value]) * unit[j.value]).whole();
      });
    }
    each<kStep>([&](auto index) __attribute__((always_inline)) {
      constexpr uint32_t j = index.value;
      const Doubles exact = sum[j] * Doubles::power(Sub(Add(top[j], scale[j]), window));
      const I magnitude_mask = set(kHalf ? 0x7fff : kMagnitude), infinity = set(kHalf ? 0x7c00 : kInfinity);
      I words = kHalf ? exact.half_words() : exact.words();
      const I magnitude = And(words, magnitude_mask);
      if (t_.rule.result == SumRule::Result::f32_14_bits) {
        words = And(words, set(~0x3ff));
        words = IfThenElseZero(Ne(And(words, magnitude_mask), Zero(kS32)), words);
      }
      if (scaled) words = IfThenElse(And(none[j], Lt(magnitude, infinity)), old[j], words);
      store(IfThenElse(Gt(magnitude, infinity), set(int32_t(kHalf ? kNanF16 : kNanF32)), words),
            d + j * size_t(t_.column_stride));
    });
  }

  const MmaTile& t_;
  bool ready_ = false;
  Operand a_, b_;
};

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
