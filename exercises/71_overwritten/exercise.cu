// Find the copy: what overwrote this stage?
//
// A consumer gives a stage back before it has read it. The sum of chunk 0 is wrong, because the copy of a later chunk
// lands in the same stage. Write down the first position at which the first word of stage 0 is not chunk 0's any more,
// and the cycle at which the producer issued that copy.

// answer: position = ?
// answer: issued = ?
#include <cstdio>

#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kStages = 2, kChunks = 6, kWords = 512;

__global__ void ring(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kStages][kWords];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  const uint32_t lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&full[s]), 1);
      mbarrier_init(shared_address(&empty[s]), 32);
    }
    fence_mbarrier_init();
    out[kChunks] = shared_address(buffer);
  }
  __syncthreads();
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    const uint32_t s = chunk % kStages, round = chunk / kStages;
    if (threadIdx.x == 0) {
      mbarrier_wait_parity(shared_address(&empty[s]), round % 2 ^ 1);
      mbarrier_arrive_expect_tx(shared_address(&full[s]), sizeof buffer[0]);
      bulk_load(shared_address(buffer[s]), from + chunk * kWords, sizeof buffer[0], shared_address(&full[s]));
    } else if (threadIdx.x >= 32) {
      mbarrier_wait_parity(shared_address(&full[s]), round % 2);
      mbarrier_arrive(shared_address(&empty[s]));
      uint32_t sum = 0;
      for (uint32_t i = kWords; i > 0; i -= 32) sum = sum * 3 + buffer[s][i - 32 + lane];
      if (lane == 0) out[chunk] = sum;
    }
  }
}

void judge() {
  const auto words = exercise::counted(kChunks * kWords + 1);
  const exercise::DeviceBuffer<uint32_t> from(exercise::Words(words.begin() + 1, words.end())), out(kChunks + 1);
  ring<<<1, 64>>>(from.get(), out.get());
  exercise::finish();
  const auto got = out.download();
  std::printf("stage 0 begins at shared 0x%x; the first word of chunk 0 is 0x%x\n", got[kChunks], words[1]);
  bool right = true;
  for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
    uint32_t want = 0;
    for (uint32_t i = kWords; i > 0; i -= 32) want = want * 3 + words[1 + chunk * kWords + i - 32];
    if (got[chunk] != want) std::printf("the sum of chunk %u is wrong\n", chunk);
    right &= got[chunk] == want;
  }
  exercise::expect(right, "sums are wrong");
}
EXERCISE(judge);
