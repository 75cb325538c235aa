// Matrices of 8- and 4-bit numbers, with block scales or without, as a GEMM takes them; and the bits of their product,
// from the rules in notes/evidence.md. Shares nothing with tinygpu.
#pragma once
#include <cstdint>
#include <vector>

#include "common/harness/inputs.h"
#include "common/harness/narrow.h"

namespace gen5::harness {

/// none: no scales. mx: a power of two (ue8m0) for 32 neighbours along K. nv: an e4m3 number without sign for 16.
enum class Scaling : uint8_t { none, mx, nv };
/// Elements that share a scale; 0: there is none.
constexpr uint32_t block_of(Scaling s) { return s == Scaling::mx ? 32 : s == Scaling::nv ? 16 : 0; }

/// rows × k codes, k contiguous, and their scales. k is a multiple of the block.
struct NarrowMatrix {
  Narrow format = Narrow::e4m3;
  Scaling scaling = Scaling::none;
  uint32_t rows = 0, k = 0;
  std::vector<uint8_t> codes, scales;  // [row][k], [row][k / block]

  uint32_t blocks() const { return scaling == Scaling::none ? 0 : k / block_of(scaling); }
  double scale(uint32_t row, uint32_t at) const;
  double value(uint32_t row, uint32_t at) const {
    return value_of(format, codes[size_t(row) * k + at]) * scale(row, at);
  }
  /// Rows as memory holds them: a byte for a code, or two 4-bit codes in one, the first in the low half.
  std::vector<uint8_t> bytes() const;
  /// The scales in chunks of 512 bytes, 128 rows by four along K as tcgen05.cp.32x128b.warpx4 wants them; first the
  /// chunks of rows 0 to 127 along K, then those of rows 128 to 255 … What the matrix does not have is 0.
  std::vector<uint8_t> chunks() const;
};
/// Chunks along K.
inline uint32_t chunks_along(const NarrowMatrix& m) { return (m.blocks() + 3) / 4; }

/// Quantises numbers: each block's scale from its largest one (MX as OCP has it; NVFP4 with no factor for the whole
/// matrix), elements to nearest.
NarrowMatrix quantise(Narrow format, Scaling scaling, uint32_t rows, uint32_t k, const std::vector<double>& numbers);

/// Operands of a pattern. uniform: numbers in [−1, 1), quantised; the others set codes and scales themselves. special
/// has NaNs among the codes (where the format has any) or the scales.
NarrowMatrix make_narrow(Narrow format, Scaling scaling, Pattern pattern, uint32_t rows, uint32_t k, uint64_t seed);

/// f32 bits of rows [m0, m0 + rows) × columns [n0, n0 + columns) of A·Bᵀ: kind f8f6f4 where there are no scales,
/// mxf8f6f4 with mx, mxf4nvf4 with nv (of e2m1). On all cores.
std::vector<uint32_t> narrow_gemm(const NarrowMatrix& a, const NarrowMatrix& b, uint32_t m0, uint32_t n0, uint32_t rows,
                                  uint32_t columns);

}  // namespace gen5::harness
