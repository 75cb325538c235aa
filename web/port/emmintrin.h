// The few of SSE2's operations that engines/mma/operand_planes.cpp turns planes with, on Clang's vectors.
#pragma once
#include <cstdint>
#include <cstring>

using __m128i = long long __attribute__((vector_size(16)));

namespace tinygpu::web {
using V8 = signed char __attribute__((vector_size(16)));
using V16 = short __attribute__((vector_size(16)));
using V32 = int __attribute__((vector_size(16)));
}  // namespace tinygpu::web

inline __m128i _mm_loadu_si128(const __m128i* p) {
  __m128i v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void _mm_storeu_si128(__m128i* p, __m128i v) { std::memcpy(p, &v, sizeof v); }
inline void _mm_storel_epi64(__m128i* p, __m128i v) { std::memcpy(p, &v, sizeof v / 2); }
inline __m128i _mm_unpacklo_epi8(__m128i a, __m128i b) {
  return __m128i(__builtin_shufflevector(tinygpu::web::V8(a), tinygpu::web::V8(b), 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5,
                                         21, 6, 22, 7, 23));
}
inline __m128i _mm_unpackhi_epi8(__m128i a, __m128i b) {
  return __m128i(__builtin_shufflevector(tinygpu::web::V8(a), tinygpu::web::V8(b), 8, 24, 9, 25, 10, 26, 11, 27, 12, 28,
                                         13, 29, 14, 30, 15, 31));
}
inline __m128i _mm_unpacklo_epi16(__m128i a, __m128i b) {
  return __m128i(__builtin_shufflevector(tinygpu::web::V16(a), tinygpu::web::V16(b), 0, 8, 1, 9, 2, 10, 3, 11));
}
inline __m128i _mm_unpackhi_epi16(__m128i a, __m128i b) {
  return __m128i(__builtin_shufflevector(tinygpu::web::V16(a), tinygpu::web::V16(b), 4, 12, 5, 13, 6, 14, 7, 15));
}
inline __m128i _mm_unpacklo_epi32(__m128i a, __m128i b) {
  return __m128i(__builtin_shufflevector(tinygpu::web::V32(a), tinygpu::web::V32(b), 0, 4, 1, 5));
}
inline __m128i _mm_unpackhi_epi32(__m128i a, __m128i b) {
  return __m128i(__builtin_shufflevector(tinygpu::web::V32(a), tinygpu::web::V32(b), 2, 6, 3, 7));
}
inline __m128i _mm_unpacklo_epi64(__m128i a, __m128i b) { return __builtin_shufflevector(a, b, 0, 2); }
inline __m128i _mm_unpackhi_epi64(__m128i a, __m128i b) { return __builtin_shufflevector(a, b, 1, 3); }
