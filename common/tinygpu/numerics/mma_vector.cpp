#include "common/tinygpu/numerics/general.h"
#include "common/tinygpu/numerics/integers.h"
#include "common/tinygpu/numerics/kernels.h"

namespace tinygpu::numerics::GEN5_MMA_LEVEL {

bool mma_vector(const MmaTile& tile) {
  if (Integers::knows(tile) && Integers::run(tile)) return true;
  if (mma_fixed_16(tile) || mma_fixed_8(tile)) return true;
  return General::knows(tile) && General(tile).run();
}

}  // namespace tinygpu::numerics::GEN5_MMA_LEVEL
