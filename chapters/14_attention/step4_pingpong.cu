// Step 4: two tiles of queries by turns. While one is in softmax, the tensor core works for the other. Softmax does not
// wait for O: a warpgroup of its own rescales it.
#include "chapters/14_attention/pingpong.cuh"

namespace attention {

void launch_pingpong(const Problem& p) { launch_pairs</*Lazy=*/false, /*Parts=*/1, /*Persistent=*/false>(p); }

}  // namespace attention
