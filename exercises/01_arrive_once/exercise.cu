// Arrive once
//
// Thread 0 writes a word, and all threads wait for it on an mbarrier that one arrival completes. No thread arrives, so
// all of them wait forever. Add the line with which thread 0 arrives. It belongs behind the store, because an arrive
// releases what its thread has done before.
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void broadcast(const uint32_t* in, uint32_t* out) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t word;
  const uint32_t bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    word = in[0];
    // Your line here.
  }
  mbarrier_wait_parity(bar, 0);
  out[threadIdx.x] = word;
}

void judge() {
  exercise::DeviceBuffer<uint32_t> in(exercise::Words{42}), out(128);
  broadcast<<<1, 128>>>(in.get(), out.get());
  exercise::finish();
  exercise::expect("out", out.download(), exercise::Words(128, 42));
}
EXERCISE(judge);
