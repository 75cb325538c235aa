// Step 5: persistent CTAs. As many as there are SMs stay for the whole product and take tile after tile, so that no SM
// waits for a launch, an allocation or a first load in between: while the epilogue stores a tile, the producer already
// loads the next. Who stays also chooses his order: the tiles are walked in bands, so that CTAs that run together read
// the same rows of A and columns of B while these are in L2.
//
// Of narrow kinds a block is multiplied in half of bf16's time, or a quarter: what a new CTA costs weighs twice or four
// times as much.
#include "chapters/13_gemm/persistent.cuh"

namespace gemm {

constexpr uint32_t kAccumulators = 1;
constexpr bool kWide = false;

void launch_persistent(const Problem& p) { launch_persistent_with<kAccumulators, kWide>(p); }

}  // namespace gemm
