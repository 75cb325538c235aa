#include "common/tinygpu/engines/tma/reduction.h"

#include <cmath>
#include <cstring>

#include "common/tinygpu/base/halves.h"

namespace tinygpu {
namespace {

template <class T, class F>
void each(uint8_t* to, const uint8_t* from, size_t bytes, F&& f) {
  for (size_t i = 0; i + sizeof(T) <= bytes; i += sizeof(T)) {
    T a, b;
    std::memcpy(&a, to + i, sizeof(T));
    std::memcpy(&b, from + i, sizeof(T));
    a = f(a, b);
    std::memcpy(to + i, &a, sizeof(T));
  }
}

template <class U, class S>
void integer(ReduceOperation op, uint8_t* to, const uint8_t* from, size_t bytes) {
  // S orders; sums and bits are the same for both signs.
  switch (op) {
    case ReduceOperation::add: return each<U>(to, from, bytes, [](U a, U b) { return U(a + b); });
    case ReduceOperation::min: return each<U>(to, from, bytes, [](U a, U b) { return S(a) < S(b) ? a : b; });
    case ReduceOperation::max: return each<U>(to, from, bytes, [](U a, U b) { return S(a) > S(b) ? a : b; });
    case ReduceOperation::inc: return each<U>(to, from, bytes, [](U a, U b) { return a >= b ? U(0) : U(a + 1); });
    case ReduceOperation::dec: return each<U>(to, from, bytes, [](U a, U b) { return a == 0 || a > b ? b : U(a - 1); });
    case ReduceOperation::bit_and: return each<U>(to, from, bytes, [](U a, U b) { return U(a & b); });
    case ReduceOperation::bit_or: return each<U>(to, from, bytes, [](U a, U b) { return U(a | b); });
    case ReduceOperation::bit_xor: return each<U>(to, from, bytes, [](U a, U b) { return U(a ^ b); });
  }
}

// 16-bit floats: add through f32, whose 24 bits make the second rounding harmless (24 >= 2p + 2 for p = 11 and 8).
template <class Half>
void small_float(ReduceOperation op, uint8_t* to, const uint8_t* from, size_t bytes) {
  each<Half>(to, from, bytes, [op](Half a, Half b) {
    const float x = value(a), y = value(b);
    if (op == ReduceOperation::add) return nearest<Half>(x + y);
    // The number wins over a NaN; -0 is less than +0.
    if (std::isnan(x)) return std::isnan(y) ? Half(kCanonicalNaN16) : b;
    if (std::isnan(y)) return a;
    const bool less = x < y || (x == y && std::signbit(x) > std::signbit(y));
    return (op == ReduceOperation::min) == less ? a : b;
  });
}

}  // namespace

void reduce(ReduceOperation op, ReduceType t, uint8_t* to, const uint8_t* from, size_t bytes) {
  switch (t) {
    case ReduceType::u32: return integer<uint32_t, uint32_t>(op, to, from, bytes);
    case ReduceType::s32: return integer<uint32_t, int32_t>(op, to, from, bytes);
    case ReduceType::u64: return integer<uint64_t, uint64_t>(op, to, from, bytes);
    case ReduceType::s64: return integer<uint64_t, int64_t>(op, to, from, bytes);
    case ReduceType::f16: return small_float<f16>(op, to, from, bytes);
    case ReduceType::bf16: return small_float<bf16>(op, to, from, bytes);
    case ReduceType::f32: return each<float>(to, from, bytes, [](float a, float b) { return canonical(a + b); });
    case ReduceType::f64:
      // A NaN goes through as it is, signalling or not; of two, the operand's (measured on an H200).
      return each<double>(to, from, bytes, [](double a, double b) {
        return std::isnan(b) ? b : std::isnan(a) ? a : a + b;
      });
  }
}

}  // namespace tinygpu
