// mma() with AVX-512.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include <immintrin.h>

#include "common/tinygpu/numerics/mma_vector.h"

namespace tinygpu::numerics {
namespace {

struct Avx512 {
  using I = __m512i;
  using F = __m512;
  static constexpr uint32_t kLanes = 16;

  /// Rounding toward zero, subnormal operands and results taken as zero; returns the old control word.
  static unsigned round_toward_zero() {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x6000 | 0x8040);
    return saved;
  }
  static void restore(unsigned saved) { _mm_setcsr(saved); }

  static I zero() { return _mm512_setzero_si512(); }
  static I set(int32_t v) { return _mm512_set1_epi32(v); }
  static I load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(int32_t* p, I v) { _mm512_storeu_si512(p, v); }
  static F load_float(const float* p) { return _mm512_loadu_ps(p); }
  static F broadcast(const float* p) { return _mm512_set1_ps(*p); }
  static I broadcast_int(const int32_t* p) { return _mm512_set1_epi32(*p); }
  static I add(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I min(I a, I b) { return _mm512_min_epi32(a, b); }
  static I max_unsigned(I a, I b) { return _mm512_max_epu32(a, b); }
  static I bit_and(I a, I b) { return _mm512_and_si512(a, b); }
  static I shl23(I a) { return _mm512_slli_epi32(a, 23); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static I truncate(F a) { return _mm512_cvttps_epi32(a); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  /// Keeps the compiler from regrouping the additions into `v`, which would cost more registers than there are.
  static void pin(I& v) { asm("" : "+v"(v)); }
  static F as_float(I a) { return _mm512_castsi512_ps(a); }
  static I as_int(F a) { return _mm512_castps_si512(a); }
  static bool all_at_most(I v, I limit) { return _mm512_cmpgt_epu32_mask(v, limit) == 0; }

  // 64 signed bytes.
  static I load8(const int8_t* p) { return _mm512_loadu_si512(p); }
  static void store8(uint8_t* p, I v) { _mm512_store_si512(p, v); }
  static I broadcast8(const uint32_t* p) { return _mm512_set1_epi32(int32_t(*p)); }
  static I adds8(I a, I b) { return _mm512_adds_epi8(a, b); }
  static I sub8(I a, I b) { return _mm512_sub_epi8(a, b); }
  static I set8(int8_t v) { return _mm512_set1_epi8(v); }
  static I max8(I a, I b) { return _mm512_max_epi8(a, b); }
  static I widen8(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }

  /// The f16 values in the low halves of the words.
  static F from_half(I words) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)); }
  /// Their raw exponents as an f32 exponent field in place: 0 for zero, 255 for infinities and NaNs.
  static I half_field(I words) {
    const I magnitude = _mm512_and_si512(words, set(0x7fff));
    const I field = _mm512_max_epi32(_mm512_srli_epi32(magnitude, 10), set(1));
    I out = shl23(_mm512_add_epi32(field, set(127 - 15)));
    out = _mm512_mask_mov_epi32(out, _mm512_cmpeq_epi32_mask(field, set(31)), set(0x7f800000));
    return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(magnitude, magnitude), out);
  }
  /// sum * power as f16 words, to nearest even: through a sticky bit below f32's precision, so rounded once.
  static I to_half(I sum, F power) {
    const F cut = to_float(sum);
    const I bits = _mm512_mask_or_epi32(as_int(cut), _mm512_cmpneq_epi32_mask(truncate(cut), sum), as_int(cut), set(1));
    const __m256i half = _mm512_cvtps_ph(mul(as_float(bits), power), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
    const I words = _mm512_cvtepu16_epi32(half);
    return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(words, set(0x7fff)), words);
  }
};

}  // namespace

bool mma_v4(const MmaTile& tile) { return VectorMma<Avx512>::run(tile); }

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_v4(const MmaTile&) { return false; }
}  // namespace tinygpu::numerics
#endif
