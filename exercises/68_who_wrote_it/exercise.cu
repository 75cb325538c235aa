// Find the step: who wrote this word?
//
// Four warps take turns to sort 128 keys into 16 bins. One word of a bin is wrong at the end, and it was right before.
// Run the program in the debugger, and go back from its end to the step that wrote the wrong word. Write down the first
// position at which the word is wrong, the warp that took this step, and its lane.

// answer: position = ?
// answer: warp = ?
// answer: lane = ?
#include <cstdio>

#include "exercises/exercise.h"

constexpr uint32_t kBins = 16, kRoom = 8, kKeys = kBins * kRoom;

__global__ void sort_into_bins(const uint32_t* keys, uint32_t* out) {
  __shared__ uint32_t counts[kBins];
  if (threadIdx.x < kBins) counts[threadIdx.x] = 0;
  __syncthreads();
  for (uint32_t turn = 0; turn < blockDim.x / 32; ++turn) {
    if (turn == threadIdx.x / 32) {
      const uint32_t key = keys[threadIdx.x], bin = key % kBins;
      out[bin * kRoom + atomicAdd(&counts[bin], 1)] = key;
    }
    __syncthreads();
  }
}

void judge() {
  auto keys = exercise::counted(kKeys, 49);
  keys[70] += 3;
  exercise::DeviceBuffer<uint32_t> from(keys), out(kKeys);
  out.fill(0);
  sort_into_bins<<<1, kKeys>>>(from.get(), out.get());
  exercise::finish();
  const auto sorted = out.download();
  bool right = true;
  for (uint32_t i = 0; i < kKeys; ++i)
    if (sorted[i] && sorted[i] % kBins != i / kRoom) {
      right = false;
      std::printf("the word at %p, in bin %u, holds a key of bin %u: %u\n", static_cast<const void*>(out.get() + i),
                  i / kRoom, sorted[i] % kBins, sorted[i]);
    }
  exercise::expect(right, "a key is in a wrong bin");
}
EXERCISE(judge);
