// Find the moment: when does this phase end?
//
// A phase of the mbarrier `full` ends when a copy has landed and two warps have arrived. This kernel is right. In one
// of its four rounds the copy lands last, in the others a warp arrives last. Write down the first position at which
// phase 2 of `full` has ended, and what ended it: `copy`, or the number of a warp.

// answer: position = ?
// answer: by = ?
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kRounds = 4, kWords = 256;

__global__ void rounds(const uint32_t* from, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kWords];
  __shared__ alignas(8) uint64_t full;
  const uint32_t bar = shared_address(&full), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&full), 3);
    fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t round = 0; round < kRounds; ++round) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(bar, sizeof buffer);
      bulk_load(shared_address(buffer), from + round * kWords, sizeof buffer, bar);
    }
    uint32_t x = lane;
    for (uint32_t i = 0; i < (round == 2 ? 4 : 160 + 80 * (warp ^ (round & 1))); ++i) x = x * 1664525 + 1013904223;
    if (lane == 0) mbarrier_arrive(bar);
    mbarrier_wait_parity(bar, round % 2);
    out[round * 64 + threadIdx.x] = buffer[threadIdx.x] ^ x;
    fence_proxy_async_shared();
    __syncthreads();
  }
}

void judge() {
  const exercise::DeviceBuffer<uint32_t> from(exercise::counted(kRounds * kWords)), out(kRounds * 64);
  rounds<<<1, 64>>>(from.get(), out.get());
  exercise::finish();
}
EXERCISE(judge);
