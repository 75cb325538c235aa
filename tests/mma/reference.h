// An MMA written down a second time, from the rules in the notes, in floating point: shares nothing with tinygpu.
#pragma once
#include <cstdint>
#include <vector>

namespace gen5::test {

enum class Type { f16, bf16, tf32, e4m3, e5m2, e2m3, e3m2, e2m1, s8, u8 };

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

/// A block's scale factor. `exponent` is the encoded one: a subnormal's is the smallest normal's.
struct Scale {
  double value = 1;
  int exponent = 0;  // NaN: value is one
};
Scale scale_of(bool ue8m0, uint32_t bits);

/// kind::mxf8f6f4: one scale for all of a, one for all of b.
uint32_t reference_mxf8(const Row& a, const Row& b, Scale sa, Scale sb, bool with_c, uint32_t c);
/// kind::mxf4 and mxf4nvf4: 64 elements, sa.size() scales for as many blocks.
uint32_t reference_fp4(bool ue8m0, const Row& a, const Row& b, const std::vector<Scale>& sa,
                       const std::vector<Scale>& sb, bool with_c, uint32_t c);
/// kind::i8: values are integers.
uint32_t reference_i8(const Row& a, const Row& b, bool with_c, uint32_t c, bool saturate);

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
