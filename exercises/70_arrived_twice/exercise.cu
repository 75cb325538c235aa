// Find the warp: who has arrived twice?
//
// Four warps fill five parts of a buffer, and each arrives on the mbarrier `filled`. Warp 0 waits for the end of its
// phase, and adds up all parts; the sum is too small. Phase 0 should end when all four warps have arrived once, but one
// of them arrives a second time in it. Write down its number, and the first position at which its second arrival
// counts.

// answer: position = ?
// answer: warp = ?
#include <cstdio>

#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kParts = 5, kWarps = 4;

__global__ void fill_parts(uint32_t* out) {
  __shared__ uint32_t parts[kParts][32];
  __shared__ alignas(8) uint64_t filled;
  const uint32_t bar = shared_address(&filled), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (uint32_t part = warp; part < kParts; part += kWarps) parts[part][lane] = 0;
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&filled), kWarps);
    fence_mbarrier_init();
  }
  __syncthreads();
  for (uint32_t part = (warp + 1) % kWarps; part < kParts; part += kWarps) {
    uint32_t x = part;
    for (uint32_t i = 0; i < 40 + 400 * (warp == 1); ++i) x = x * 1664525 + 1013904223;
    parts[part][lane] = x % 1000;
    __syncwarp();
    if (lane == 0) mbarrier_arrive(bar);
  }
  if (warp == 0) {
    mbarrier_wait_parity(bar, 0);
    uint32_t sum = 0;
    for (uint32_t part = 0; part < kParts; ++part) sum += parts[part][lane];
    out[lane] = sum;
  }
}

void judge() {
  const exercise::DeviceBuffer<uint32_t> out(32);
  fill_parts<<<1, kWarps * 32>>>(out.get());
  exercise::finish();
  uint32_t want = 0;
  for (uint32_t part = 0; part < kParts; ++part) {
    uint32_t x = part;
    for (uint32_t i = 0; i < (part == 2 ? 440 : 40); ++i) x = x * 1664525 + 1013904223;
    want += x % 1000;
  }
  const uint32_t sum = out.download()[0];
  std::printf("the sum is %u and should be %u\n", sum, want);
  exercise::expect(sum == want, "the sum is wrong");
}
EXERCISE(judge);
