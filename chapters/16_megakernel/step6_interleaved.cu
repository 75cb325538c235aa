// Step 6: two CTAs an SM. One has a list of projections, which wait for memory; the other one has attention and norms,
// which are arithmetic and short trips. While a warp of one stores and raises, those of the other one multiply. Each
// has half of the pages, and both lists are dealt out as one: so all CTAs have to be on the chip at once.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {
namespace kernels {
namespace {

/// A list for each CTA, as in step 4; an SM has two.
struct Interleaved {
  static constexpr bool kDependent = false, kCounters = true, kMarked = false, kListed = true;
  static constexpr uint32_t kSlots = 4, kCtas = 2;
  const Task *task, *end;
  __device__ Interleaved(const Arguments& args, uint32_t)
      : task(args.tasks + args.first_of_cta[blockIdx.x]), end(args.tasks + args.first_of_cta[blockIdx.x + 1]) {}
  __device__ const Task* next() { return task < end ? task++ : nullptr; }
};

}  // namespace
}  // namespace kernels

void launch_interleaved(const Work& work) {
  using namespace kernels;
  for_batch(work.args.batch, [&]<uint32_t N>() {
    static_assert(2 * (sizeof(Shared<N, kFewPages<N>>) + 1024) <= 228 * 1024);
    launch_layer<N, kFewPages<N>, Interleaved>(work.args, 0, work.ctas, work.stream);
  });
}

}  // namespace megakernel
