// Your own pipeline
//
// Everything is there but the two loops in the middle: warp 0 loads the blocks of K, warp 1 multiplies them. Write both
// loops. load_block and multiply_block (exercises/gemm.cuh) load and multiply one block, which has
// kBlockBytes<kTileN> bytes. The ring has four stages; `full` and `empty` take one arrival each, and `done` is for the
// epilogue.
#include "exercises/gemm.cuh"

using namespace gemm;

constexpr uint32_t kTileN = 128, kStages = 4;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes], boxes[8][kBoxBytes];
  uint64_t full[kStages], empty[kStages], done;
  uint32_t slot;
};

// Warp 0 loads, warp 1 multiplies, warps 2 to 5 store the accumulator.
__global__ void __launch_bounds__(192) roles(const __grid_constant__ Maps maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    mbarrier_init(shared_address(&shared.done), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin(&shared.slot, kTileN), warp = threadIdx.x / 32;
  if (warp == 0) {
    // Your producer here: wait until a stage is empty, expect its bytes, load the block.
  } else if (warp == 1) {
    // Your loop here: wait until a stage is full, multiply, give it back; after the last block tell the epilogue.
  } else {
    mbarrier_wait_parity(shared_address(&shared.done), 0);
    tcgen05_fence_after_thread_sync();
    store_accumulator<kTileN>(maps, accumulator, shared_address(shared.boxes), blockIdx.y, blockIdx.x);
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  end(accumulator, kTileN);
}

void judge() { gemm::judge<kTileN>(roles, 256, 256, 640, dim3(2, 2), 192, sizeof(Shared)); }
EXERCISE(judge);
