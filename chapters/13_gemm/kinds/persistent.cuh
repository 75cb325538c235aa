// The kernel of steps 5 to 7 of the narrow kinds. They differ in two numbers, as bf16's do.
#pragma once
#include "chapters/13_gemm/kinds/kinds.cuh"

namespace gemm::kinds {

template <class Kind, uint32_t Accumulators, uint32_t TileN>
struct Shared {
  Stage<Kind, TileN> stage[kStages];
  uint8_t boxes[4][2][kStoreBytes];
  uint64_t full[kStages], empty[kStages], read[kScalePlaces];
  uint64_t accumulated[Accumulators], drained[Accumulators];
  uint32_t accumulators;
};

template <class Kind, uint32_t Accumulators, uint32_t TileN, class Out, bool kStamped>
__global__ void __launch_bounds__(192) persistent(const __grid_constant__ ScaledArguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<Kind, Accumulators, TileN>*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const Tiles<TileN> tiles(args);
  const uint32_t blocks = layout::ceil_div(args.k, Kind::kBlockK);

  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    for (uint32_t i = 0; i < kScalePlaces; ++i) mbarrier_init(shared_address(&shared.read[i]), 1);
    for (uint32_t i = 0; i < Accumulators; ++i) {
      mbarrier_init(shared_address(&shared.accumulated[i]), 1);
      mbarrier_init(shared_address(&shared.drained[i]), kEpilogueWarps);
    }
    fence_mbarrier_init();
  }
  constexpr uint32_t kColumns = columns_for<Kind, TileN>(Accumulators);
  const uint32_t accumulators = begin_cta(&shared.accumulators, kColumns);

  // All three roles walk the same tiles.
  if (warp == 0) {
    if (elect_sync()) {
      Stamps<kStamped> asked(args.stamps, Moment::asked);
      Ring<kStages> to;
      for (uint32_t t = tiles.first(); t < tiles.count; t += tiles.stride()) {
        const layout::TileCoordinate tile = tiles[t];
        for (uint32_t block = 0; block < blocks; ++block, to.advance()) {
          const uint32_t full = shared_address(&shared.full[to.stage]);
          mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
          asked.take();
          // The phase ends when this thread has arrived and all the bytes have landed, whatever the matrices' ends.
          mbarrier_arrive_expect_tx(full, shared.stage[0].kBytes);
          load_block<Kind, TileN>(shared.stage[to.stage], args, block, tile.m * kTileM, tile.n * TileN, tile.n * TileN,
                                  full);
        }
      }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      Stamps<kStamped> landed(args.stamps, Moment::landed);
      Ring<kStages> at;
      Ring<kScalePlaces> place;
      Ring<Accumulators> into;
      for (uint32_t t = tiles.first(); t < tiles.count; t += tiles.stride(), into.advance()) {
        const uint32_t column = tiles[t].n * TileN;
        const uint32_t accumulator = accumulators + into.stage * TileN;
        // The epilogue has read what the accumulator held before.
        mbarrier_wait_parity(shared_address(&shared.drained[into.stage]), into.parity ^ 1);
        tcgen05_fence_after_thread_sync();
        for (uint32_t block = 0; block < blocks; ++block, at.advance(), place.advance()) {
          mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
          landed.take();
          const uint32_t scales = accumulators + Accumulators * TileN + place.stage * kScaleColumns<Kind, TileN>;
          if constexpr (Kind::kChunks) {
            // The MMAs of the block before last have read what lies there.
            mbarrier_wait_parity(shared_address(&shared.read[place.stage]), place.parity ^ 1);
            tcgen05_fence_after_thread_sync();
            copy_scales<Kind, TileN>(scales, shared.stage[at.stage]);
          }
          multiply_block<Kind, TileN>(accumulator, shared.stage[at.stage], scales, column, block == 0);
          if constexpr (Kind::kChunks) tcgen05_commit(shared_address(&shared.read[place.stage]));
          // Arrives when the tensor core has read the stage.
          tcgen05_commit(shared_address(&shared.empty[at.stage]));
        }
        tcgen05_commit(shared_address(&shared.accumulated[into.stage]));
      }
    }
  } else {
    const bool stamps = threadIdx.x == 64;
    Stamps<kStamped> ready(args.stamps, Moment::ready, stamps), stored(args.stamps, Moment::stored, stamps);
    const uint32_t quarter = warp % 4;  // the lanes of Tensor Memory that this warp may read: 32 · quarter …
    Ring<Accumulators> from;
    for (uint32_t t = tiles.first(); t < tiles.count; t += tiles.stride(), from.advance()) {
      const layout::TileCoordinate tile = tiles[t];
      mbarrier_wait_parity(shared_address(&shared.accumulated[from.stage]), from.parity);
      tcgen05_fence_after_thread_sync();
      ready.take();
      store_tile<Out, TileN>(&args.d_map, layout::tmem_address(accumulators, quarter * 32, from.stage * TileN),
                             shared_address(shared.boxes[quarter]), tile.m * kTileM + quarter * 32, tile.n * TileN);
      stored.take();
      // All lanes' loads have ended (wait::ld); one arrives for the warp.
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive(shared_address(&shared.drained[from.stage]));
    }
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  end_cta(accumulators, kColumns);
}

/// As many CTAs as there are SMs, or tiles.
template <uint32_t Accumulators, bool kWide>
void launch_narrow_with(const Problem& p) {
  for_kinds(p, [&]<class Kind, class Out, bool kStamped>() {
    constexpr uint32_t TileN = kWide ? Kind::kWideN : 128;
    const auto kernel = persistent<Kind, Accumulators, TileN, Out, kStamped>;
    const uint32_t tiles = layout::ceil_div(p.m, kTileM) * layout::ceil_div(p.n, TileN);
    const uint32_t bytes = sizeof(Shared<Kind, Accumulators, TileN>);
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<min(tiles, multiprocessors()), 192, bytes>>>(make_arguments<Kind, TileN>(p, TileN));
  });
}

}  // namespace gemm::kinds
