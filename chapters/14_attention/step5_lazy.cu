// Step 5: a lazy softmax. O and the sum may be in any unit as long as both have the same: they need not be rescaled
// whenever a larger score comes, only before exponentials become too large for f32 and bf16, which 2^8 is not.
//
// Against step 4: the factor is 1 for most blocks, and a warp of the correction whose 32 factors are all 1 does
// nothing.
#include "chapters/14_attention/pingpong.cuh"

namespace attention {

void launch_lazy(const Problem& p) { launch_pairs</*Lazy=*/true, /*Parts=*/1, /*Persistent=*/false>(p); }

}  // namespace attention
