// The vector implementations behind mma(): one translation unit for each x86-64 level, of mma_vector.h and
// mma_narrow.h.
#pragma once
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::numerics {

/// False if the tile is of a kind that the vector code does not know (or the build has no such level).
bool mma_v3(const MmaTile& tile);
bool mma_v4(const MmaTile& tile);

/// What of a tile is left to another implementation: four columns of some rows each, one block of rows after the other.
struct NarrowRest {
  static constexpr uint32_t kColumns = 4;
  struct Part {
    uint16_t row, rows, column;
  };
  uint32_t count = 0;
  Part parts[kMaxRows / 8 * kMaxColumns / kColumns];
  void add(uint32_t row, uint32_t rows, uint32_t column) {
    parts[count++] = {uint16_t(row), uint16_t(rows), uint16_t(column)};
  }
};
/// 8-bit and narrower numbers, SumKind::fused and scaled, dense or sparse: every operand at about the same speed; all
/// of the tile, or these parts of it. False as above; else `rest` tells what is still to do (of sparse tiles only).
bool mma_bytes_v3(const MmaTile& tile, const NarrowRest* parts, NarrowRest& rest);
bool mma_bytes_v4(const MmaTile& tile, const NarrowRest* parts, NarrowRest& rest);
/// 8-bit and narrower operands, of every SumKind, dense or sparse. False as above; else `rest` tells what is still to
/// do.
bool mma_narrow_v3(const MmaTile& tile, NarrowRest& rest);
bool mma_narrow_v4(const MmaTile& tile, NarrowRest& rest);

}  // namespace tinygpu::numerics
