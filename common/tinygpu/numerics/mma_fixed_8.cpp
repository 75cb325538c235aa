// Floats of 8 bits and less, dense and sparse.
#include "common/tinygpu/numerics/fixed_point.h"
#include "common/tinygpu/numerics/kernels.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

bool mma_fixed_8(const MmaTile& tile) {
  return (FixedPoint<32>::knows(tile) && FixedPoint<32>::run(tile)) ||
         (FixedPoint<64>::knows(tile) && FixedPoint<64>::run(tile));
}

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
