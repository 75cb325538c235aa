// One tensor-core step over a whole tile: D[M x N] += A[M x K] * B[K x N], every element one fused sum. The vector
// implementation gives the bits of the scalar one (fused_sum.h), for every operand.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/tinygpu/numerics/fused_sum.h"

namespace tinygpu::numerics {

inline constexpr uint32_t kMaxRows = 128, kMaxColumns = 256, kMaxTerms = 64;
inline constexpr uint32_t kMaxScales = 4;  // of a row
/// Elements from one k to the next of an operand's planes.
inline constexpr uint32_t kPlane = 256;

/// Which function of fused_sum.h sums a kind: fused_sum, fused_sum_scaled, fused_sum_fp4, integer_sum.
enum class SumKind : uint8_t { fused, scaled, fp4, integer };

/// Scale factors of an operand: byte of scale j of row r at [j * kPlane + r].
struct ScalePlanes {
  alignas(64) uint8_t bytes[kMaxScales * kPlane];
};

/// The tile. Operands are planes of bit patterns: element (k, r) at [k * kPlane + r], in uint16_t for f16 and bf16,
/// uint32_t for tf32, uint8_t for the 8-bit and narrower formats; aligned to 64 bytes.
struct MmaTile {
  SumKind sum = SumKind::fused;
  SumRule rule;  // of SumKind::fused
  Format a_format = Format::f16, b_format = Format::f16;
  uint32_t rows = 0;     // M, a multiple of 16
  uint32_t columns = 0;  // N, a multiple of 8
  uint32_t terms = 0;    // elements of a row of A that are multiplied: K, or half of it in a sparse MMA
  const void* a = nullptr;
  const void* b = nullptr;
  /// Sparse MMAs: A's element (i, r) meets B's element select[i * kPlane + r] of each column. B has `2 * terms` then.
  const uint8_t* select = nullptr;
  bool negate_a = false, negate_b = false;
  bool read_c = false;    // D += , else D =
  int c_scale = 0;        // C is taken times 2^−c_scale
  bool saturate = false;  // integers
  // Scaled kinds: each operand has `scales` factors a row, for `terms / scales` elements each.
  Format scale_format = Format::ue8m0;
  bool spread = false;  // of a sparse MMA: A has zeros where it has no elements
  uint32_t scales = 0;
  const uint8_t *a_scales = nullptr, *b_scales = nullptr;  // as in ScalePlanes
  /// Accumulators: word of (row, column) at d[column * column_stride + lane[row / 16] + row % 16]. f16 accumulators are
  /// the low halves of their words; the high halves are written as zero.
  uint32_t* d = nullptr;
  uint32_t column_stride = 0;
  uint32_t lane[kMaxRows / 16] = {};
  uint32_t* word(uint32_t row, uint32_t column) const {
    return d + size_t(column) * column_stride + lane[row / 16] + row % 16;
  }
};

/// The fastest implementation that this CPU runs. Returns how many sums the scalar model did.
uint64_t mma(const MmaTile& tile);
/// Element by element through fused_sum.h: every kind.
void mma_reference(const MmaTile& tile);
/// "scalar", "x86-64-v3", "x86-64-v4".
const char* mma_level();
/// For tests: all levels that there are, the fastest first; whether this CPU runs one.
std::vector<const char*> mma_levels();
bool mma_has_level(const char* level);
/// For tests: mma() at the named level; false, and nothing done, if this CPU lacks it.
bool mma_at_level(const char* level, const MmaTile& tile);

/// The pattern of element (k, r) of an operand.
uint32_t plane_element(Format f, const void* planes, uint32_t k, uint32_t r);

}  // namespace tinygpu::numerics
