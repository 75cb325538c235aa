// Step 6 of the narrow kinds: two accumulators, which take 256 columns of Tensor Memory; scales two times 8 (mxf8) or
// 32 (nvf4) behind them.
#include "chapters/13_gemm/kinds/persistent.cuh"

namespace gemm::kinds {

constexpr uint32_t kAccumulators = 2;
constexpr bool kWide = false;

void launch_overlap(const Problem& p) { launch_narrow_with<kAccumulators, kWide>(p); }

}  // namespace gemm::kinds
