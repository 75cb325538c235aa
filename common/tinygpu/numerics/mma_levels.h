// The vector implementations behind mma(): one translation unit for each x86-64 level, all of mma_vector.h.
#pragma once
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::numerics {

/// False if the tile is of a kind that the vector code does not know (or the build has no such level).
bool mma_v3(const MmaTile& tile);
bool mma_v4(const MmaTile& tile);

}  // namespace tinygpu::numerics
