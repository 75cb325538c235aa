// Step 1: a launch an operation, a CTA a task. The end of a grid is what the next one waits for.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {
namespace kernels {
namespace {

/// The CTA's one task.
struct Launched {
  static constexpr bool kDependent = false, kCounters = false;
  static constexpr uint32_t kSlots = 1;
  const Task* task;
  __device__ Launched(const Arguments& args, uint32_t first) : task(args.tasks + first + blockIdx.x) {}
  __device__ const Task* next() {
    const Task* mine = task;
    task = nullptr;
    return mine;
  }
};

}  // namespace
}  // namespace kernels

void launch_launches(const Work& work) {
  using namespace kernels;
  for_batch(work.args.batch, [&]<uint32_t N>() {
    for (const Grid& grid : work.grids)
      launch_layer<N, kFewPages<N>, Launched>(work.args, grid.first, grid.count, work.stream);
  });
}

}  // namespace megakernel
