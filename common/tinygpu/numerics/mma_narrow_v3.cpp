// Tiles of narrow elements with AVX2.
#include "common/tinygpu/numerics/mma_levels.h"

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include "common/tinygpu/numerics/mma_avx2.h"
#include "common/tinygpu/numerics/mma_narrow.h"

namespace tinygpu::numerics {
namespace {

/// What narrow tiles need besides. Subnormals count here.
struct NarrowAvx2 : Avx2 {
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

  static I load(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store(void* p, I v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
  static I broadcast(const int32_t* p) { return _mm256_set1_epi32(*p); }
  template <int n>
  static I shift_right(I a) {
    return _mm256_srli_epi32(a, n);
  }
  /// Zero for counts from 32 on.
  static I shift_left(I a, I n) { return _mm256_sllv_epi32(a, n); }
  /// Products of 16-bit halves, the two of each lane added.
  static I multiply_add(I a, I b) { return _mm256_madd_epi16(a, b); }

  // Truths.
  static M never() { return zero(); }
  static M less(I a, I b) { return _mm256_cmpgt_epi32(b, a); }
  /// All bits or none.
  static I sign(I a) { return _mm256_srai_epi32(a, 31); }

  // 32 bytes.
  static I max8_unsigned(I a, I b) { return _mm256_max_epu8(a, b); }
  static I min8_unsigned(I a, I b) { return _mm256_min_epu8(a, b); }
  static I select_zero8(I v, I a, I b) { return _mm256_blendv_epi8(b, a, _mm256_cmpeq_epi8(v, zero())); }
  // 16 16-bit words.
  static I set16(int16_t v) { return _mm256_set1_epi16(v); }
  static I sub16(I a, I b) { return _mm256_sub_epi16(a, b); }
  static I shift_right16(I a, int n) { return _mm256_srl_epi16(a, _mm_cvtsi32_si128(n)); }
  static I shift_left16(I a, int n) { return _mm256_sll_epi16(a, _mm_cvtsi32_si128(n)); }
  /// By 0 to 15: times a power of two, whose low and high byte come from a table each.
  static I shift_left16_by(I a, I n) {
    const __m128i low = _mm_setr_epi8(1, 2, 4, 8, 16, 32, 64, -128, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m128i high = _mm_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 4, 8, 16, 32, 64, -128);
    const I odd = _mm256_slli_epi16(n, 8), byte = set16(0xff);
    const I from_low = bit_and(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(low), n), byte);
    const I from_high = _mm256_andnot_si256(byte, _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(high), odd));
    return _mm256_mullo_epi16(a, bit_or(from_low, from_high));
  }
  static I equal16(I a, I b) { return _mm256_cmpeq_epi16(a, b); }
  /// Bytes of two rows of 8 as pairs of 16-bit words.
  static __m128i interleave(const uint8_t* a, const uint8_t* b) {
    return _mm_unpacklo_epi8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(a)),
                             _mm_loadl_epi64(reinterpret_cast<const __m128i*>(b)));
  }
  static I pairs_unsigned(const uint8_t* a, const uint8_t* b) { return _mm256_cvtepu8_epi16(interleave(a, b)); }
  static I pairs_signed(const uint8_t* a, const uint8_t* b) { return _mm256_cvtepi8_epi16(interleave(a, b)); }
  /// Fours of lanes, `stride` words apart.
  static void store_fours(int32_t* p, uint32_t stride, I v) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_castsi256_si128(v));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p + stride), _mm256_extracti128_si256(v, 1));
  }
  /// Each of 8 bytes in all bytes of a lane.
  static void store_replicated(int32_t* p, uint32_t stride, const int8_t* bytes) {
    const I all = _mm256_broadcastsi128_si256(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(bytes)));
    store_fours(p, stride,
                _mm256_shuffle_epi8(all, _mm256_setr_epi32(0x00000000, 0x01010101, 0x02020202, 0x03030303, 0x04040404,
                                                           0x05050505, 0x06060606, 0x07070707)));
  }
  static I widen8(const int8_t* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }

  // f32.
  static F set_float(float v) { return _mm256_set1_ps(v); }
  static F floats(I v) { return _mm256_cvtepi32_ps(v); }
  static F times(F a, F b) { return _mm256_mul_ps(a, b); }
  static F plus_float(F a, F b) { return _mm256_add_ps(a, b); }
  /// To an integer, toward zero.
  static F whole(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC); }

  /// a * 2^e, toward zero, in two steps: what is cut in both is cut in the end. 250 more than does for any result.
  static F scaled(F a, I e) {
    const I within = min(max(e, set(-250)), set(250)), half = _mm256_srai_epi32(within, 1);
    const auto power_of_two = [](I n) { return as_float(shl<23>(add(n, set(127)))); };
    return times(times(a, power_of_two(half)), power_of_two(sub(within, half)));
  }

  static D load_double(const double* p) { return _mm256_loadu_pd(p); }
  static D broadcast_double(const double* p) { return _mm256_broadcast_sd(p); }
  static D mul(D a, D b) { return _mm256_mul_pd(a, b); }
  static D plus(D a, D b) { return _mm256_add_pd(a, b); }
  /// Zero where the magnitude is below the limit.
  static D zero_below(D a, D limit) {
    const D magnitude = _mm256_andnot_pd(_mm256_set1_pd(-0.0), a);
    return _mm256_and_pd(_mm256_cmp_pd(magnitude, limit, _CMP_GE_OQ), a);
  }
  /// 2^e.
  static D low_power(I e) { return power_of(_mm256_castsi256_si128(e)); }
  static D high_power(I e) { return power_of(_mm256_extracti128_si256(e, 1)); }
  static D power_of(__m128i e) {
    const I biased = _mm256_add_epi64(_mm256_cvtepi32_epi64(e), _mm256_set1_epi64x(1023));
    return _mm256_castsi256_pd(_mm256_slli_epi64(biased, 52));
  }
  static D low_integer(I v) { return _mm256_cvtepi32_pd(_mm256_castsi256_si128(v)); }
  static D high_integer(I v) { return _mm256_cvtepi32_pd(_mm256_extracti128_si256(v, 1)); }
  /// f32 words.
  static D low_double(I v) { return _mm256_cvtps_pd(_mm_castsi128_ps(_mm256_castsi256_si128(v))); }
  static D high_double(I v) { return _mm256_cvtps_pd(_mm_castsi128_ps(_mm256_extracti128_si256(v, 1))); }
  static I half_to_float(I v) {
    const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return _mm256_castps_si256(_mm256_cvtph_ps(words));
  }
  /// Toward zero.
  static I to_float(D low, D high) {
    return _mm256_castps_si256(_mm256_set_m128(_mm256_cvtpd_ps(high), _mm256_cvtpd_ps(low)));
  }
  /// Of f64 lanes' truths, one for each f32 lane.
  static I narrow_truths(D low, D high) {
    const __m256 both = _mm256_shuffle_ps(_mm256_castpd_ps(low), _mm256_castpd_ps(high), 0b10001000);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(both), 0b11011000);
  }
  /// f16 words to nearest even, through a sticky bit below f32's precision; no negative zero.
  static I to_half(D low, D high) {
    const I cut = to_float(low, high);
    const I lost = narrow_truths(_mm256_cmp_pd(low, low_double(cut), _CMP_NEQ_UQ),
                                 _mm256_cmp_pd(high, high_double(cut), _CMP_NEQ_UQ));
    const I sticky = bit_or(cut, bit_and(lost, set(1)));
    const I words = _mm256_cvtepu16_epi32(
        _mm256_cvtps_ph(_mm256_castsi256_ps(sticky), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    return select(equal(bit_and(words, set(0x7fff)), zero()), zero(), words);
  }
  /// Lanes whose f64 is not zero.
  static M not_zero(D low, D high) {
    const D none = _mm256_setzero_pd();
    return narrow_truths(_mm256_cmp_pd(low, none, _CMP_NEQ_UQ), _mm256_cmp_pd(high, none, _CMP_NEQ_UQ));
  }
};

}  // namespace

bool mma_narrow_v3(const MmaTile& tile, NarrowRest& rest) { return NarrowMma<NarrowAvx2>::run(tile, rest); }

}  // namespace tinygpu::numerics
#else
namespace tinygpu::numerics {
bool mma_narrow_v3(const MmaTile&, NarrowRest&) { return false; }
}  // namespace tinygpu::numerics
#endif
