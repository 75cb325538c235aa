// Step 4: one kernel. A CTA an SM stays for all layers and walks its list of tasks; counters in global memory say when
// a task's inputs are there. Meanwhile the pages that the task before has given back fill with this one's weights.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {
namespace kernels {
namespace {

/// The list that the host has dealt out to this CTA.
struct Dealt {
  static constexpr bool kDependent = false, kCounters = true, kMarked = false, kListed = true;
  static constexpr uint32_t kSlots = 4, kCtas = 1;
  const Task *task, *end;
  __device__ Dealt(const Arguments& args, uint32_t)
      : task(args.tasks + args.first_of_cta[blockIdx.x]), end(args.tasks + args.first_of_cta[blockIdx.x + 1]) {}
  __device__ const Task* next() { return task < end ? task++ : nullptr; }
};

}  // namespace
}  // namespace kernels

void launch_tasks(const Work& work) {
  using namespace kernels;
  for_rows(work.args,
           [&]<uint32_t N>() { launch_layer<N, kAllPages<N>, Dealt>(work.args, 0, work.ctas, work.stream); });
}

}  // namespace megakernel
