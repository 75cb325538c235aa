// One persistent CTA on each SM: tiles of 256 columns, a ring of four stages, two accumulators that fill Tensor Memory.
#include "common/layout/tile.h"
#include "exercises/gemm.cuh"
#include "projects/project.h"

using namespace gemm;

constexpr uint32_t kTileN = 256, kStages = 4, kAccumulators = 2, kBand = 8;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes], boxes[8][kBoxBytes];
  uint64_t full[kStages], empty[kStages], done[kAccumulators], drained[kAccumulators];
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
    for (uint32_t i = 0; i < kAccumulators; ++i) {
      mbarrier_init(shared_address(&shared.done[i]), 1);
      mbarrier_init(shared_address(&shared.drained[i]), 4);
    }
    fence_mbarrier_init();
  }
  const uint32_t accumulators = begin(&shared.slot, kAccumulators * kTileN), warp = threadIdx.x / 32;
  const uint32_t tiles = maps.rows * maps.columns, blocks = maps.blocks;
  const auto tile = [&](uint32_t t) { return gen5::layout::banded_tile(t, maps.rows, maps.columns, kBand); };
  if (warp == 0) {
    if (elect_sync())
      for (uint32_t t = blockIdx.x, i = 0; t < tiles; t += gridDim.x)
        for (uint32_t block = 0; block < blocks; ++block, ++i) {
          const uint32_t s = i % kStages, full = shared_address(&shared.full[s]);
          mbarrier_wait_parity(shared_address(&shared.empty[s]), i / kStages % 2 ^ 1);
          mbarrier_arrive_expect_tx(full, kBlockBytes<kTileN>);
          load_block<kTileN>(maps, shared_address(shared.a[s]), shared_address(shared.b[s]), block, tile(t).m,
                             tile(t).n, full);
        }
  } else if (warp == 1) {
    if (elect_sync())
      for (uint32_t t = blockIdx.x, i = 0, n = 0; t < tiles; t += gridDim.x, ++n) {
        const uint32_t which = n % kAccumulators;
        mbarrier_wait_parity(shared_address(&shared.drained[which]), n / kAccumulators % 2 ^ 1);
        tcgen05_fence_after_thread_sync();
        for (uint32_t block = 0; block < blocks; ++block, ++i) {
          const uint32_t s = i % kStages;
          mbarrier_wait_parity(shared_address(&shared.full[s]), i / kStages % 2);
          multiply_block<kTileN>(accumulators + which * kTileN, shared_address(shared.a[s]),
                                 shared_address(shared.b[s]), block == 0);
          tcgen05_commit(shared_address(&shared.empty[s]));
        }
        tcgen05_commit(shared_address(&shared.done[which]));
      }
  } else {
    for (uint32_t t = blockIdx.x, n = 0; t < tiles; t += gridDim.x, ++n) {
      const uint32_t which = n % kAccumulators;
      mbarrier_wait_parity(shared_address(&shared.done[which]), n / kAccumulators % 2);
      tcgen05_fence_after_thread_sync();
      store_accumulator<kTileN>(maps, accumulators + which * kTileN, shared_address(shared.boxes), tile(t).m,
                                tile(t).n);
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive(shared_address(&shared.drained[which]));
    }
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  __syncwarp();
  end(accumulators, kAccumulators * kTileN);
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
  int sms = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  GEN5_CUDA(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  multiply<<<min(uint32_t(sms), rows * columns), 192, sizeof(Shared)>>>(maps);
}
PROJECT(launch);
