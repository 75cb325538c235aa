// Step 6: persistent CTAs. As many as there are SMs stay for the whole product and take tile after tile, so that no SM
// waits for a launch, an allocation or a first load in between. Tiles are 128 × 256: two accumulators fill all 512
// columns of Tensor Memory, and a block of K brings 48 KiB for 512 cycles of multiplication. The order goes through the
// tiles in bands, so that CTAs that run together read the same rows of A and columns of B while these are in L2.
#include "chapters/13_gemm/gemm.cuh"

namespace gemm {
namespace {

constexpr uint32_t kTileN = 256;
constexpr uint32_t kStages = 4;
constexpr uint32_t kBand = 8;  // tiles of 128 rows
constexpr uint32_t kEpilogueWarps = 4;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes];
  uint8_t boxes[4][2][kStoreBytes];
  uint64_t full[kStages], empty[kStages];
  uint64_t accumulator_full[2], accumulator_empty[2];
  uint32_t accumulators;
};

template <layout::Element In, class Out>
__global__ void __launch_bounds__(192) persistent(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t blocks = layout::ceil_div(args.k, kBlockK);
  const uint32_t tiles_m = layout::ceil_div(args.m, kTileM), tiles_n = layout::ceil_div(args.n, kTileN);
  const uint32_t tiles = tiles_m * tiles_n;

  if (warp == 0 && elect_sync()) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    for (uint32_t i = 0; i < 2; ++i) {
      mbarrier_init(shared_address(&shared.accumulator_full[i]), 1);
      mbarrier_init(shared_address(&shared.accumulator_empty[i]), kEpilogueWarps);
    }
    fence_mbarrier_init();
  }
  if (warp == 1) {
    tcgen05_alloc(shared_address(&shared.accumulators), 2 * kTileN);
    tcgen05_relinquish_alloc_permit();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t accumulators = shared.accumulators;

  // All three roles walk the same tiles.
  if (warp == 0) {
    if (elect_sync()) {
      Ring<kStages> at;
      for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x) {
        const layout::TileCoordinate tile = layout::banded_tile(t, tiles_m, tiles_n, kBand);
        for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
          const uint32_t full = shared_address(&shared.full[at.stage]);
          mbarrier_wait_parity(shared_address(&shared.empty[at.stage]), at.parity ^ 1);
          mbarrier_arrive_expect_tx(full, sizeof(shared.a[0]) + sizeof(shared.b[0]));
          tensor_load_2d(shared_address(shared.a[at.stage]), &args.a_map, block * kBlockK, tile.m * kTileM, full);
          tensor_load_2d(shared_address(shared.b[at.stage]), &args.b_map, block * kBlockK, tile.n * kTileN, full);
        }
      }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      Ring<kStages> at;
      Ring<2> to;
      for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x, to.advance()) {
        mbarrier_wait_parity(shared_address(&shared.accumulator_empty[to.stage]), to.parity ^ 1);
        tcgen05_fence_after_thread_sync();
        for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
          mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
          tcgen05_fence_after_thread_sync();
          multiply_block<In, kTileN>(accumulators + to.stage * kTileN, shared_address(shared.a[at.stage]),
                                     shared_address(shared.b[at.stage]), block == 0);
          tcgen05_commit(shared_address(&shared.empty[at.stage]));
        }
        tcgen05_commit(shared_address(&shared.accumulator_full[to.stage]));
      }
    }
  } else {
    const uint32_t quarter = warp % 4;
    Ring<2> from;
    for (uint32_t t = blockIdx.x; t < tiles; t += gridDim.x, from.advance()) {
      const layout::TileCoordinate tile = layout::banded_tile(t, tiles_m, tiles_n, kBand);
      mbarrier_wait_parity(shared_address(&shared.accumulator_full[from.stage]), from.parity);
      tcgen05_fence_after_thread_sync();
      store_tile<Out, kTileN>(&args.d_map, layout::tmem_address(accumulators, quarter * 32, from.stage * kTileN),
                              shared_address(shared.boxes[quarter]), tile.m * kTileM + quarter * 32, tile.n * kTileN);
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive(shared_address(&shared.accumulator_empty[from.stage]));
    }
    if (elect_sync()) bulk_wait_group_read<0>();
  }

  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 1) tcgen05_dealloc(accumulators, 2 * kTileN);
}

}  // namespace

void launch_persistent(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out>() {
    const Arguments args = make_arguments(p, kTileN);
    int sms = 0;
    GEN5_CUDA(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    const uint32_t tiles = layout::ceil_div(p.m, kTileM) * layout::ceil_div(p.n, kTileN);
    GEN5_CUDA(cudaFuncSetAttribute(persistent<In, Out>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
    persistent<In, Out><<<min(tiles, uint32_t(sms)), 192, sizeof(Shared)>>>(args);
  });
}

}  // namespace gemm
