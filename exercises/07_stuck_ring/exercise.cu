// Fix this deadlock: the ring
//
// This ring of three stages works for three chunks and then stops. The consumer reads a stage, but never reports that
// the stage is empty. Add what is missing behind the loop that reads: two lines.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kStages = 3, kChunks = 9, kWords = 128;

__global__ void sums(const uint32_t* from, uint32_t* out) {
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
  if (threadIdx.x == 0) {
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      const uint32_t stage = chunk % kStages, filled = shared_address(&full[stage]);
      mbarrier_wait_parity(shared_address(&empty[stage]), chunk / kStages % 2 ^ 1);
      mbarrier_arrive_expect_tx(filled, sizeof buffer[0]);
      bulk_load(shared_address(buffer[stage]), from + chunk * kWords, sizeof buffer[0], filled);
    }
  } else if (threadIdx.x >= 32) {
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      const uint32_t stage = chunk % kStages;
      mbarrier_wait_parity(shared_address(&full[stage]), chunk / kStages % 2);
      uint32_t sum = 0;
      for (uint32_t i = lane; i < kWords; i += 32) sum += buffer[stage][i];
      // Your lines here.
      out[chunk * 32 + lane] = sum;
    }
  }
}

void judge() {
  const auto words = exercise::counted(kChunks * kWords);
  exercise::DeviceBuffer<uint32_t> from(words), out(kChunks * 32);
  sums<<<1, 64>>>(from.get(), out.get());
  exercise::finish();
  exercise::Words want(kChunks * 32);
  for (uint32_t i = 0; i < words.size(); ++i) want[i / kWords * 32 + i % 32] += words[i];
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
