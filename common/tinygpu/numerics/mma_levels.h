// The vector implementations behind mma(): one translation unit for each x86-64 level, all of mma_vector.h.
#pragma once
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::numerics {

/// False if the tile is of a kind that the vector code does not know (or the build has no such level).
bool mma_v3(const MmaTile& tile);
bool mma_v4(const MmaTile& tile);

/// One element by the scalar model; `c` is its old accumulator.
uint32_t mma_element(const MmaTile& tile, uint32_t row, uint32_t column, uint32_t c);

}  // namespace tinygpu::numerics
