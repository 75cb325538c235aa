// The sums of tensor cores on vectors of 128 bits.
#define GEN5_MMA_LEVEL wasm
#include "common/tinygpu/numerics/general.h"
#include "common/tinygpu/numerics/mma_levels.h"

namespace tinygpu::numerics::wasm {

bool mma_vector(const MmaTile& tile) { return General::knows(tile) && General(tile).run(); }

}  // namespace tinygpu::numerics::wasm
