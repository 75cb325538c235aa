// Matrices of narrow numbers with block scales, on the host.
#pragma once
#include <cmath>
#include <cstdint>
#include <vector>

#include "common/harness/narrow.h"
#include "common/layout/scaled_instruction_descriptor.h"

namespace scaled {

using gen5::harness::Narrow;

/// rows × depth codes, and a scale for every `block` of them along a row.
struct Matrix {
  Narrow format = Narrow::e4m3;
  bool ue4m3 = false;  // scales; else ue8m0
  uint32_t rows = 0, depth = 0, block = 32;
  std::vector<uint8_t> codes, scales;  // [row][k], [row][k / block]

  uint32_t blocks() const { return depth / block; }
  double scale(uint32_t row, uint32_t k) const {
    const uint8_t code = scales[row * blocks() + k / block];
    return ue4m3 ? gen5::harness::ue4m3_value(code) : gen5::harness::ue8m0_value(code);
  }
  double value(uint32_t row, uint32_t k) const {
    return gen5::harness::value_of(format, codes[row * depth + k]) * scale(row, k);
  }

  /// The rows' bytes as the tensor core reads them: `tight`, two 4-bit codes to a byte (kinds mxf4 and mxf4nvf4), or
  /// sixteen codes in 16 bytes.
  std::vector<uint8_t> bytes(bool tight) const {
    std::vector<uint8_t> out(tight ? codes.size() / 2 : codes.size());
    if (tight) {
      for (size_t i = 0; i < codes.size(); ++i) out[i / 2] |= uint8_t(codes[i] << i % 2 * 4);
    } else {
      for (size_t i = 0; i < codes.size(); i += 16) {
        const auto sixteen = gen5::harness::container_of(format, std::span<const uint8_t, 16>(codes.data() + i, 16));
        std::copy(sixteen.begin(), sixteen.end(), out.begin() + ptrdiff_t(i));
      }
    }
    return out;
  }

  /// The scales in chunks of 128 rows × 4 scales, 512 bytes each: those of rows 0 to 127 for the first four scales
  /// along K, of rows 128 to 255, then those for the next four. What the matrix does not have is `padding`.
  std::vector<uint8_t> chunks(uint8_t padding = 127) const {
    const uint32_t across = (rows + 127) / 128, along = (blocks() + 3) / 4;
    std::vector<uint8_t> out(across * along * gen5::layout::kScaleChunk, padding);
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t s = 0; s < blocks(); ++s) {
        // Byte by byte: the row picks one of 32 lines of 16 bytes, and four bytes of it; the scale, a byte of those.
        const uint32_t chunk = s / 4 * across + row / 128, line = row % 32, word = row % 128 / 32, byte = s % 4;
        out[chunk * 512 + line * 16 + word * 4 + byte] = scales[row * blocks() + s];
      }
    return out;
  }
};

/// Σ of values along K, in double.
inline std::vector<double> multiply(const Matrix& a, const Matrix& b) {
  std::vector<double> va(a.codes.size()), vb(b.codes.size()), d(size_t(a.rows) * b.rows);
  for (uint32_t i = 0; i < va.size(); ++i) va[i] = a.value(i / a.depth, i % a.depth);
  for (uint32_t i = 0; i < vb.size(); ++i) vb[i] = b.value(i / b.depth, i % b.depth);
  for (uint32_t m = 0; m < a.rows; ++m)
    for (uint32_t n = 0; n < b.rows; ++n) {
      double sum = 0;
      for (uint32_t k = 0; k < a.depth; ++k) sum += va[size_t(m) * a.depth + k] * vb[size_t(n) * b.depth + k];
      d[size_t(m) * b.rows + n] = sum;
    }
  return d;
}

}  // namespace scaled
