// The vector code behind mma(): units that CMake compiles once for each x86-64 level, GEN5_MMA_LEVEL.
#pragma once
#include "common/tinygpu/numerics/mma_kernel.h"

namespace tinygpu::numerics {

/// Dense tiles. False, and nothing done: of a kind that it does not know.
namespace v3 {
bool mma_vector(const MmaTile& tile);
}
namespace v4 {
bool mma_vector(const MmaTile& tile);
}

#ifdef GEN5_MMA_LEVEL
/// Parts of mma_vector(), in units of their own.
namespace GEN5_MMA_LEVEL {
bool mma_fixed_16(const MmaTile& tile);
bool mma_fixed_8(const MmaTile& tile);
}  // namespace GEN5_MMA_LEVEL
#endif

}  // namespace tinygpu::numerics
