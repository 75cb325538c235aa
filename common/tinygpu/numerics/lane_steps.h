// What is said in the words of lanes.h alone, whatever its vectors are: included at the end of either (web/port has
// WebAssembly's).
#pragma once
#include <cstdint>

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

/// Calls body(Index<0>()) to body(Index<count − 1>()). Constant indices keep arrays of vectors in registers.
template <uint32_t i>
struct Index {
  static constexpr uint32_t value = i;
};
template <uint32_t count, uint32_t from = 0, class Body>
[[gnu::always_inline]] inline void each(const Body& body) {
  if constexpr (from < count) {
    body(Index<from>());
    each<count, from + 1>(body);
  }
}

/// Of words of C.
template <bool kHalf>
[[gnu::always_inline]] inline F number_of(I words) {
  return kHalf ? from_half(words) : as_float(words);
}
template <bool kHalf>
[[gnu::always_inline]] inline F old_value(const int32_t* d) {
  return number_of<kHalf>(load(d));
}

/// Patterns as the bits of f32 numbers.
template <class P>
I number(I words) {
  const I magnitude = And(words, set(P::kMagnitude)), in_place = shl<23 - P::kField>(magnitude);
  const I sign = shl<32 - P::kBits>(And(words, set(int32_t(1u << (P::kBits - 1)))));
  if constexpr (P::kFieldBits == 8) return Or(sign, in_place);
  // In f32's place the exponent is 127 − bias too small.
  I bits = as_int(Mul(as_float(in_place), as_float(set((254 - P::kBias) << 23))));
  bits = IfThenElse(Gt(magnitude, set(P::kSpecial - 1)), set(0x7f800001), bits);
  if constexpr (P::kInfinities) bits = IfThenElse(Eq(magnitude, set(P::kSpecial)), set(0x7f800000), bits);
  return Or(sign, bits);
}

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
