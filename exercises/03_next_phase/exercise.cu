// The next phase
//
// Four rounds use one mbarrier: every thread writes, arrives, waits, and adds what its neighbour wrote. The wait uses
// the same parity in each round, which is right in the first round only. Wait for the phase of this round.
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kThreads = 64, kRounds = 4;

__global__ void rounds(uint32_t* out) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t words[2][kThreads];
  const uint32_t bar = shared_address(&barrier), t = threadIdx.x;
  if (t == 0) {
    mbarrier_init(bar, kThreads);
    fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t sum = 0;
  for (uint32_t round = 0; round < kRounds; ++round) {
    words[round % 2][t] = round * 1000 + t;
    mbarrier_arrive(bar);
    const uint32_t parity = 0;  // your expression
    mbarrier_wait_parity(bar, parity);
    sum += words[round % 2][(t + 33) % kThreads];
  }
  out[t] = sum;
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(kThreads);
  rounds<<<1, kThreads>>>(out.get());
  exercise::finish();
  exercise::Words want(kThreads);
  for (uint32_t t = 0; t < kThreads; ++t) want[t] = 6000 + 4 * ((t + 33) % kThreads);
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
