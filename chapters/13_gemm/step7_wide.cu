// Step 7: wide tiles. Two accumulators of 256 columns fill all 512 of Tensor Memory. A block of K brings 48 KiB instead
// of 32 and keeps the tensor core busy for twice as long: A is loaded half as often.
//
// Scales need some of Tensor Memory: with them a tile has 192 columns, 384 for two, and two times 12 (mxf8) or 48
// (nvf4) for scales. A tile of 192 begins at a multiple of 64 columns of D, in the middle of a chunk of scales or at
// its start.
#include "chapters/13_gemm/persistent.cuh"

namespace gemm {

constexpr uint32_t kAccumulators = 2;
constexpr bool kWide = true;

void launch_wide(const Problem& p) { launch_persistent_with<kAccumulators, kWide>(p); }

}  // namespace gemm
