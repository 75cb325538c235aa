// Two CTAs on an SM, each with a ring of two stages: while one stores its tile, the other one multiplies.
#include "common/layout/tile.h"
#include "exercises/gemm.cuh"
#include "projects/project.h"

using namespace gemm;

constexpr uint32_t kTileN = 128, kStages = 2;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes], boxes[8][kBoxBytes];
  uint64_t full[kStages], empty[kStages], done;
  uint32_t slot;
};

__global__ void __launch_bounds__(192) multiply(const __grid_constant__ Maps maps) {
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
    if (elect_sync())
      for (uint32_t block = 0; block < maps.blocks; ++block) {
        const uint32_t s = block % kStages, full = shared_address(&shared.full[s]);
        mbarrier_wait_parity(shared_address(&shared.empty[s]), block / kStages % 2 ^ 1);
        mbarrier_arrive_expect_tx(full, kBlockBytes<kTileN>);
        load_block<kTileN>(maps, shared_address(shared.a[s]), shared_address(shared.b[s]), block, blockIdx.y,
                           blockIdx.x, full);
      }
  } else if (warp == 1) {
    if (elect_sync()) {
      for (uint32_t block = 0; block < maps.blocks; ++block) {
        const uint32_t s = block % kStages;
        mbarrier_wait_parity(shared_address(&shared.full[s]), block / kStages % 2);
        multiply_block<kTileN>(accumulator, shared_address(shared.a[s]), shared_address(shared.b[s]), block == 0);
        tcgen05_commit(shared_address(&shared.empty[s]));
      }
      tcgen05_commit(shared_address(&shared.done));
    }
  } else {
    mbarrier_wait_parity(shared_address(&shared.done), 0);
    tcgen05_fence_after_thread_sync();
    store_accumulator<kTileN>(maps, accumulator, shared_address(shared.boxes), blockIdx.y, blockIdx.x);
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  __syncwarp();
  end(accumulator, kTileN);
}

void launch(const project::Gemm& g) {
  const auto operand = [&](uint16_t* from, uint32_t rows, uint32_t box) {
    return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, rows, g.k, g.k, box, kBlockK,
                                     CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const uint32_t rows = (g.m + kTileM - 1) / kTileM, columns = (g.n + kTileN - 1) / kTileN;
  const Maps maps{operand(g.a, g.m, kTileM),
                  operand(g.b, g.n, kTileN),
                  gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, g.d, g.m, g.n, g.n, 32, 32,
                                            CU_TENSOR_MAP_SWIZZLE_128B),
                  rows,
                  columns,
                  (g.k + kBlockK - 1) / kBlockK};
  GEN5_CUDA(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  multiply<<<dim3(columns, rows), 192, sizeof(Shared)>>>(maps);
}
PROJECT(launch);
