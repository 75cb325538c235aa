// The source is still in use
//
// The kernel stores one buffer four times, each time with other contents. Closing a group of stores does not wait, so
// the second round overwrites what the first store may still be reading. Add the weakest wait that is enough: the
// budget has no room for more.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kRounds = 4, kThreads = 128;

__global__ void rounds(uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kThreads];
  for (uint32_t round = 0; round < kRounds; ++round) {
    buffer[threadIdx.x] = round << 16 | threadIdx.x;
    fence_proxy_async_shared();
    __syncthreads();
    if (threadIdx.x == 0) {
      bulk_store(out + round * kThreads, shared_address(buffer), sizeof buffer);
      bulk_commit_group();
      // Your line here.
    }
    __syncthreads();
  }
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(kRounds * kThreads);
  rounds<<<1, kThreads>>>(out.get());
  exercise::finish();
  exercise::Words want(kRounds * kThreads);
  for (uint32_t i = 0; i < want.size(); ++i) want[i] = i / kThreads << 16 | i % kThreads;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
