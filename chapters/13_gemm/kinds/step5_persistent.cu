// Step 5 of the narrow kinds: persistent CTAs. A block is multiplied in half of bf16's time, or a quarter: what a new
// CTA costs, a launch, an allocation and a first load, weighs twice or four times as much.
#include "chapters/13_gemm/kinds/persistent.cuh"

namespace gemm::kinds {

constexpr uint32_t kAccumulators = 1;
constexpr bool kWide = false;

void launch_persistent(const Problem& p) { launch_narrow_with<kAccumulators, kWide>(p); }

}  // namespace gemm::kinds
