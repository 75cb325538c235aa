// Vectors of the instruction set that a translation unit is compiled for, over Highway; and the few operations that
// Highway lacks or that cost more there. Included only by units that CMake compiles once for each level, GEN5_MMA_LEVEL
// being the level's name and a namespace, so that the linker can't mix their inline functions.
#pragma once
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "common/tinygpu/numerics/mma_kernel.h"
#include "common/tinygpu/numerics/patterns.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

namespace hn = hwy::HWY_NAMESPACE;

inline constexpr hn::ScalableTag<int32_t> kS32;
inline constexpr hn::ScalableTag<uint32_t> kU32;
inline constexpr hn::ScalableTag<uint64_t> kU64;
inline constexpr hn::ScalableTag<int16_t> kS16;
inline constexpr hn::ScalableTag<uint16_t> kU16;
inline constexpr hn::ScalableTag<int8_t> kS8;
inline constexpr hn::ScalableTag<uint8_t> kU8;
inline constexpr hn::ScalableTag<float> kF32;
inline constexpr hn::ScalableTag<double> kF64;
inline constexpr hn::Half<decltype(kF32)> kHalfF32;
using I = hn::Vec<decltype(kS32)>;
using Short = hn::Vec<decltype(kS16)>;
using Byte = hn::Vec<decltype(kS8)>;
using F = hn::Vec<decltype(kF32)>;
using D = hn::Vec<decltype(kF64)>;
using M = hn::Mask<decltype(kS32)>;
inline constexpr uint32_t kLanes = hn::MaxLanes(kS32);

/// While it lives, this thread rounds toward zero. `flush`: subnormal f32 and f64 count as zero.
class TowardZero {
 public:
  explicit TowardZero(bool flush) : saved_(_mm_getcsr()) {
    _mm_setcsr(((saved_ | 0x6000) & ~0x8040u) | (flush ? 0x8040 : 0));
  }
  ~TowardZero() { _mm_setcsr(saved_); }
  TowardZero(const TowardZero&) = delete;
  TowardZero& operator=(const TowardZero&) = delete;

 private:
  const unsigned saved_;
};

// x86 instructions.
#if HWY_TARGET == HWY_AVX2
#define MM(name) _mm256_##name
#elif HWY_TARGET == HWY_AVX3
#define MM(name) _mm512_##name
#else
#error "this level has no vectors here"
#endif
/// Toward zero; of what no int32 holds, anything. ConvertTo() would mend that.
inline I truncate(F a) { return I{MM(cvttps_epi32)(a.raw)}; }
/// 16-bit words as bytes, eight of either in each 16 bytes.
inline Byte pack(Short a, Short b) { return Byte{MM(packs_epi16)(a.raw, b.raw)}; }
/// The low words of pairs.
inline I low_words(D first, D second) {
  return BitCast(kS32, F{MM(shuffle_ps)(MM(castpd_ps)(first.raw), MM(castpd_ps)(second.raw), 0b10001000)});
}
/// Of a 64-bit integer: on Zen 4 vbroadcastsd takes twice as long. GCC would fetch some by way of a general register.
inline D broadcast(const double* p) {
  D d;
  asm("vpbroadcastq %1, %0" : "=v"(d.raw) : "m"(*p));
  return d;
}
/// sum += a * b. The compiler's own choice among the forms of the instruction adds moves.
inline void accumulate(D& sum, D a, D b) { asm("vfmadd231pd %2, %1, %0" : "+v"(sum.raw) : "v"(a.raw), "v"(b.raw)); }
/// Keeps the compiler from moving work from step to step of the chains that these are part of.
inline void pin(D& a, D& b, D& c, D& d) { asm volatile("" : "+v"(a.raw), "+v"(b.raw), "+v"(c.raw), "+v"(d.raw)); }
#undef MM

/// The first `count` lanes. FirstN() takes large counts modulo something.
template <class Tag>
hn::Mask<Tag> first_lanes(Tag d, uint32_t count) {
  return FirstN(d, count < hn::MaxLanes(d) ? count : hn::MaxLanes(d));
}

// 32-bit words.
inline I set(int32_t v) { return Set(kS32, v); }
inline I load(const int32_t* p) { return LoadU(kS32, p); }
inline void store(I v, int32_t* p) { StoreU(v, kS32, p); }
template <class Word>
I load_words(const Word* p) {
  if constexpr (sizeof(Word) == 4)
    return BitCast(kS32, LoadU(kU32, p));
  else
    return PromoteTo(kS32, LoadU(hn::Rebind<Word, decltype(kS32)>(), p));
}
template <int n>
I shl(I a) {
  return hn::ShiftLeft<n>(a);
}
template <int n>
I shr(I a) {
  return BitCast(kS32, hn::ShiftRight<n>(BitCast(kU32, a)));
}
/// Unsigned.
inline bool all_at_most(I v, I limit) {
  return AllTrue(kS32, Eq(BitCast(kS32, Max(BitCast(kU32, v), BitCast(kU32, limit))), limit));
}

// Bytes.
/// The low byte of each lane in all bytes of the lane.
inline I low_byte_in_all(I v) {
  alignas(16) static constexpr uint8_t kFrom[16] = {0, 0, 0, 0, 4, 4, 4, 4, 8, 8, 8, 8, 12, 12, 12, 12};
  return BitCast(kS32, TableLookupBytes(BitCast(kU8, v), LoadDup128(kU8, kFrom)));
}
/// The low byte of each lane, one after the other.
inline void store_bytes(I v, uint8_t* p) {
  const hn::Rebind<uint8_t, decltype(kS32)> bytes;
  StoreU(DemoteTo(bytes, v), bytes, p);
}
/// The words, of −128 to 127: in each 16 bytes four of a, four of b, four of c, four of d.
inline Byte low_bytes(I a, I b, I c, I d) { return pack(ReorderDemote2To(kS16, a, b), ReorderDemote2To(kS16, c, d)); }

inline F as_float(I a) { return BitCast(kF32, a); }
inline I as_int(F a) { return BitCast(kS32, a); }
inline D low_double(F a) { return PromoteTo(kF64, LowerHalf(a)); }
inline D high_double(F a) { return PromoteTo(kF64, UpperHalf(kHalfF32, a)); }
inline F narrow(D low, D high) { return Combine(kF32, DemoteTo(kHalfF32, high), DemoteTo(kHalfF32, low)); }

/// The f16 values in the low halves of words.
inline F from_half(I words) {
  const hn::Rebind<hwy::float16_t, decltype(kF32)> half;
  const auto halves = TruncateTo(hn::Rebind<uint16_t, decltype(kF32)>(), BitCast(kU32, words));
  return PromoteTo(kF32, BitCast(half, halves));
}
/// f16 words, to nearest even; no negative zero.
inline I round_half(F v) {
  const hn::Rebind<hwy::float16_t, decltype(kF32)> half;
  const I words = PromoteTo(kS32, BitCast(hn::Rebind<uint16_t, decltype(kF32)>(), DemoteTo(half, v)));
  return IfThenElseZero(Ne(And(words, set(0x7fff)), Zero(kS32)), words);
}
/// With f32's last place set if something lies below it, so that rounding twice is like rounding once.
inline D sticky(D v) {
  const auto bits = BitCast(kU64, v), below = Set(kU64, 0x1fffffff);
  return BitCast(kF64, Or(bits, And(Add(And(bits, below), below), Set(kU64, 0x20000000))));
}
/// Two f64 vectors, of the first and of the second half of a vector's 32-bit lanes.
struct Doubles {
  D low, high;
  static Doubles of(F v) { return {low_double(v), high_double(v)}; }
  static Doubles of(I v) {
    return {PromoteTo(kF64, LowerHalf(v)), PromoteTo(kF64, UpperHalf(hn::Half<decltype(kS32)>(), v))};
  }
  /// 2^e.
  static Doubles power(I e) {
    const hn::RepartitionToWide<decltype(kS32)> wide;
    const auto of = [&](auto half) {
      return BitCast(kF64, hn::ShiftLeft<52>(Add(PromoteTo(wide, half), Set(wide, 1023))));
    };
    return {of(LowerHalf(e)), of(UpperHalf(hn::Half<decltype(kS32)>(), e))};
  }
  static Doubles load(const double* p) { return {LoadU(kF64, p), LoadU(kF64, p + kLanes / 2)}; }
  void store(double* p) const { StoreU(low, kF64, p), StoreU(high, kF64, p + kLanes / 2); }
  Doubles operator*(const Doubles& o) const { return {Mul(low, o.low), Mul(high, o.high)}; }
  Doubles operator*(D o) const { return {Mul(low, o), Mul(high, o)}; }
  Doubles operator+(const Doubles& o) const { return {Add(low, o.low), Add(high, o.high)}; }
  Doubles plus_product(const Doubles& a, const Doubles& b) const {
    return {MulAdd(a.low, b.low, low), MulAdd(a.high, b.high, high)};
  }
  /// Toward zero.
  Doubles whole() const { return {Trunc(low), Trunc(high)}; }
  /// f32 words toward zero; from 2^128 on infinity; no negative zero.
  I words() const {
    const auto bounded = [](D v) { return IfThenElse(Ge(Abs(v), Set(kF64, 0x1p128)), CopySign(Inf(kF64), v), v); };
    const I word = as_int(narrow(bounded(low), bounded(high)));
    return IfThenElseZero(Ne(And(word, set(0x7fffffff)), Zero(kS32)), word);
  }
  /// f16 words to nearest even; no negative zero.
  I half_words() const { return round_half(narrow(sticky(low), sticky(high))); }
};

// f64 in pairs: lanes 0 and 1 of each four f32 lanes in one vector, 2 and 3 in the other.
inline D first_doubles(F a) { return low_double(BitCast(kF32, ConcatEven(kF64, BitCast(kF64, a), BitCast(kF64, a)))); }
inline D second_doubles(F a) { return low_double(BitCast(kF32, ConcatOdd(kF64, BitCast(kF64, a), BitCast(kF64, a)))); }
inline D first_pairs(I low, I high) { return BitCast(kF64, InterleaveLower(kS32, low, high)); }
inline D second_pairs(I low, I high) { return BitCast(kF64, InterleaveUpper(kS32, low, high)); }
inline F narrow_pairs(D first, D second) {
  alignas(64) static constexpr int64_t kOrder[] = {0, kLanes / 4,     1, kLanes / 4 + 1,
                                                   2, kLanes / 4 + 2, 3, kLanes / 4 + 3};
  const hn::RepartitionToWide<decltype(kS32)> wide;
  return BitCast(kF32,
                 TableLookupLanes(BitCast(kF64, narrow(first, second)), IndicesFromVec(kF64, Load(wide, kOrder))));
}

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL

#include "common/tinygpu/numerics/lane_steps.h"
