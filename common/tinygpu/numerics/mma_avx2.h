// The vector operations of mma_vector.h and mma_wide.h with AVX2. Included only by translation units of that level.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace tinygpu::numerics {
namespace {

struct Avx2 {
  using I = __m256i;
  using F = __m256;
  using D = __m256d;
  using M = __m256i;
  static constexpr uint32_t kLanes = 8;
  static constexpr bool kManyRegisters = false;

  /// Rounding toward zero, subnormal operands and results taken as zero; returns the old control word.
  static unsigned round_toward_zero() {
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x6000 | 0x8040);
    return saved;
  }
  static void restore(unsigned saved) { _mm_setcsr(saved); }

  /// The vector, of which the compiler knows nothing: a constant that it can't make anew.
  template <class T>
  static T opaque(T v) {
    asm("" : "+x"(v));
    return v;
  }
  static I zero() { return _mm256_setzero_si256(); }
  static I set(int32_t v) { return _mm256_set1_epi32(v); }
  static I load(const int32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static void store(int32_t* p, I v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), v); }
  static I load_words(const uint32_t* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  static I load_words(const uint16_t* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I load_words(const uint8_t* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static I add(I a, I b) { return _mm256_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I min(I a, I b) { return _mm256_min_epi32(a, b); }
  static I max(I a, I b) { return _mm256_max_epi32(a, b); }
  static I max_unsigned(I a, I b) { return _mm256_max_epu32(a, b); }
  static I bit_and(I a, I b) { return _mm256_and_si256(a, b); }
  static I bit_or(I a, I b) { return _mm256_or_si256(a, b); }
  static I bit_xor(I a, I b) { return _mm256_xor_si256(a, b); }
  template <int n>
  static I shl(I a) {
    return _mm256_slli_epi32(a, n);
  }
  template <int n>
  static I shr(I a) {
    return _mm256_srli_epi32(a, n);
  }
  template <int n>
  static I sar(I a) {
    return _mm256_srai_epi32(a, n);
  }
  /// Zero if `n` is 32 or more.
  static I shift_right(I a, I n) { return _mm256_srlv_epi32(a, n); }
  static I is_zero(I a) { return _mm256_cmpeq_epi32(a, zero()); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static I truncate(F a) { return _mm256_cvttps_epi32(a); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  static F as_float(I a) { return _mm256_castsi256_ps(a); }
  static I as_int(F a) { return _mm256_castps_si256(a); }
  static bool all_at_most(I v, I limit) {
    return _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(v, limit), limit)) == -1;
  }

  // A truth for each lane.
  static M greater(I a, I b) { return _mm256_cmpgt_epi32(a, b); }
  static M equal(I a, I b) { return _mm256_cmpeq_epi32(a, b); }
  static M any_bit(I a) { return bit_xor(is_zero(a), set(-1)); }
  static M either(M a, M b) { return bit_or(a, b); }
  static M both(M a, M b) { return bit_and(a, b); }
  static bool any(M m) { return !_mm256_testz_si256(m, m); }
  static M none() { return zero(); }
  static I select(M m, I a, I b) { return _mm256_blendv_epi8(b, a, m); }

  // f64, half as many lanes.
  static D set_double(double v) { return _mm256_set1_pd(v); }
  static D load_double(const double* p) { return _mm256_load_pd(p); }
  static void store_double(double* p, D v) { _mm256_store_pd(p, v); }
  static D broadcast_double(const double* p) { return _mm256_broadcast_sd(p); }
  static D fma(D a, D b, D c) { return _mm256_fmadd_pd(a, b, c); }
  /// sum += a * b. The compiler's own choice among the forms of the instruction adds moves.
  [[gnu::always_inline]] static void accumulate(D& sum, D a, D b) {
    asm("vfmadd231pd %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
  }
  /// Keeps the compiler from regrouping the chains that these are part of.
  [[gnu::always_inline]] static void pin(D& a, D& b, D& c, D& d, D& e, D& f, D& g, D& h) {
    asm volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d), "+x"(e), "+x"(f), "+x"(g), "+x"(h));
  }
  static D mul_double(D a, D b) { return _mm256_mul_pd(a, b); }
  static D or_double(D a, D b) { return _mm256_or_pd(a, b); }
  /// Lanes 0 and 1 of each four into the low half, 2 and 3 into the high half.
  static F in_pairs(F a) { return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(a), 0b11011000)); }
  static D low_double(F a) { return _mm256_cvtps_pd(_mm256_castps256_ps128(a)); }
  static D high_double(F a) { return _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1)); }
  /// f64 made of low and high words, of lanes 0 and 1 of each four; of lanes 2 and 3.
  static D pair_low(I low, I high) { return _mm256_castsi256_pd(_mm256_unpacklo_epi32(low, high)); }
  static D pair_high(I low, I high) { return _mm256_castsi256_pd(_mm256_unpackhi_epi32(low, high)); }
  /// The low words of what pair_low and pair_high made.
  static I low_words(D a, D b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castpd_ps(a), _mm256_castpd_ps(b), 0b10001000));
  }
  static I high_words(D a, D b) {
    return _mm256_castps_si256(_mm256_shuffle_ps(_mm256_castpd_ps(a), _mm256_castpd_ps(b), 0b11011101));
  }
  static D sub_double(D a, D b) { return _mm256_sub_pd(a, b); }
  /// f32 of such a pair, in order.
  static F narrow(D a, D b) {
    const __m256d both = _mm256_castps_pd(_mm256_set_m128(_mm256_cvtpd_ps(b), _mm256_cvtpd_ps(a)));
    return _mm256_castpd_ps(_mm256_permute4x64_pd(both, 0b11011000));
  }

  // 32 bytes, signed where not said otherwise.
  static I load8(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
  static void store8(void* p, I v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
  /// The words, of −128 to 127: in each 16 bytes four of a, four of b, four of c, four of d.
  static I low_bytes(I a, I b, I c, I d) {
    return _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
  }
  static I broadcast8(const int32_t* p) {
    return _mm256_castps_si256(_mm256_broadcast_ss(reinterpret_cast<const float*>(p)));
  }
  static I add8(I a, I b) { return _mm256_add_epi8(a, b); }
  static I sub8(I a, I b) { return _mm256_sub_epi8(a, b); }
  static I add_bytes(I a) {
    return _mm256_madd_epi16(_mm256_maddubs_epi16(a, _mm256_set1_epi8(1)), _mm256_set1_epi16(1));
  }
  static I set8(int8_t v) { return _mm256_set1_epi8(v); }
  static I max8_unsigned(I a, I b) { return _mm256_max_epu8(a, b); }
  static I max8(I a, I b) { return _mm256_max_epi8(a, b); }
  static I min8(I a, I b) { return _mm256_min_epi8(a, b); }
  static bool all_at_most8(I v, I limit) {
    return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_max_epu8(v, limit), limit)) == -1;
  }
  static bool any_below8(I a, I b) { return _mm256_movemask_epi8(_mm256_cmpgt_epi8(b, a)) != 0; }
  // The same as 16-bit integers.
  static I add16(I a, I b) { return _mm256_add_epi16(a, b); }
  static I sub16(I a, I b) { return _mm256_sub_epi16(a, b); }
  static I max16(I a, I b) { return _mm256_max_epi16(a, b); }
  static I set16(int16_t v) { return _mm256_set1_epi16(v); }
  template <int n>
  static I shr16(I a) {
    return _mm256_srli_epi16(a, n);
  }
  /// 16 bytes, aligned, in each 16 bytes.
  static I load_table(const uint8_t* table) {
    return _mm256_broadcastsi128_si256(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
  }
  // Within each 16 bytes.
  static I set_fours(int32_t a, int32_t b, int32_t c, int32_t d) {
    return _mm256_broadcastsi128_si256(_mm_setr_epi32(a, b, c, d));
  }
  static I shuffle8(I a, I from) { return _mm256_shuffle_epi8(a, from); }
  /// The low byte of each lane; fours of lanes, `stride` bytes apart.
  static void store_bytes(void* p, I v, uint32_t stride) {
    const I low = _mm256_shuffle_epi8(v, _mm256_set1_epi32(0x0c080400));
    _mm_storeu_si32(p, _mm256_castsi256_si128(low));
    _mm_storeu_si32(static_cast<char*>(p) + stride, _mm256_extracti128_si256(low, 1));
  }
  /// The low byte of each lane in all bytes of the lane.
  static I low_byte_in_all(I v) { return _mm256_shuffle_epi8(v, set_fours(0, 0x04040404, 0x08080808, 0x0c0c0c0c)); }

  /// The f16 values in the low halves of the words.
  [[gnu::always_inline]] static F from_half(I words) {
    const I low = _mm256_and_si256(words, set(0xffff));
    const __m128i packed = _mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1));
    return _mm256_cvtph_ps(packed);
  }
  /// Their raw exponents as an f32 exponent field in place: 0 for zero, 255 for infinities and NaNs.
  [[gnu::always_inline]] static I half_field(I words) {
    const I magnitude = _mm256_and_si256(words, set(0x7fff));
    const I field = _mm256_max_epi32(_mm256_srli_epi32(magnitude, 10), set(1));
    I out = shl<23>(_mm256_add_epi32(field, set(127 - 15)));
    out = _mm256_or_si256(out, _mm256_and_si256(_mm256_cmpeq_epi32(field, set(31)), set(0x7f800000)));
    return _mm256_andnot_si256(_mm256_cmpeq_epi32(magnitude, zero()), out);
  }
  /// Bits 30 to 23 of each word: in each 16 bytes four of a, four of b, four of c, four of d.
  [[gnu::always_inline]] static I exponent_bytes(I a, I b, I c, I d) {
    const I byte = _mm256_set1_epi16(0xff);
    return _mm256_packus_epi16(_mm256_and_si256(_mm256_packus_epi32(shr<23>(a), shr<23>(b)), byte),
                               _mm256_and_si256(_mm256_packus_epi32(shr<23>(c), shr<23>(d)), byte));
  }
  /// The bytes of a and b in turn, from the first and from the second half of each 16.
  static I bytes_low(I a, I b) { return _mm256_unpacklo_epi8(a, b); }
  static I bytes_high(I a, I b) { return _mm256_unpackhi_epi8(a, b); }
  /// Words that have the same 16 bits in both halves, from the first and from the second half of each 16 bytes.
  static I twice16_low(I a) { return _mm256_unpacklo_epi16(a, a); }
  static I twice16_high(I a) { return _mm256_unpackhi_epi16(a, a); }
  // A window: q is 2^(e − 25). Kept as an f32 word of 2^e, made of 16-bit words that have e + 127 in the second byte
  // and another number in the first.
  [[gnu::always_inline]] static void split_low(I pairs, I& window, I& other) {
    split(_mm256_unpacklo_epi16(zero(), pairs), window, other);
  }
  [[gnu::always_inline]] static void split_high(I pairs, I& window, I& other) {
    split(_mm256_unpackhi_epi16(zero(), pairs), window, other);
  }
  [[gnu::always_inline]] static void split(I words, I& window, I& other) {
    window = bit_and(shr<1>(words), set(0x7f800000));
    other = bit_and(shr<16>(words), set(0xff));
  }
  /// (e + 127) << 20.
  static I exponent_field(I window) { return shr<3>(window); }
  /// (e + 127) << 24.
  static I window_byte(I window) { return shl<1>(window); }
  static F divide_by_quantum(F c, I window) {
    return mul(c, as_float(sub(set(int32_t(uint32_t(25 + 127 + 127) << 23)), window)));
  }
  static F times_quantum(F sum, I window) { return mul(sum, as_float(sub(window, set(25 << 23)))); }

  /// sum * q as f16 words, to nearest even: through a sticky bit below f32's precision, so rounded once.
  [[gnu::always_inline]] static I to_half(I sum, I window) {
    const F cut = to_float(sum);
    const I exact = _mm256_cmpeq_epi32(truncate(cut), sum);
    return round_half(
        times_quantum(as_float(_mm256_or_si256(as_int(cut), _mm256_andnot_si256(exact, set(1)))), window));
  }
  /// f16 words, to nearest even; no negative zero.
  [[gnu::always_inline]] static I round_half(F v) {
    const I words = _mm256_cvtepu16_epi32(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    const I is_zero = _mm256_cmpeq_epi32(_mm256_and_si256(words, set(0x7fff)), zero());
    return _mm256_andnot_si256(is_zero, words);
  }
};

}  // namespace
}  // namespace tinygpu::numerics
