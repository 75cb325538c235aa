// A tile with one stage
//
// A whole GEMM tile: TMA loads one block of K at a time, the tensor core multiplies it, and the epilogue stores the
// result. One thread does the first two in turn. It starts the next load before the tensor core has read this block.
// Add the wait.
#include "exercises/gemm.cuh"

using namespace gemm;

constexpr uint32_t kTileN = 128;

struct Shared {
  uint8_t a[kTileM * kRowBytes], b[kTileN * kRowBytes], boxes[8][kBoxBytes];
  uint64_t full, read;
  uint32_t slot;
};

__global__ void one_stage(const __grid_constant__ Maps maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t full = shared_address(&shared.full), read = shared_address(&shared.read);
  if (threadIdx.x == 0) {
    mbarrier_init(full, 1);
    mbarrier_init(read, 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin(&shared.slot, kTileN);
  if (threadIdx.x == 0)
    for (uint32_t block = 0; block < maps.blocks; ++block) {
      mbarrier_arrive_expect_tx(full, kBlockBytes<kTileN>);
      load_block<kTileN>(maps, shared_address(shared.a), shared_address(shared.b), block, blockIdx.y, blockIdx.x, full);
      mbarrier_wait_parity(full, block % 2);
      multiply_block<kTileN>(accumulator, shared_address(shared.a), shared_address(shared.b), block == 0);
      tcgen05_commit(read);
      // Your line here.
    }
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  store_accumulator<kTileN>(maps, accumulator, shared_address(shared.boxes), blockIdx.y, blockIdx.x);
  if (elect_sync()) bulk_wait_group_read<0>();
  end(accumulator, kTileN);
}

void judge() { gemm::judge<kTileN>(one_stage, 128, 256, 320, dim3(2, 1), 128, sizeof(Shared)); }
EXERCISE(judge);
