// Not before it is empty
//
// A persistent kernel: one block, six tiles, two accumulators. The MMA warp fills an accumulator again whether or not
// the epilogue has read it. Add the wait, with its parity: it waits as a producer waits for an empty stage.
#include "exercises/gemm.cuh"

using namespace gemm;

constexpr uint32_t kTileN = 128, kStages = 4, kAccumulators = 2;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes], boxes[8][kBoxBytes];
  uint64_t full[kStages], empty[kStages], done[kAccumulators], drained[kAccumulators];
  uint32_t slot;
};

// One block computes all tiles, one after the other. Two accumulators: one is filled while the other is stored.
__global__ void __launch_bounds__(192) persistent(const __grid_constant__ Maps maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    for (uint32_t i = 0; i < kAccumulators; ++i) {
      mbarrier_init(shared_address(&shared.done[i]), 1);
      mbarrier_init(shared_address(&shared.drained[i]), 4);
    }
    fence_mbarrier_init();
  }
  const uint32_t accumulators = begin(&shared.slot, kAccumulators * kTileN), warp = threadIdx.x / 32;
  const uint32_t tiles = maps.rows * maps.columns, blocks = maps.blocks;
  if (warp == 0) {
    if (elect_sync())
      for (uint32_t i = 0; i < tiles * blocks; ++i) {
        const uint32_t s = i % kStages, full = shared_address(&shared.full[s]), t = i / blocks;
        mbarrier_wait_parity(shared_address(&shared.empty[s]), i / kStages % 2 ^ 1);
        mbarrier_arrive_expect_tx(full, kBlockBytes<kTileN>);
        load_block<kTileN>(maps, shared_address(shared.a[s]), shared_address(shared.b[s]), i % blocks, t / maps.columns,
                           t % maps.columns, full);
      }
  } else if (warp == 1) {
    if (elect_sync())
      for (uint32_t t = 0; t < tiles; ++t) {
        const uint32_t which = t % kAccumulators, accumulator = accumulators + which * kTileN;
        // Your line here.
        tcgen05_fence_after_thread_sync();
        for (uint32_t block = 0; block < blocks; ++block) {
          const uint32_t i = t * blocks + block, s = i % kStages;
          mbarrier_wait_parity(shared_address(&shared.full[s]), i / kStages % 2);
          multiply_block<kTileN>(accumulator, shared_address(shared.a[s]), shared_address(shared.b[s]), block == 0);
          tcgen05_commit(shared_address(&shared.empty[s]));
        }
        tcgen05_commit(shared_address(&shared.done[which]));
      }
  } else {
    for (uint32_t t = 0; t < tiles; ++t) {
      const uint32_t which = t % kAccumulators;
      mbarrier_wait_parity(shared_address(&shared.done[which]), t / kAccumulators % 2);
      tcgen05_fence_after_thread_sync();
      store_accumulator<kTileN>(maps, accumulators + which * kTileN, shared_address(shared.boxes), t / maps.columns,
                                t % maps.columns);
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive(shared_address(&shared.drained[which]));
    }
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  end(accumulators, kAccumulators * kTileN);
}

void judge() { gemm::judge<kTileN>(persistent, 256, 384, 256, dim3(1), 192, sizeof(Shared)); }
EXERCISE(judge);
