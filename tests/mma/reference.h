// An MMA written down a second time, from the rules in the notes, in floating point: shares nothing with tinygpu.
#pragma once
#include <cstdint>
#include <vector>

namespace gen5::test {

enum class Type { f16, bf16, tf32, e4m3, e5m2 };

/// The exact value of a pattern (tf32: of an f32 word, whose low 13 bits do not count).
double value_of(Type t, uint32_t bits);

/// An operand row taken apart once: values and raw exponents.
struct Row {
  std::vector<double> value;
  std::vector<int> exponent;
};
Row decode_row(Type t, const std::vector<uint32_t>& bits, bool negate);

/// One element: a[i]*b[i] summed with c (if `with_c`, times 2^−scale) by the fused sum. `half`: c and the result are
/// f16 words. `hopper_fp8`: as Hopper's wgmma sums e4m3 and e5m2.
uint32_t reference_element(const Row& a, const Row& b, bool with_c, uint32_t c, int scale, bool half,
                           bool hopper_fp8 = false);

/// How a K slice of an operand lies in shared memory, placed row by row of the swizzle pattern.
struct Placement {
  bool mn_major = false;
  int swizzle = 0;  // descriptor code: 0 none, 1 128B with 32B atoms, 2 128B, 4 64B, 6 32B
  uint32_t element_bytes = 2;
  uint32_t base = 0;                 // tile's first byte in the image, a multiple of 1024
  uint32_t slice = 0;                // K-major, swizzled: which 32-byte slice of the pattern's row holds this K
  uint32_t leading = 0, stride = 0;  // LBO and SBO in bytes
  /// First byte of element (row, k).
  uint32_t at(uint32_t row, uint32_t k) const;
  /// The tcgen05 descriptor for an image that begins at shared offset `image`.
  uint64_t descriptor(uint32_t image) const;
};

}  // namespace gen5::test
