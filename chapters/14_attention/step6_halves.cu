// Step 6: P in two halves. The product over the first 64 keys begins while exponentials of the others are being made: a
// tile is away from the tensor core for a shorter time.
//
// Against step 5: each half has an mbarrier of its own, and the thread that multiplies waits for one after the other.
#include "chapters/14_attention/pingpong.cuh"

namespace attention {

void launch_halves(const Problem& p) { launch_pairs</*Lazy=*/true, /*Parts=*/2, /*Persistent=*/false>(p); }

}  // namespace attention
