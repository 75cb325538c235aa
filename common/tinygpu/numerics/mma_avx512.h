// The vector operations of mma_vector.h and mma_wide.h with AVX-512. Included only by translation units of that level.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace tinygpu::numerics {
namespace {

struct Avx512 {
  using I = __m512i;
  using F = __m512;
  using D = __m512d;
  using M = __mmask16;
  static constexpr uint32_t kLanes = 16;
  static constexpr bool kManyRegisters = true;

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
    asm("" : "+v"(v));
    return v;
  }
  static I zero() { return _mm512_setzero_si512(); }
  static I set(int32_t v) { return _mm512_set1_epi32(v); }
  static I load(const int32_t* p) { return _mm512_loadu_si512(p); }
  static void store(int32_t* p, I v) { _mm512_storeu_si512(p, v); }
  static I load_words(const uint32_t* p) { return _mm512_loadu_si512(p); }
  static I load_words(const uint16_t* p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static I load_words(const uint8_t* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I add(I a, I b) { return _mm512_add_epi32(a, b); }
  static I sub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I min(I a, I b) { return _mm512_min_epi32(a, b); }
  static I max(I a, I b) { return _mm512_max_epi32(a, b); }
  static I max_unsigned(I a, I b) { return _mm512_max_epu32(a, b); }
  static I bit_and(I a, I b) { return _mm512_and_si512(a, b); }
  static I bit_or(I a, I b) { return _mm512_or_si512(a, b); }
  static I bit_xor(I a, I b) { return _mm512_xor_si512(a, b); }
  template <int n>
  static I shl(I a) {
    return _mm512_slli_epi32(a, n);
  }
  template <int n>
  static I shr(I a) {
    return _mm512_srli_epi32(a, n);
  }
  template <int n>
  static I sar(I a) {
    return _mm512_srai_epi32(a, n);
  }
  /// Zero if `n` is 32 or more.
  static I shift_right(I a, I n) { return _mm512_srlv_epi32(a, n); }
  static I is_zero(I a) { return _mm512_movm_epi32(_mm512_testn_epi32_mask(a, a)); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static I truncate(F a) { return _mm512_cvttps_epi32(a); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static F as_float(I a) { return _mm512_castsi512_ps(a); }
  static I as_int(F a) { return _mm512_castps_si512(a); }
  static bool all_at_most(I v, I limit) { return _mm512_cmpgt_epu32_mask(v, limit) == 0; }

  // A truth for each lane.
  static M greater(I a, I b) { return _mm512_cmpgt_epi32_mask(a, b); }
  static M equal(I a, I b) { return _mm512_cmpeq_epi32_mask(a, b); }
  static M any_bit(I a) { return _mm512_test_epi32_mask(a, a); }
  static M either(M a, M b) { return M(a | b); }
  static M both(M a, M b) { return M(a & b); }
  static bool any(M m) { return m != 0; }
  static M none() { return 0; }
  static I select(M m, I a, I b) { return _mm512_mask_mov_epi32(b, m, a); }

  // f64, half as many lanes.
  static D set_double(double v) { return _mm512_set1_pd(v); }
  static D load_double(const double* p) { return _mm512_load_pd(p); }
  static void store_double(double* p, D v) { _mm512_store_pd(p, v); }
  /// Of a 64-bit integer: on Zen 4 vbroadcastsd takes twice as long. GCC would fetch some by way of a general register.
  static D broadcast_double(const double* p) {
    D d;
    asm("vpbroadcastq %1, %0" : "=v"(d) : "m"(*p));
    return d;
  }
  static D fma(D a, D b, D c) { return _mm512_fmadd_pd(a, b, c); }
  /// sum += a * b. The compiler's own choice among the forms of the instruction adds moves.
  [[gnu::always_inline]] static void accumulate(D& sum, D a, D b) {
    asm("vfmadd231pd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
  }
  /// Keeps the compiler from regrouping the chains that these are part of.
  [[gnu::always_inline]] static void pin(D& a, D& b, D& c, D& d, D& e, D& f, D& g, D& h) {
    asm volatile("" : "+v"(a), "+v"(b), "+v"(c), "+v"(d), "+v"(e), "+v"(f), "+v"(g), "+v"(h));
  }
  static D mul_double(D a, D b) { return _mm512_mul_pd(a, b); }
  static D or_double(D a, D b) { return _mm512_or_pd(a, b); }
  /// Lanes 0 and 1 of each four into the low half, 2 and 3 into the high half.
  static F in_pairs(F a) {
    return _mm512_castpd_ps(_mm512_permutexvar_pd(_mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0), _mm512_castps_pd(a)));
  }
  static D low_double(F a) { return _mm512_cvtps_pd(_mm512_castps512_ps256(a)); }
  static D high_double(F a) { return _mm512_cvtps_pd(_mm512_extractf32x8_ps(a, 1)); }
  /// f64 made of low and high words, of lanes 0 and 1 of each four; of lanes 2 and 3.
  static D pair_low(I low, I high) { return _mm512_castsi512_pd(_mm512_unpacklo_epi32(low, high)); }
  static D pair_high(I low, I high) { return _mm512_castsi512_pd(_mm512_unpackhi_epi32(low, high)); }
  /// The low words of what pair_low and pair_high made.
  static I low_words(D a, D b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castpd_ps(a), _mm512_castpd_ps(b), 0b10001000));
  }
  static I high_words(D a, D b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castpd_ps(a), _mm512_castpd_ps(b), 0b11011101));
  }
  static D sub_double(D a, D b) { return _mm512_sub_pd(a, b); }
  /// f32 of such a pair, in order.
  static F narrow(D a, D b) {
    const __m512 both = _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(a)), _mm512_cvtpd_ps(b), 1);
    return _mm512_castpd_ps(_mm512_permutexvar_pd(_mm512_set_epi64(7, 3, 6, 2, 5, 1, 4, 0), _mm512_castps_pd(both)));
  }

  // 64 bytes, signed where not said otherwise.
  static I load8(const void* p) { return _mm512_loadu_si512(p); }
  static void store8(void* p, I v) { _mm512_storeu_si512(p, v); }
  /// The words, of −128 to 127: in each 16 bytes four of a, four of b, four of c, four of d.
  static I low_bytes(I a, I b, I c, I d) {
    return _mm512_packs_epi16(_mm512_packs_epi32(a, b), _mm512_packs_epi32(c, d));
  }
  static I broadcast8(const int32_t* p) { return _mm512_set1_epi32(*p); }
  static I add8(I a, I b) { return _mm512_add_epi8(a, b); }
  static I sub8(I a, I b) { return _mm512_sub_epi8(a, b); }
  static I add_bytes(I a) {
    return _mm512_madd_epi16(_mm512_maddubs_epi16(a, _mm512_set1_epi8(1)), _mm512_set1_epi16(1));
  }
  static I set8(int8_t v) { return _mm512_set1_epi8(v); }
  static I max8_unsigned(I a, I b) { return _mm512_max_epu8(a, b); }
  static I max8(I a, I b) { return _mm512_max_epi8(a, b); }
  static I min8(I a, I b) { return _mm512_min_epi8(a, b); }
  static bool all_at_most8(I v, I limit) { return _mm512_cmpgt_epu8_mask(v, limit) == 0; }
  static bool any_below8(I a, I b) { return _mm512_cmplt_epi8_mask(a, b) != 0; }
  // The same as 16-bit integers.
  static I add16(I a, I b) { return _mm512_add_epi16(a, b); }
  static I sub16(I a, I b) { return _mm512_sub_epi16(a, b); }
  static I max16(I a, I b) { return _mm512_max_epi16(a, b); }
  static I set16(int16_t v) { return _mm512_set1_epi16(v); }
  template <int n>
  static I shr16(I a) {
    return _mm512_srli_epi16(a, n);
  }
  /// 16 bytes, aligned, in each 16 bytes.
  static I load_table(const uint8_t* table) {
    return _mm512_broadcast_i32x4(_mm_load_si128(reinterpret_cast<const __m128i*>(table)));
  }
  // Within each 16 bytes.
  static I set_fours(int32_t a, int32_t b, int32_t c, int32_t d) {
    return _mm512_broadcast_i32x4(_mm_setr_epi32(a, b, c, d));
  }
  static I shuffle8(I a, I from) { return _mm512_shuffle_epi8(a, from); }
  /// The low byte of each lane; fours of lanes, `stride` bytes apart.
  static void store_bytes(void* p, I v, uint32_t stride) {
    char* to = static_cast<char*>(p);
    const __m128i bytes = _mm512_cvtepi32_epi8(v);
    _mm_storeu_si32(to, bytes);
    _mm_storeu_si32(to + stride, _mm_shuffle_epi32(bytes, 1));
    _mm_storeu_si32(to + 2 * stride, _mm_shuffle_epi32(bytes, 2));
    _mm_storeu_si32(to + 3 * stride, _mm_shuffle_epi32(bytes, 3));
  }
  /// The low byte of each lane in all bytes of the lane.
  static I low_byte_in_all(I v) { return _mm512_shuffle_epi8(v, set_fours(0, 0x04040404, 0x08080808, 0x0c0c0c0c)); }

  /// The f16 values in the low halves of the words.
  [[gnu::always_inline]] static F from_half(I words) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(words)); }
  /// Their raw exponents as an f32 exponent field in place: 0 for zero, 255 for infinities and NaNs.
  [[gnu::always_inline]] static I half_field(I words) {
    const I magnitude = _mm512_and_si512(words, set(0x7fff));
    const I field = _mm512_max_epi32(_mm512_srli_epi32(magnitude, 10), set(1));
    I out = shl<23>(_mm512_add_epi32(field, set(127 - 15)));
    out = _mm512_mask_mov_epi32(out, _mm512_cmpeq_epi32_mask(field, set(31)), set(0x7f800000));
    return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(magnitude, magnitude), out);
  }
  /// Bits 30 to 23 of each word: in each 16 bytes four of a, four of b, four of c, four of d.
  [[gnu::always_inline]] static I exponent_bytes(I a, I b, I c, I d) {
    const I byte = _mm512_set1_epi16(0xff);
    return _mm512_packus_epi16(_mm512_and_si512(_mm512_packus_epi32(shr<23>(a), shr<23>(b)), byte),
                               _mm512_and_si512(_mm512_packus_epi32(shr<23>(c), shr<23>(d)), byte));
  }
  /// The bytes of a and b in turn, from the first and from the second half of each 16.
  static I bytes_low(I a, I b) { return _mm512_unpacklo_epi8(a, b); }
  static I bytes_high(I a, I b) { return _mm512_unpackhi_epi8(a, b); }
  // A window: q is 2^(e − 25). Kept as a float of e + 127 and 1.5 * 2^15 more, which has e + 127 in its second byte.
  // The first is another number, of at most 64: a fraction that vscalefps, which takes its power down to an integer,
  // does not see. And that instruction leaves the multipliers alone.
  [[gnu::always_inline]] static void split_low(I pairs, I& window, I& other) {
    window = _mm512_unpacklo_epi16(pairs, _mm512_set1_epi16(0x4740));
    other = bit_and(window, set(0xff));
  }
  [[gnu::always_inline]] static void split_high(I pairs, I& window, I& other) {
    window = _mm512_unpackhi_epi16(pairs, _mm512_set1_epi16(0x4740));
    other = bit_and(window, set(0xff));
  }
  /// (e + 127) << 20, and the other number << 12.
  static I exponent_field(I window) { return shl<12>(window); }
  /// (e + 127) << 24.
  static I window_byte(I window) { return bit_and(shl<16>(window), set(int32_t(0xff000000))); }
  static F divide_by_quantum(F c, I window) {
    return _mm512_scalef_ps(c, _mm512_sub_ps(_mm512_set1_ps(kWindowOf25 + 64.0f / 256), as_float(window)));
  }
  static F times_quantum(F sum, I window) {
    return _mm512_scalef_ps(sum, _mm512_sub_ps(as_float(window), _mm512_set1_ps(kWindowOf25)));
  }
  static constexpr float kWindowOf25 = 0x1.8p15f + 127 + 25;

  /// sum * q as f16 words, to nearest even: through a sticky bit below f32's precision, so rounded once.
  [[gnu::always_inline]] static I to_half(I sum, I window) {
    const F cut = to_float(sum);
    const I bits = _mm512_mask_or_epi32(as_int(cut), _mm512_cmpneq_epi32_mask(truncate(cut), sum), as_int(cut), set(1));
    return round_half(times_quantum(as_float(bits), window));
  }
  /// f16 words, to nearest even; no negative zero.
  [[gnu::always_inline]] static I round_half(F v) {
    const I words = _mm512_cvtepu16_epi32(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    return _mm512_maskz_mov_epi32(_mm512_test_epi32_mask(words, set(0x7fff)), words);
  }
};

}  // namespace
}  // namespace tinygpu::numerics
