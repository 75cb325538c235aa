// Step 7 of the narrow kinds: wide tiles. fp8 fills Tensor Memory with two accumulators of 256 columns. Scales need
// some of it: with them a tile has 192 columns, 384 for two, and two times 12 (mxf8) or 48 (nvf4) for scales. A tile of
// 192 begins at a multiple of 64 columns of D, in the middle of a chunk of scales or at its start.
#include "chapters/13_gemm/kinds/persistent.cuh"

namespace gemm::kinds {

constexpr uint32_t kAccumulators = 2;
constexpr bool kWide = true;

void launch_wide(const Problem& p) { launch_narrow_with<kAccumulators, kWide>(p); }

}  // namespace gemm::kinds
