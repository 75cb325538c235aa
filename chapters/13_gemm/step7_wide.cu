// Step 7: wide tiles. Two accumulators of 256 columns fill all 512 of Tensor Memory. A block of K brings 48 KiB instead
// of 32 and keeps the tensor core busy for twice as long: A is loaded half as often.
#include "chapters/13_gemm/persistent.cuh"

namespace gemm {

constexpr uint32_t kAccumulators = 2, kTileN = 256;

void launch_wide(const Problem& p) { launch_persistent_with<kAccumulators, kTileN>(p); }

}  // namespace gemm
