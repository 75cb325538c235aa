// Step 4 of the narrow kinds. What bf16's step 4 has not: a block brings its scales as well. The producer asks for them
// together with A and B; the MMA warp copies them from shared memory into Tensor Memory, where the MMAs look for them.
// Copies and MMAs of one thread keep their order, so no thread waits in between. An MMA and a later copy do not: a
// copy into a place from which an MMA may still read waits for that MMA's commit.
//
//   warp 0      producer   one thread: waits until a stage is empty, asks TMA for the next A and B and their scales
//   warp 1      MMA        one thread: waits until a stage is full, copies its scales, multiplies, commits "empty"
//   warps 2–5   epilogue   128 threads: wait for the last commit, then Tensor Memory → shared → global
#include "chapters/13_gemm/kinds/kinds.cuh"

namespace gemm::kinds {
namespace {

constexpr uint32_t kTileN = 128;

template <class Kind>
struct Shared {
  Stage<Kind, kTileN> stage[kStages];
  uint8_t boxes[4][2][kStoreBytes];
  uint64_t full[kStages], empty[kStages], read[kScalePlaces], accumulated;
  uint32_t accumulator;
};

template <class Kind, class Out, bool kStamped>
__global__ void __launch_bounds__(192) roles(const __grid_constant__ ScaledArguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<Kind>*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  const uint32_t blocks = layout::ceil_div(args.k, Kind::kBlockK);

  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    for (uint32_t i = 0; i < kScalePlaces; ++i) mbarrier_init(shared_address(&shared.read[i]), 1);
    mbarrier_init(shared_address(&shared.accumulated), 1);
    fence_mbarrier_init();
  }
  constexpr uint32_t kColumns = columns_for<Kind, kTileN>(1);
  const uint32_t accumulator = begin_cta(&shared.accumulator, kColumns);

  if (warp == 0) {
    if (elect_sync()) {
      Stamps<kStamped> asked(args.stamps, Moment::asked);
      Ring<kStages> to;
      for (uint32_t block = 0; block < blocks; ++block, to.advance()) {
        const uint32_t full = shared_address(&shared.full[to.stage]);
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        asked.take();
        // The phase ends when this thread has arrived and all the bytes have landed, whatever the matrices' ends.
        mbarrier_arrive_expect_tx(full, shared.stage[0].kBytes);
        load_block<Kind, kTileN>(shared.stage[to.stage], args, block, row, column, column, full);
      }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      Stamps<kStamped> landed(args.stamps, Moment::landed);
      Ring<kStages> at;
      Scales<Kind, kTileN> scales{accumulator + kTileN, shared.read};
      for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
        mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
        landed.take();
        const auto& stage = shared.stage[at.stage];
        multiply_block<Kind, kTileN>(accumulator, stage, scales.copy(stage), column, block == 0);
        scales.commit();
        // Arrives when the tensor core has read the stage.
        tcgen05_commit(shared_address(&shared.empty[at.stage]));
      }
      tcgen05_commit(shared_address(&shared.accumulated));
    }
  } else {
    const bool stamps = threadIdx.x == 64;
    Stamps<kStamped> ready(args.stamps, Moment::ready, stamps), stored(args.stamps, Moment::stored, stamps);
    const uint32_t quarter = warp % 4;  // the lanes of Tensor Memory that this warp may read: 32 · quarter …
    mbarrier_wait_parity(shared_address(&shared.accumulated), 0);
    tcgen05_fence_after_thread_sync();
    ready.take();
    store_tile<Out, kTileN>(&args.d_map, layout::tmem_address(accumulator, quarter * 32, 0),
                            shared_address(shared.boxes[quarter]), row + quarter * 32, column);
    stored.take();
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  end_cta(accumulator, kColumns);
}

}  // namespace

void launch_roles(const Problem& p) {
  for_kinds(p, [&]<class Kind, class Out, bool kStamped>() {
    const auto kernel = roles<Kind, Out, kStamped>;
    GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared<Kind>)));
    kernel<<<grid_of_tiles(p, kTileN), 192, sizeof(Shared<Kind>)>>>(make_arguments<Kind, kTileN>(p, kTileN));
  });
}

}  // namespace gemm::kinds
