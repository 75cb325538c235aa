// Step 8: a CTA pair. Two CTAs of a cluster, on two SMs, compute a tile of 256 rows with one MMA: each holds 128 rows
// of A, half of the columns of B, and 128 rows of the result in its own Tensor Memory. So each loads only half of B.
//
//   warp 0      producer   one in each CTA: loads its own A and its own half of B, reports to the even CTA's barrier
//   warp 1      MMA        in the even CTA alone: waits for both CTAs' loads, multiplies for both, and commits to
//                          barriers of both (multicast)
//   warps 2–5   epilogue   in each CTA: its own rows; they report to the even CTA's barrier
//
// Scales: one thread copies them in both CTAs. Each CTA has those of its own 128 rows of A, but of all columns of B:
// its tensor core multiplies its rows with all of B, of which its own shared memory holds half.
#include "chapters/13_gemm/persistent.cuh"
#include "common/ptx/cluster.h"

namespace gemm {
namespace {

constexpr uint32_t kCtas = 2;
constexpr uint16_t kBoth = 0b11;
constexpr uint32_t kAccumulators = 2;

template <class Kind>
using PairShared = Shared<Kind, kAccumulators, Kind::kWideN, kCtas>;

template <class Kind, class Out, bool kStamped>
__global__ void __launch_bounds__(192) __cluster_dims__(kCtas, 1, 1)
    pair(const __grid_constant__ ScaledArguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<PairShared<Kind>*>(memory);
  constexpr uint32_t kTileN = Kind::kWideN, kHalfN = kTileN / kCtas,
                     kColumns = columns_for<Kind, kTileN>(kAccumulators);
  const uint32_t warp = threadIdx.x / 32, rank = cluster_ctarank();
  const Tiles<kTileN, kCtas> tiles(args);
  const uint32_t blocks = layout::ceil_div(args.k, Kind::kBlockK);
  const uint32_t first = tiles.first(), stride = tiles.stride();

  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    if constexpr (Kind::kChunks)
      for (uint32_t i = 0; i < kScalePlaces; ++i) mbarrier_init(shared_address(&shared.read[i]), 1);
    for (uint32_t i = 0; i < kAccumulators; ++i) {
      mbarrier_init(shared_address(&shared.accumulated[i]), 1);
      mbarrier_init(shared_address(&shared.drained[i]), kCtas * kEpilogueWarps);
    }
    fence_mbarrier_init();
  }
  // The pair allocates together, and each CTA's barriers are ready before the other may signal them.
  if (warp == 0) {
    tcgen05_alloc<kCtas>(shared_address(&shared.accumulators), kColumns);
    tcgen05_relinquish_alloc_permit<kCtas>();
  }
  tcgen05_fence_before_thread_sync();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  tcgen05_fence_after_thread_sync();
  const uint32_t accumulators = shared.accumulators;

  if (warp == 0) {
    if (elect_sync()) {
      Stamps<kStamped> asked(args.stamps, Moment::asked);
      Ring<kStages> to;
      for (uint32_t t = first; t < tiles.count; t += stride) {
        const layout::TileCoordinate tile = tiles[t];
        const uint32_t row = (tile.m * kCtas + rank) * kTileM, column = tile.n * kTileN + rank * kHalfN;
        for (uint32_t block = 0; block < blocks; ++block, to.advance()) {
          mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
          asked.take();
          // The even CTA's barrier counts the bytes of both. The odd one's may land before they are expected: the phase
          // waits for the even CTA's arrival.
          const uint32_t full = mapa(shared_address(&shared.full[to.stage]), 0);
          if (rank == 0)
            mbarrier_arrive_expect_tx(shared_address(&shared.full[to.stage]), kCtas * shared.stage[0].kBytes);
          load_block<Kind, kTileN, true>(shared.stage[to.stage], args, block, row, column, tile.n * kTileN, full);
        }
      }
    }
  } else if (warp == 1) {
    if (rank == 0 && elect_sync()) {
      Stamps<kStamped> landed(args.stamps, Moment::landed);
      Ring<kStages> at;
      Scales<Kind, kTileN, kCtas> scales{accumulators + kAccumulators * kTileN, shared.read};
      Ring<kAccumulators> into;
      for (uint32_t t = first; t < tiles.count; t += stride, into.advance()) {
        const uint32_t column = tiles[t].n * kTileN;
        const uint32_t accumulator = accumulators + into.stage * kTileN;
        // The epilogues of both CTAs have read what the accumulator held before.
        mbarrier_wait_parity(shared_address(&shared.drained[into.stage]), into.parity ^ 1);
        tcgen05_fence_after_thread_sync();
        for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
          mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
          landed.take();
          const auto& stage = shared.stage[at.stage];
          multiply_block<Kind, kTileN, kCtas>(accumulator, stage, scales.copy(stage), column, block == 0);
          scales.commit();
          // Arrives in both CTAs when the tensor cores have read the stage.
          tcgen05_commit_pair(shared_address(&shared.empty[at.stage]), kBoth);
        }
        tcgen05_commit_pair(shared_address(&shared.accumulated[into.stage]), kBoth);
      }
    }
  } else {
    const bool stamps = threadIdx.x == 64;
    Stamps<kStamped> ready(args.stamps, Moment::ready, stamps), stored(args.stamps, Moment::stored, stamps);
    const uint32_t quarter = warp % 4;  // the lanes of Tensor Memory that this warp may read: 32 · quarter …
    Ring<kAccumulators> from;
    for (uint32_t t = first; t < tiles.count; t += stride, from.advance()) {
      const layout::TileCoordinate tile = tiles[t];
      const uint32_t row = (tile.m * kCtas + rank) * kTileM;
      mbarrier_wait_parity(shared_address(&shared.accumulated[from.stage]), from.parity);
      tcgen05_fence_after_thread_sync();
      ready.take();
      store_tile<Out, kTileN>(&args.d_map, layout::tmem_address(accumulators, quarter * 32, from.stage * kTileN),
                              shared_address(shared.boxes[quarter]), row + quarter * 32, tile.n * kTileN);
      stored.take();
      // All lanes' loads have ended (wait::ld); one arrives for the warp, in the even CTA.
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive_remote(mapa(shared_address(&shared.drained[from.stage]), 0));
    }
    if (elect_sync()) bulk_wait_group_read<0>();
  }

  // Neither leaves while the other may signal its barriers, and they free together.
  tcgen05_fence_before_thread_sync();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  tcgen05_fence_after_thread_sync();
  if (warp == 0) tcgen05_dealloc<kCtas>(accumulators, kColumns);
}

}  // namespace

void launch_pair(const Problem& p) {
  for_kinds(p, [&]<class Kind, class Out, bool kStamped>() {
    constexpr uint32_t kTileN = Kind::kWideN;
    const auto kernel = pair<Kind, Out, kStamped>;
    const uint32_t tiles = layout::ceil_div(p.m, kCtas * kTileM) * layout::ceil_div(p.n, kTileN);
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(PairShared<Kind>)));
    const uint32_t pairs = min(tiles, multiprocessors() / kCtas);
    kernel<<<pairs * kCtas, 192, sizeof(PairShared<Kind>)>>>(make_arguments<Kind, kTileN>(p, kTileN / kCtas));
  });
}

}  // namespace gemm
