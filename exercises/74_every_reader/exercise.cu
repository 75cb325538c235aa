// Every reader of a ring
//
// Three threads load pages into a ring of six stages, and the first of them is slow. Four warps share the work: page p
// is warp p % 4's, which adds it up. Each warp waits for its own pages alone, so that between two of them it does not
// see what happens at a stage. A stage's parity is the same again two phases later. Let no warp miss a page.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kPages = 36, kWords = 512, kStages = 6, kReaders = 4, kLoaders = 3;

__device__ void work(long long cycles) {
  for (const long long start = clock64(); clock64() - start < cycles;) {
  }
}

__global__ void add_up(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t page[kStages][kWords];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&full[s]), 1);
      mbarrier_init(shared_address(&empty[s]), 1);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (warp >= kReaders) {
    for (uint32_t p = warp - kReaders; p < kPages && lane == 0; p += kLoaders) {
      const uint32_t s = p % kStages, bar = shared_address(&full[s]);
      mbarrier_wait_parity(shared_address(&empty[s]), p / kStages % 2 ^ 1);
      if (warp == kReaders) work(3000);
      mbarrier_arrive_expect_tx(bar, kWords * 4);
      bulk_load(shared_address(page[s]), from + p * kWords, kWords * 4, bar);
    }
    return;
  }
  for (uint32_t p = 0; p < kPages; ++p) {
    const uint32_t s = p % kStages;
    if (p % kReaders != warp) continue;
    mbarrier_wait_parity(shared_address(&full[s]), p / kStages % 2);
    uint32_t sum = 0;
    for (uint32_t i = lane; i < kWords; i += 32) sum += page[s][i];
    out[p * 32 + lane] = sum;
    fence_proxy_async_shared();
    __syncwarp();
    if (lane == 0) mbarrier_arrive(shared_address(&empty[s]));
  }
}

void judge() {
  const exercise::Words from = exercise::counted(kPages * kWords);
  exercise::DeviceBuffer<uint32_t> device_from(from), out(kPages * 32);
  add_up<<<1, 32 * (kReaders + kLoaders)>>>(device_from.get(), out.get());
  exercise::finish();
  exercise::Words want(kPages * 32);
  for (uint32_t i = 0; i < kPages * kWords; ++i) want[i / kWords * 32 + i % 32] += from[i];
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
