// Step 3: dependent launches. A grid's CTAs come as soon as there is room beside those of the grid before. They make
// their barriers and load weights; only what the grid before makes is waited for.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {

void launch_dependent(const Work& work) {
  using namespace kernels;
  for_rows(work.args, [&]<uint32_t N>() {
    for (const Grid& grid : work.grids)
      launch_layer<N, kFewPages<N>, OneTask<true>>(work.args, grid.first, grid.count, work.stream);
  });
}

}  // namespace megakernel
