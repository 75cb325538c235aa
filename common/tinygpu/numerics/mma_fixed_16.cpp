// f16, bf16 and tf32.
#include "common/tinygpu/numerics/fixed_point.h"
#include "common/tinygpu/numerics/kernels.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

bool mma_fixed_16(const MmaTile& tile) { return FixedPoint<16>::knows(tile) && FixedPoint<16>::run(tile); }

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
