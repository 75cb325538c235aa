// Step 1: a launch an operation, a CTA a task. The end of a grid is what the next one waits for.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {

void launch_launches(const Work& work) {
  using namespace kernels;
  for_rows(work.args, [&]<uint32_t N>() {
    for (const Grid& grid : work.grids)
      launch_layer<N, kFewPages<N>, OneTask<false>>(work.args, grid.first, grid.count, work.stream);
  });
}

}  // namespace megakernel
