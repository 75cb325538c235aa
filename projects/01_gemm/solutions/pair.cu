// Two CTAs of a cluster share a tile of 256 x 256: one MMA for both, each loads its own rows of A and half of B. A
// smaller share of B leaves room for five stages.
#include "common/layout/tile.h"
#include "common/ptx/cluster.h"
#include "exercises/gemm.cuh"
#include "projects/project.h"

using namespace gemm;

constexpr uint32_t kTileN = 256, kHalfN = kTileN / 2, kStages = 5, kAccumulators = 2, kBand = 4;
constexpr uint32_t kInstruction = gen5::layout::instruction_descriptor({.m = 2 * kTileM, .n = kTileN, .cta_group = 2});

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kHalfN * kRowBytes], boxes[8][kBoxBytes];
  uint64_t full[kStages], empty[kStages], done[kAccumulators], drained[kAccumulators];
  uint32_t slot;
};

__global__ void __launch_bounds__(192) __cluster_dims__(2) multiply(const __grid_constant__ Maps maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32, rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    for (uint32_t i = 0; i < kAccumulators; ++i) {
      mbarrier_init(shared_address(&shared.done[i]), 1);
      mbarrier_init(shared_address(&shared.drained[i]), 8);
    }
    fence_mbarrier_init();
  }
  const auto meet = [] {
    tcgen05_fence_before_thread_sync();
    barrier_cluster_arrive();
    barrier_cluster_wait();
    tcgen05_fence_after_thread_sync();
  };
  if (warp == 0) {
    tcgen05_alloc<2>(shared_address(&shared.slot), kAccumulators * kTileN);
    tcgen05_relinquish_alloc_permit<2>();
  }
  meet();
  const uint32_t accumulators = shared.slot, tiles = maps.rows * maps.columns, blocks = maps.blocks;
  const uint32_t first = blockIdx.x / 2, stride = gridDim.x / 2;
  const auto tile = [&](uint32_t t) { return gen5::layout::banded_tile(t, maps.rows, maps.columns, kBand); };
  if (warp == 0) {
    if (elect_sync())
      for (uint32_t t = first, i = 0; t < tiles; t += stride)
        for (uint32_t block = 0; block < blocks; ++block, ++i) {
          const uint32_t s = i % kStages, full = mapa(shared_address(&shared.full[s]), 0);
          mbarrier_wait_parity(shared_address(&shared.empty[s]), i / kStages % 2 ^ 1);
          if (rank == 0) mbarrier_arrive_expect_tx(shared_address(&shared.full[s]), 2 * (kTileM + kHalfN) * kRowBytes);
          tensor_load_2d_pair(shared_address(shared.a[s]), &maps.a, block * kBlockK, (tile(t).m * 2 + rank) * kTileM,
                              full);
          tensor_load_2d_pair(shared_address(shared.b[s]), &maps.b, block * kBlockK, tile(t).n * kTileN + rank * kHalfN,
                              full);
        }
  } else if (warp == 1) {
    if (rank == 0 && elect_sync())
      for (uint32_t t = first, i = 0, n = 0; t < tiles; t += stride, ++n) {
        const uint32_t which = n % kAccumulators;
        mbarrier_wait_parity(shared_address(&shared.drained[which]), n / kAccumulators % 2 ^ 1);
        tcgen05_fence_after_thread_sync();
        for (uint32_t block = 0; block < blocks; ++block, ++i) {
          const uint32_t s = i % kStages;
          mbarrier_wait_parity(shared_address(&shared.full[s]), i / kStages % 2);
          for (uint32_t step = 0; step < 4; ++step)
            tcgen05_mma_f16<2>(accumulators + which * kTileN,
                               gen5::layout::at_address(tile::kDescriptor, shared_address(shared.a[s]) + 32 * step),
                               gen5::layout::at_address(tile::kDescriptor, shared_address(shared.b[s]) + 32 * step),
                               kInstruction, block + step > 0);
          tcgen05_commit_pair(shared_address(&shared.empty[s]), 0b11);
        }
        tcgen05_commit_pair(shared_address(&shared.done[which]), 0b11);
      }
  } else {
    for (uint32_t t = first, n = 0; t < tiles; t += stride, ++n) {
      const uint32_t which = n % kAccumulators;
      mbarrier_wait_parity(shared_address(&shared.done[which]), n / kAccumulators % 2);
      tcgen05_fence_after_thread_sync();
      store_accumulator<kTileN>(maps, accumulators + which * kTileN, shared_address(shared.boxes), tile(t).m * 2 + rank,
                                tile(t).n);
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive_remote(mapa(shared_address(&shared.drained[which]), 0));
    }
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  __syncwarp();
  meet();
  if (warp == 0) tcgen05_dealloc<2>(accumulators, kAccumulators * kTileN);
}

void launch(const project::Gemm& g) {
  const auto operand = [&](uint16_t* from, uint32_t rows, uint32_t box) {
    return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, rows, g.k, g.k, box, kBlockK,
                                     CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const uint32_t rows = (g.m + 2 * kTileM - 1) / (2 * kTileM), columns = (g.n + kTileN - 1) / kTileN;
  const Maps maps{operand(g.a, g.m, kTileM),
                  operand(g.b, g.n, kHalfN),
                  gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, g.d, g.m, g.n, g.n, 32, 32,
                                            CU_TENSOR_MAP_SWIZZLE_128B),
                  rows,
                  columns,
                  (g.k + kBlockK - 1) / kBlockK};
  int sms = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
  GEN5_CUDA(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  multiply<<<2 * min(uint32_t(sms) / 2, rows * columns), 192, sizeof(Shared)>>>(maps);
}
PROJECT(launch);
