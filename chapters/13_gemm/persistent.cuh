// The kernel of steps 5 to 7. They differ in two numbers: how many accumulators a CTA has, and how wide its tiles are.
// Of all kinds: kinds/kinds.cuh has what a kind is.
#pragma once
#include "chapters/13_gemm/kinds/kinds.cuh"

namespace gemm {

constexpr uint32_t kBand = 8;  // tiles of 128 rows
constexpr uint32_t kEpilogueWarps = 4;

/// The tiles of D, in bands, and which of them a CTA takes, or `Ctas` CTAs together: from first() on every stride()-th.
template <uint32_t TileN, uint32_t Ctas = 1>
struct Tiles {
  uint32_t rows, columns, count;
  __device__ explicit Tiles(const Arguments& args)
      : rows(layout::ceil_div(args.m, Ctas * kTileM)),
        columns(layout::ceil_div(args.n, TileN)),
        count(rows * columns) {}
  __device__ uint32_t first() const { return blockIdx.x / Ctas; }
  __device__ uint32_t stride() const { return gridDim.x / Ctas; }
  __device__ layout::TileCoordinate operator[](uint32_t t) const {
    return layout::banded_tile(t, rows, columns, kBand / Ctas);
  }
};

/// Of a CTA, or of one of `Ctas` that share tiles.
template <class Kind, uint32_t Accumulators, uint32_t TileN, uint32_t Ctas = 1>
struct Shared {
  Stage<Kind, TileN, TileN / Ctas> stage[kStages];
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
    if constexpr (Kind::kChunks)
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
      Scales<Kind, TileN> scales{accumulators + Accumulators * TileN, shared.read};
      Ring<Accumulators> into;
      for (uint32_t t = tiles.first(); t < tiles.count; t += tiles.stride(), into.advance()) {
        const uint32_t column = tiles[t].n * TileN;
        const uint32_t accumulator = accumulators + into.stage * TileN;
        // The epilogue has read what the accumulator held before.
        mbarrier_wait_parity(shared_address(&shared.drained[into.stage]), into.parity ^ 1);
        tcgen05_fence_after_thread_sync();
        for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
          mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
          landed.take();
          const auto& stage = shared.stage[at.stage];
          multiply_block<Kind, TileN>(accumulator, stage, scales.copy(stage), column, block == 0);
          scales.commit();
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

inline uint32_t multiprocessors() {
  int count = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
  return uint32_t(count);
}

/// As many CTAs as there are SMs, or tiles. Wide: tiles have as many columns as Tensor Memory has room for.
template <uint32_t Accumulators, bool kWide>
void launch_persistent_with(const Problem& p) {
  for_kinds(p, [&]<class Kind, class Out, bool kStamped>() {
    constexpr uint32_t TileN = kWide ? Kind::kWideN : 128;
    const auto kernel = persistent<Kind, Accumulators, TileN, Out, kStamped>;
    const uint32_t tiles = layout::ceil_div(p.m, kTileM) * layout::ceil_div(p.n, TileN);
    const uint32_t bytes = sizeof(Shared<Kind, Accumulators, TileN>);
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    kernel<<<min(tiles, multiprocessors()), 192, bytes>>>(make_arguments<Kind, TileN>(p, TileN));
  });
}

}  // namespace gemm
