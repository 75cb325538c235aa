// Step 7, for one sequence: step 4 without fences. A task's numbers go to the others as words that bring their own mark
// (marks.cuh), so nothing has to be in order. Counters are raised without a release and only say when it is worth
// looking. In step 4 the raise waits for the stores and for all that its SM loads.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {
namespace kernels {
namespace {

/// The list that the host has dealt out to this CTA, as in step 4.
struct DealtMarked {
  static constexpr bool kDependent = false, kCounters = false, kMarked = true, kListed = true;
  static constexpr uint32_t kSlots = 4, kCtas = 1;
  const Task *task, *end;
  __device__ DealtMarked(const Arguments& args, uint32_t)
      : task(args.tasks + args.first_of_cta[blockIdx.x]), end(args.tasks + args.first_of_cta[blockIdx.x + 1]) {}
  __device__ const Task* next() { return task < end ? task++ : nullptr; }
};

}  // namespace
}  // namespace kernels

void launch_marked(const Work& work) {
  using namespace kernels;
  launch_layer<1, kAllPages<1>, DealtMarked>(work.args, 0, work.ctas, work.stream);
}

}  // namespace megakernel
