// Find the root: why do all wait?
//
// Four warps form a circle. Each waits until its neighbour has done a round, does the round itself, and arrives. After
// some rounds all that are left wait, because one warp has left the circle too early. Write down the number of that
// warp, and the position at which the last phase of an mbarrier ended.

// answer: position = ?
// answer: left = ?
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kWarps = 4, kRounds = 8;

__global__ void circle(const uint32_t* items, uint32_t* out) {
  __shared__ alignas(8) uint64_t done[kWarps];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (uint32_t w = 0; w < kWarps; ++w) mbarrier_init(shared_address(&done[w]), 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  const uint32_t before = shared_address(&done[(warp + kWarps - 1) % kWarps]), own = shared_address(&done[warp]);
  for (uint32_t round = 0; items[round * kWarps + warp] != 0; ++round) {
    if (warp > 0 || round > 0) mbarrier_wait_parity(before, (round + (warp > 0 ? 0 : 1)) % 2);
    if (lane == 0) out[round * kWarps + warp] = ~items[round * kWarps + warp];
    __syncwarp();
    if (lane == 0) mbarrier_arrive(own);
  }
}

void judge() {
  auto items = exercise::counted((kRounds + 1) * kWarps, 5);
  items[0] = 1;
  items[22] = 0;
  for (uint32_t warp = 0; warp < kWarps; ++warp) items[kRounds * kWarps + warp] = 0;
  const exercise::DeviceBuffer<uint32_t> from(items), out(items.size());
  circle<<<1, kWarps * 32>>>(from.get(), out.get());
  exercise::finish();
}
EXERCISE(judge);
