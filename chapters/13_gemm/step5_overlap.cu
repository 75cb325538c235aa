// Step 5: two accumulators. A CTA now computes four tiles, one below the other, and Tensor Memory holds two of them:
// while the epilogue warps carry one out, the MMA warp already fills the other. The ring of stages never runs dry
// between tiles.
#include "chapters/13_gemm/gemm.cuh"

namespace gemm {
namespace {

constexpr uint32_t kTileN = 128;
constexpr uint32_t kStages = 4;
constexpr uint32_t kTiles = 4;  // of one CTA
constexpr uint32_t kEpilogueWarps = 4;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes];
  uint8_t boxes[4][2][kStoreBytes];
  uint64_t full[kStages], empty[kStages];
  uint64_t accumulator_full[2], accumulator_empty[2];
  uint32_t accumulators;
};

template <layout::Element In, class Out>
__global__ void __launch_bounds__(192) overlap(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t row = blockIdx.y * kTiles * kTileM, column = blockIdx.x * kTileN;
  const uint32_t blocks = layout::ceil_div(args.k, kBlockK);
  const uint32_t tiles = min(kTiles, layout::ceil_div(args.m - row, kTileM));

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

  if (warp == 0) {
    if (elect_sync()) {
      Ring<kStages> at;
      for (uint32_t t = 0; t < tiles; ++t)
        for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
          const uint32_t full = shared_address(&shared.full[at.stage]);
          mbarrier_wait_parity(shared_address(&shared.empty[at.stage]), at.parity ^ 1);
          mbarrier_arrive_expect_tx(full, sizeof(shared.a[0]) + sizeof(shared.b[0]));
          tensor_load_2d(shared_address(shared.a[at.stage]), &args.a_map, block * kBlockK, row + t * kTileM, full);
          tensor_load_2d(shared_address(shared.b[at.stage]), &args.b_map, block * kBlockK, column, full);
        }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      Ring<kStages> at;
      Ring<2> to;
      for (uint32_t t = 0; t < tiles; ++t, to.advance()) {
        // The epilogue has read what this accumulator held two tiles ago.
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
    for (uint32_t t = 0; t < tiles; ++t, from.advance()) {
      mbarrier_wait_parity(shared_address(&shared.accumulator_full[from.stage]), from.parity);
      tcgen05_fence_after_thread_sync();
      store_tile<Out, kTileN>(&args.d_map, layout::tmem_address(accumulators, quarter * 32, from.stage * kTileN),
                              shared_address(shared.boxes[quarter]), row + t * kTileM + quarter * 32, column);
      // All lanes' loads have ended (wait::ld); one arrives for the warp.
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

void launch_overlap(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out>() {
    const Arguments args = make_arguments(p, kTileN);
    const dim3 grid(layout::ceil_div(p.n, kTileN), layout::ceil_div(p.m, kTiles * kTileM));
    GEN5_CUDA(cudaFuncSetAttribute(overlap<In, Out>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
    overlap<In, Out><<<grid, 192, sizeof(Shared)>>>(args);
  });
}

}  // namespace gemm
