// One lane arrives for the warp
//
// Four warps write 128 words, and lane 0 of each warp arrives for its warp. An arrive releases what its own thread has
// done, and nothing that the other 31 lanes have done. Add the one line that orders their stores before the arrive.
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void reversed(uint32_t* out) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t words[128];
  const uint32_t bar = shared_address(&barrier), t = threadIdx.x;
  if (t == 0) {
    mbarrier_init(bar, 4);
    fence_mbarrier_init();
  }
  __syncthreads();
  words[t] = t * 3;
  // Your line here.
  if (t % 32 == 0) mbarrier_arrive(bar);
  mbarrier_wait_parity(bar, 0);
  out[t] = words[127 - t];
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(128);
  reversed<<<1, 128>>>(out.get());
  exercise::finish();
  exercise::Words want(128);
  for (uint32_t t = 0; t < 128; ++t) want[t] = (127 - t) * 3;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
