// Expect the bytes
//
// One thread starts a bulk copy of 1 KiB into shared memory, and all threads wait for it. The copy reports its bytes to
// the mbarrier, but the mbarrier does not expect any bytes, and no thread arrives. Add the one line that does both.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kWords = 256;

__global__ void load(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kWords];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    // Your line here.
    bulk_load(shared_address(buffer), from, sizeof buffer, bar);
  }
  __syncthreads();
  mbarrier_wait_parity(bar, 0);
  out[threadIdx.x] = buffer[threadIdx.x];
}

void judge() {
  const auto words = exercise::counted(kWords);
  exercise::DeviceBuffer<uint32_t> from(words), out(kWords);
  load<<<1, kWords>>>(from.get(), out.get());
  exercise::finish();
  exercise::expect("out", out.download(), words);
}
EXERCISE(judge);
