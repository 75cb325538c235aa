// Step 6: two accumulators. Tensor Memory holds two of a CTA's tiles: while the epilogue warps store one, the MMA
// warp already fills the other. The tensor core never waits for a store. They take 256 columns; scales two times 8
// (mxf8) or 32 (nvf4) behind them.
#include "chapters/13_gemm/persistent.cuh"

namespace gemm {

constexpr uint32_t kAccumulators = 2;
constexpr bool kWide = false;

void launch_overlap(const Problem& p) { launch_persistent_with<kAccumulators, kWide>(p); }

}  // namespace gemm
