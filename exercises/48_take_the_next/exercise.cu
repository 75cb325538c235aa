// Claim the next tile
//
// The grid has more blocks than fit on the chip at once. The running blocks claim the others: a claimed block never
// starts. This kernel claims once and exits, whatever the answer says, so the tiles that it claimed are never computed.
// Go on with the tile of the answer, and exit when there is none.
#include "common/ptx/fence.h"
#include "common/ptx/launch_control.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

struct alignas(16) Mail {
  uint4 answer;
  uint64_t barrier;
};

__global__ void work(uint32_t* out) {
  __shared__ Mail mail;
  const uint32_t answer = shared_address(&mail.answer), bar = shared_address(&mail.barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t tile = blockIdx.x;
  for (uint32_t round = 0;; ++round) {
    if (threadIdx.x == 0) {
      atomicAdd(&out[tile], tile * 3 + 1);
      mbarrier_arrive_expect_tx(bar, sizeof(uint4));
      clc_try_cancel(answer, bar);
    }
    mbarrier_wait_parity(bar, round & 1);
    const Claim claim = clc_query(answer);
    fence_proxy_async_shared();  // these reads before the next answer's write
    __syncthreads();
    break;  // your lines
  }
}

void judge() {
  constexpr uint32_t kAlone = 200 * 1024;  // bytes of shared memory: one block to an SM
  int sms = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  const uint32_t tiles = sms + 40;
  exercise::DeviceBuffer<uint32_t> out(tiles);
  out.fill(0);
  GEN5_CUDA(cudaFuncSetAttribute(work, cudaFuncAttributeMaxDynamicSharedMemorySize, kAlone));
  work<<<tiles, 32, kAlone>>>(out.get());
  exercise::finish();
  exercise::Words want(tiles);
  for (uint32_t i = 0; i < tiles; ++i) want[i] = i * 3 + 1;
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
