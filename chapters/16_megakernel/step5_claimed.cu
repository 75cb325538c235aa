// Step 5: tasks are claimed. All CTAs take from one list: a CTA with short tasks takes more of them. The atomic takes
// its time, so a CTA claims one task ahead; more than one, and the first CTAs to come would leave nothing for the
// others.
#include "chapters/16_megakernel/launch.cuh"

namespace megakernel {
namespace kernels {
namespace {

/// The next task of the list that no CTA has claimed. Every CTA ends by claiming one that there is not.
struct Claimed {
  static constexpr bool kDependent = false, kCounters = true, kMarked = false, kListed = false;
  static constexpr uint32_t kSlots = 1, kCtas = 1;
  const Task* tasks;
  uint32_t *claimed, count, before;
  __device__ Claimed(const Arguments& args, uint32_t)
      : tasks(args.tasks), claimed(args.claimed), count(args.count), before(args.claimed_before) {}
  __device__ const Task* next() {
    const uint32_t number = counter_claim(claimed) - before;
    return number < count ? tasks + number : nullptr;
  }
};

}  // namespace
}  // namespace kernels

void launch_claimed(const Work& work) {
  using namespace kernels;
  for_rows(work.args,
           [&]<uint32_t N>() { launch_layer<N, kAllPages<N>, Claimed>(work.args, 0, work.ctas, work.stream); });
}

}  // namespace megakernel
