// Step 7: as many CTAs as SMs, each for pair after pair of tiles. The next pair's products begin while the last one's O
// is stored. Where masks are causal the longest pairs come first, so that all SMs end at about the same time.
//
// Against step 6: the grid is no larger than the chip, and blockIdx.x is the first of a CTA's pairs, not its only one.
#include "chapters/14_attention/pingpong.cuh"

namespace attention {

void launch_persistent(const Problem& p) { launch_pairs</*Lazy=*/true, /*Parts=*/2, /*Persistent=*/true>(p); }

}  // namespace attention
