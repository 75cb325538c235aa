// mma() with AVX2.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX2__) && defined(__F16C__)
#include <immintrin.h>

#include "common/tinygpu/numerics/mma_vector.h"

namespace tinygpu::numerics {
namespace {

struct Avx2 {
  using I = __m256i;
  using F = __m256;
  static constexpr uint32_t kLanes = 8;

  /// Rounding toward zero, subnormal operands and results taken as zero; returns the old control word.
  static unsigned round_toward_zero() {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x6000 | 0x8040);
    return saved;
  }
  static void restore(unsigned saved) { _mm_setcsr(saved); }

  static I zero() { return _mm256_setzero_si256(); }
  static I set(int32_t v) { return _mm256_set1_epi32(v); }
  static I load(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(int32_t* p, I v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static F load_float(const float* p) { return _mm256_loadu_ps(p); }
  static F broadcast(const float* p) { return _mm256_broadcast_ss(p); }
  static I broadcast_int(const int32_t* p) {
    return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(p)));
  }
  static I add(I a, I b) { return _mm256_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I min(I a, I b) { return _mm256_min_epi32(a, b); }
  static I max_unsigned(I a, I b) { return _mm256_max_epu32(a, b); }
  static I bit_and(I a, I b) { return _mm256_and_si256(a, b); }
  static I shl23(I a) { return _mm256_slli_epi32(a, 23); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static I truncate(F a) { return _mm256_cvttps_epi32(a); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  /// Keeps the compiler from regrouping the additions into `v`, which would cost more registers than there are.
  static void pin(I& v) { asm("" : "+x"(v)); }
  static F as_float(I a) { return _mm256_castsi256_ps(a); }
  static I as_int(F a) { return _mm256_castps_si256(a); }
  static bool all_at_most(I v, I limit) {
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(v, limit), limit)) == -1;
  }

  // 32 signed bytes.
  static I load8(const int8_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store8(uint8_t* p, I v) { _mm256_store_si256(reinterpret_cast<__m256i*>(p), v); }
  static I broadcast8(const uint32_t* p) {
    return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(p)));
  }
  static I adds8(I a, I b) { return _mm256_adds_epi8(a, b); }
  static I sub8(I a, I b) { return _mm256_sub_epi8(a, b); }
  static I set8(int8_t v) { return _mm256_set1_epi8(v); }
  static I max8(I a, I b) { return _mm256_max_epi8(a, b); }
  static I widen8(const uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }

  /// The f16 values in the low halves of the words.
  static F from_half(I words) {
    const I low = _mm256_and_si256(words, set(0xffff));
    const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    return _mm256_cvtph_ps(packed);
  }
  /// Their raw exponents as an f32 exponent field in place: 0 for zero, 255 for infinities and NaNs.
  static I half_field(I words) {
    const I magnitude = _mm256_and_si256(words, set(0x7fff));
    const I field = _mm256_max_epi32(_mm256_srli_epi32(magnitude, 10), set(1));
    I out = shl23(_mm256_add_epi32(field, set(127 - 15)));
    out = _mm256_or_si256(out, _mm256_and_si256(_mm256_cmpeq_epi32(field, set(31)), set(0x7f800000)));
    return _mm256_andnot_si256(_mm256_cmpeq_epi32(magnitude, zero()), out);
  }
  /// sum * power as f16 words, to nearest even: through a sticky bit below f32's precision, so rounded once.
  static I to_half(I sum, F power) {
    const F cut = to_float(sum);
    const I exact = _mm256_cmpeq_epi32(truncate(cut), sum);
    const F sticky = as_float(_mm256_or_si256(as_int(cut), _mm256_andnot_si256(exact, set(1))));
    const __m128i half = _mm256_cvtps_ph(mul(sticky, power), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const I words = _mm256_cvtepu16_epi32(half);
    const I is_zero = _mm256_cmpeq_epi32(_mm256_and_si256(words, set(0x7fff)), zero());
    return _mm256_andnot_si256(is_zero, words);
  }
};

}  // namespace

bool mma_v3(const MmaTile& tile) { return VectorMma<Avx2>::run(tile); }

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_v3(const MmaTile&) { return false; }
}  // namespace tinygpu::numerics
#endif
