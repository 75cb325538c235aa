// Step 3: dependent launches. A grid's CTAs come as soon as there is room beside those of the grid before. They make
// their barriers, take columns of Tensor Memory and load weights; only what the grid before makes is waited for.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {
namespace kernels {
namespace {

/// The CTA's one task.
struct Dependent {
  static constexpr bool kDependent = true, kCounters = false;
  static constexpr uint32_t kSlots = 1;
  const Task* task;
  __device__ Dependent(const Arguments& args, uint32_t first) : task(args.tasks + first + blockIdx.x) {}
  __device__ const Task* next() {
    const Task* mine = task;
    task = nullptr;
    return mine;
  }
};

}  // namespace
}  // namespace kernels

void launch_dependent(const Work& work) {
  using namespace kernels;
  for_batch(work.args.batch, [&]<uint32_t N>() {
    for (const Grid& grid : work.grids)
      launch_layer<N, kFewPages<N>, Dependent>(work.args, grid.first, grid.count, work.stream, true);
  });
}

}  // namespace megakernel
