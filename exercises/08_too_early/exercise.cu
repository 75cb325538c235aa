// Given back too early
//
// The consumer of this ring gives a stage back before it has read it. As long as the next copy is slow, the numbers are
// right. A fast copy overwrites what the consumer has yet to read. Put the lines into the right order.
#include <algorithm>

#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kChunks = 6, kWords = 512;

__global__ void largest(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kWords];
  __shared__ alignas(8) uint64_t full, empty;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 1);
    mbarrier_init(shared_address(&empty), 32);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      mbarrier_wait_parity(shared_address(&empty), chunk % 2 ^ 1);
      mbarrier_arrive_expect_tx(shared_address(&full), sizeof buffer);
      bulk_load(shared_address(buffer), from + chunk * kWords, sizeof buffer, shared_address(&full));
    }
  } else if (threadIdx.x >= 32) {
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      mbarrier_wait_parity(shared_address(&full), chunk % 2);
      uint32_t most = 0;
      fence_proxy_async_shared();
      mbarrier_arrive(shared_address(&empty));
      for (uint32_t i = lane; i < kWords; i += 32) most = max(most, buffer[i]);
      out[chunk * 32 + lane] = most;
    }
  }
}

void judge() {
  const auto words = exercise::counted(kChunks * kWords);
  exercise::DeviceBuffer<uint32_t> from(words), out(kChunks * 32);
  largest<<<1, 64>>>(from.get(), out.get());
  exercise::finish();
  exercise::Words want(kChunks * 32);
  for (uint32_t i = 0; i < words.size(); ++i) {
    uint32_t& most = want[i / kWords * 32 + i % 32];
    most = std::max(most, words[i]);
  }
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
