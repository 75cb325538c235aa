// Count the arrivals
//
// Each of 128 threads writes a word, arrives, waits, and reads what its neighbour wrote. The mbarrier was initialised
// with a different number of arrivals. Give it the right one.
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kThreads = 128;
constexpr uint32_t kArrivals = 4;  // your number

__global__ void neighbours(uint32_t* out) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t words[kThreads];
  const uint32_t bar = shared_address(&barrier), t = threadIdx.x;
  if (t == 0) {
    mbarrier_init(bar, kArrivals);
    fence_mbarrier_init();
  }
  __syncthreads();
  words[t] = t * t;
  mbarrier_arrive(bar);
  mbarrier_wait_parity(bar, 0);
  out[t] = words[(t + 1) % kThreads];
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(kThreads);
  neighbours<<<1, kThreads>>>(out.get());
  exercise::finish();
  exercise::Words want(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) want[t] = (t + 1) % kThreads * ((t + 1) % kThreads);
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
