// Ask no more
//
// This kernel asks for its next tile before it works on this one, so that the answer is there in time. It asks even
// after the answer that there is no tile left, which is forbidden. Move one line.
#include "common/ptx/fence.h"
#include "common/ptx/launch_control.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

struct alignas(16) Mail {
  uint4 answer;
  uint64_t barrier;
};

__device__ void ask(uint32_t answer, uint32_t bar) {
  if (threadIdx.x != 0) return;
  mbarrier_arrive_expect_tx(bar, sizeof(uint4));
  clc_try_cancel(answer, bar);
}

__global__ void work(uint32_t* out) {
  __shared__ Mail mail;
  const uint32_t answer = shared_address(&mail.answer), bar = shared_address(&mail.barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t tile = blockIdx.x;
  ask(answer, bar);
  for (uint32_t round = 0;; ++round) {
    if (threadIdx.x == 0) atomicAdd(&out[tile], tile * 3 + 1);
    mbarrier_wait_parity(bar, round & 1);
    const Claim claim = clc_query(answer);
    fence_proxy_async_shared();  // these reads before the next answer's write
    __syncthreads();
    ask(answer, bar);
    if (!claim.granted) break;
    tile = claim.x;
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
