// Tiles of narrow elements with AVX-512.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX512F__) && defined(__AVX512BW__)
#include "common/tinygpu/numerics/mma_avx512.h"
#include "common/tinygpu/numerics/mma_narrow.h"

namespace tinygpu::numerics {
namespace {

/// What narrow tiles need besides. Subnormals count here.
struct NarrowAvx512 : Avx512 {
  static unsigned round_toward_zero() {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr((saved | 0x6000) & ~0x8040u);
    return saved;
  }
  /// 2^e as f64.
  static double power(int32_t e) { return __builtin_bit_cast(double, uint64_t(1023 + e) << 52); }
  template <class T>
  static T least(T a, T b) {
    return a < b ? a : b;
  }
  template <class T>
  static T most(T a, T b) {
    return a > b ? a : b;
  }

  static I load(const void* p) { return _mm512_loadu_si512(p); }
  static void store(void* p, I v) { _mm512_storeu_si512(p, v); }
  static I broadcast(const int32_t* p) { return _mm512_set1_epi32(*p); }
  template <int n>
  static I shift_right(I a) {
    return _mm512_srli_epi32(a, n);
  }
  /// Zero for counts from 32 on.
  static I shift_left(I a, I n) { return _mm512_sllv_epi32(a, n); }
  /// Products of 16-bit halves, the two of each lane added.
  static I multiply_add(I a, I b) { return _mm512_madd_epi16(a, b); }

  // Truths.
  static M never() { return 0; }
  static M less(I a, I b) { return _mm512_cmplt_epi32_mask(a, b); }
  /// All bits or none.
  static I sign(I a) { return _mm512_srai_epi32(a, 31); }

  // 64 bytes.
  static I max8_unsigned(I a, I b) { return _mm512_max_epu8(a, b); }
  static I min8_unsigned(I a, I b) { return _mm512_min_epu8(a, b); }
  static I select_zero8(I v, I a, I b) { return _mm512_mask_mov_epi8(a, _mm512_test_epi8_mask(v, v), b); }
  // 32 16-bit words.
  static I set16(int16_t v) { return _mm512_set1_epi16(v); }
  static I sub16(I a, I b) { return _mm512_sub_epi16(a, b); }
  static I shift_right16(I a, int n) { return _mm512_srl_epi16(a, _mm_cvtsi32_si128(n)); }
  static I shift_left16(I a, int n) { return _mm512_sll_epi16(a, _mm_cvtsi32_si128(n)); }
  static I shift_left16_by(I a, I n) { return _mm512_sllv_epi16(a, n); }
  static I equal16(I a, I b) { return _mm512_movm_epi16(_mm512_cmpeq_epi16_mask(a, b)); }
  /// Bytes of two rows of 16 as pairs of 16-bit words.
  static __m256i interleave(const uint8_t* a, const uint8_t* b) {
    const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
    const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
    return _mm256_set_m128i(_mm_unpackhi_epi8(x, y), _mm_unpacklo_epi8(x, y));
  }
  static I pairs_unsigned(const uint8_t* a, const uint8_t* b) { return _mm512_cvtepu8_epi16(interleave(a, b)); }
  static I pairs_signed(const uint8_t* a, const uint8_t* b) { return _mm512_cvtepi8_epi16(interleave(a, b)); }
  /// Fours of lanes, `stride` words apart.
  static void store_fours(int32_t* p, uint32_t stride, I v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_castsi512_si128(v));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + stride), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 2 * stride), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + 3 * stride), _mm512_extracti32x4_epi32(v, 3));
  }
  /// Each of 16 bytes in all bytes of a lane.
  static void store_replicated(int32_t* p, uint32_t stride, const int8_t* bytes) {
    const I all = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes)));
    store_fours(p, stride,
                _mm512_shuffle_epi8(
                    all, _mm512_set_epi32(0x0f0f0f0f, 0x0e0e0e0e, 0x0d0d0d0d, 0x0c0c0c0c, 0x0b0b0b0b, 0x0a0a0a0a,
                                          0x09090909, 0x08080808, 0x07070707, 0x06060606, 0x05050505, 0x04040404,
                                          0x03030303, 0x02020202, 0x01010101, 0x00000000)));
  }
  static I widen8(const int8_t* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }

  // f32.
  static F set_float(float v) { return _mm512_set1_ps(v); }
  static F floats(I v) { return _mm512_cvtepi32_ps(v); }
  static F times(F a, F b) { return _mm512_mul_ps(a, b); }
  static F plus_float(F a, F b) { return _mm512_add_ps(a, b); }
  /// To an integer, toward zero.
  static F whole(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }

  /// a * 2^e, toward zero.
  static F scaled(F a, I e) { return _mm512_scalef_ps(a, _mm512_cvtepi32_ps(e)); }

  static D load_double(const double* p) { return _mm512_loadu_pd(p); }
  static D broadcast_double(const double* p) { return _mm512_set1_pd(*p); }
  static D mul(D a, D b) { return _mm512_mul_pd(a, b); }
  static D plus(D a, D b) { return _mm512_add_pd(a, b); }
  /// Zero where the magnitude is below the limit.
  static D zero_below(D a, D limit) {
    return _mm512_maskz_mov_pd(_mm512_cmp_pd_mask(_mm512_abs_pd(a), limit, _CMP_GE_OQ), a);
  }
  /// 2^e.
  static D low_power(I e) { return power_of(_mm512_castsi512_si256(e)); }
  static D high_power(I e) { return power_of(_mm512_extracti32x8_epi32(e, 1)); }
  static D power_of(__m256i e) {
    const I biased = _mm512_add_epi64(_mm512_cvtepi32_epi64(e), _mm512_set1_epi64(1023));
    return _mm512_castsi512_pd(_mm512_slli_epi64(biased, 52));
  }
  static D low_integer(I v) { return _mm512_cvtepi32_pd(_mm512_castsi512_si256(v)); }
  static D high_integer(I v) { return _mm512_cvtepi32_pd(_mm512_extracti32x8_epi32(v, 1)); }
  /// f32 words.
  static D low_double(I v) { return _mm512_cvtps_pd(_mm512_castps512_ps256(_mm512_castsi512_ps(v))); }
  static D high_double(I v) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(_mm512_castsi512_ps(v), 1)); }
  static I half_to_float(I v) { return _mm512_castps_si512(_mm512_cvtph_ps(_mm512_cvtepi32_epi16(v))); }
  /// Toward zero.
  static I to_float(D low, D high) {
    return _mm512_castps_si512(
        _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1));
  }
  /// f16 words to nearest even, through a sticky bit below f32's precision; no negative zero.
  static I to_half(D low, D high) {
    const I cut = to_float(low, high);
    const __mmask16 lost =
        __mmask16(_mm512_cmpneq_epi64_mask(_mm512_castpd_si512(low), _mm512_castpd_si512(low_double(cut))) |
                  _mm512_cmpneq_epi64_mask(_mm512_castpd_si512(high), _mm512_castpd_si512(high_double(cut))) << 8);
    const I sticky = _mm512_mask_or_epi32(cut, lost, cut, set(1));
    const I words = _mm512_cvtepu16_epi32(
        _mm512_cvtps_ph(_mm512_castsi512_ps(sticky), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(words, set(0x7fff)), words);
  }
  /// Lanes whose f64 is not zero.
  static M not_zero(D low, D high) {
    const D none = _mm512_setzero_pd();
    return M(_mm512_cmp_pd_mask(low, none, _CMP_NEQ_UQ) | _mm512_cmp_pd_mask(high, none, _CMP_NEQ_UQ) << 8);
  }
};

}  // namespace

bool mma_narrow_v4(const MmaTile& tile, NarrowRest& rest) { return NarrowMma<NarrowAvx512>::run(tile, rest); }

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_narrow_v4(const MmaTile&, NarrowRest&) { return false; }
}  // namespace tinygpu::numerics
#endif
