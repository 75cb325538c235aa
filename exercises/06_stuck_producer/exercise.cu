// Fix this deadlock: the producer
//
// A producer fills a ring of two stages, a consumer empties it. Both wait, and neither has done anything yet. Find the
// wait that can never end, and change it.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kStages = 2, kChunks = 8, kWords = 64;

__global__ void ring(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kStages][kWords];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&full[s]), 1);
      mbarrier_init(shared_address(&empty[s]), 32);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  const uint32_t lane = threadIdx.x % 32;
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    const uint32_t stage = chunk % kStages, round = chunk / kStages;
    const uint32_t filled = shared_address(&full[stage]), emptied = shared_address(&empty[stage]);
    if (threadIdx.x < 32) {  // the producer's warp
      if (lane == 0) {
        mbarrier_wait_parity(emptied, round % 2);
        mbarrier_arrive_expect_tx(filled, sizeof buffer[0]);
        bulk_load(shared_address(buffer[stage]), from + chunk * kWords, sizeof buffer[0], filled);
      }
    } else {
      mbarrier_wait_parity(filled, round % 2);
      for (uint32_t i = lane; i < kWords; i += 32) out[chunk * kWords + i] = ~buffer[stage][i];
      fence_proxy_async_shared();
      mbarrier_arrive(emptied);
    }
  }
}

void judge() {
  auto words = exercise::counted(kChunks * kWords);
  exercise::DeviceBuffer<uint32_t> from(words), out(words.size());
  ring<<<1, 64>>>(from.get(), out.get());
  exercise::finish();
  for (uint32_t& w : words) w = ~w;
  exercise::expect("out", out.download(), words);
}
EXERCISE(judge);
