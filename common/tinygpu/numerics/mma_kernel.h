// One tensor-core step over a whole tile: D[M x N] += A[M x K] * B[K x N], every element one fused sum. The vector
// implementation gives the bits of the scalar one (fused_sum.h), for every operand.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/numerics/fused_sum.h"

namespace tinygpu::numerics {

inline constexpr uint32_t kMaxRows = 128, kMaxColumns = 256, kMaxTerms = 32;
/// Elements from one k to the next of an operand's planes.
inline constexpr uint32_t kPlane = 256;

/// The tile. Operands are planes of bit patterns: element (k, r) at [k * kPlane + r], in uint16_t for f16 and bf16,
/// uint32_t for tf32, uint8_t for the 8-bit and narrower formats; aligned to 64 bytes.
struct MmaTile {
  SumRule rule;
  Format a_format = Format::f16, b_format = Format::f16;
  uint32_t rows = 0;     // M, a multiple of 16
  uint32_t columns = 0;  // N, a multiple of 8
  uint32_t terms = 0;    // K
  const void* a = nullptr;
  const void* b = nullptr;
  bool negate_a = false, negate_b = false;
  bool read_c = false;  // D += , else D =
  int c_scale = 0;      // C is taken times 2^−c_scale
  /// Accumulators: word of (row, column) at d[column * column_stride + lane[row / 16] + row % 16]. f16 accumulators are
  /// the low halves of their words; the high halves are written as zero.
  uint32_t* d = nullptr;
  uint32_t column_stride = 0;
  uint32_t lane[kMaxRows / 16] = {};
};

/// The fastest implementation that this CPU runs. Returns how many sums the scalar model did: all or none.
uint64_t mma(const MmaTile& tile);
/// Element by element through fused_sum().
void mma_reference(const MmaTile& tile);
/// "scalar", "x86-64-v3", "x86-64-v4".
const char* mma_level();
/// For tests: all levels that there are, the fastest first; whether this CPU runs one.
std::vector<const char*> mma_levels();
bool mma_has_level(const char* level);
/// For tests: runs the named level; false if this CPU lacks it or the tile is of a kind that it does not know.
bool mma_at_level(const char* level, const MmaTile& tile);

/// The pattern of element (k, r) of an operand.
uint32_t plane_element(Format f, const void* planes, uint32_t k, uint32_t r);

}  // namespace tinygpu::numerics
