// Step 4: two tiles of queries by turns. While one is in softmax, the tensor core works for the other. Softmax does not
// wait for O: a warpgroup of its own rescales it.
//
// The kernel is pingpong.cuh's, as are those of steps 5 to 7. Here O is rescaled for every block, the tensor core gets
// P as a whole, and there is a CTA for each pair of tiles.
#include "chapters/14_attention/pingpong.cuh"

namespace attention {

void launch_pingpong(const Problem& p) { launch_pairs</*Lazy=*/false, /*Parts=*/1, /*Persistent=*/false>(p); }

}  // namespace attention
