// A ring of your own
//
// Thread 0 copies 32 chunks into a ring of eight stages, and warp 1 sums each chunk. Write both loops, and say how many
// arrivals empty a stage. The producer fills a stage that is empty; the consumer reads a stage that is full, and gives
// it back. The budget has room for copies that run ahead, not for copies one after the other.
#include <algorithm>

#include "common/ptx/bulk_tensor.h"
#include "common/ptx/elect.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kStages = 8, kChunks = 32, kWords = 256;
constexpr uint32_t kArrivals = 0;  // your number: arrivals that empty a stage

// from: kChunks · kWords words. out: lane l of chunk c puts the sum of the chunk's words l, l + 32, … into out[32 c +
// l].
__global__ void sums(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kStages][kWords];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&full[s]), 1);
      mbarrier_init(shared_address(&empty[s]), kArrivals ? kArrivals : 1);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    // Your producer here, about six lines: mbarrier_wait_parity, mbarrier_arrive_expect_tx, bulk_load.
  } else if (threadIdx.x >= 32) {
    const uint32_t lane = threadIdx.x % 32;
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      uint32_t sum = 0;
      // Your consumer here, about six lines.
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
  const auto got = out.download();
  exercise::expect(std::ranges::any_of(got, [](uint32_t w) { return w != 0; }),
                   "all sums are 0: the consumer has read no stage");
  exercise::expect("out", got, want, 32);
}
EXERCISE(judge);
