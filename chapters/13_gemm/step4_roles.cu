// Step 4: roles. One warp only loads, one only multiplies, four only store. They meet at mbarriers and nowhere else:
// none waits for another's instructions to issue, and each is a short loop.
//
//   warp 0      producer   one thread: waits until a stage is empty, asks TMA for the next A and B
//   warp 1      MMA        one thread: waits until a stage is full, multiplies, commits "stage empty"
//   warps 2–5   epilogue   128 threads: wait for the last commit, then Tensor Memory → shared → global
#include "chapters/13_gemm/gemm.cuh"

namespace gemm {
namespace {

constexpr uint32_t kTileN = 128;
constexpr uint32_t kStages = 4;

struct Shared {
  uint8_t a[kStages][kTileM * kRowBytes], b[kStages][kTileN * kRowBytes];
  uint8_t boxes[4][2][kStoreBytes];
  uint64_t full[kStages], empty[kStages], accumulated;
  uint32_t accumulator;
};

template <layout::Element In, class Out, bool kStamped>
__global__ void __launch_bounds__(192) roles(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  const uint32_t blocks = layout::ceil_div(args.k, kBlockK);

  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    mbarrier_init(shared_address(&shared.accumulated), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin_cta(&shared.accumulator, kTileN);

  if (warp == 0) {
    if (elect_sync()) {
      Stamps<kStamped> asked(args.stamps, Moment::asked);
      Ring<kStages> to;
      for (uint32_t block = 0; block < blocks; ++block, to.advance()) {
        const uint32_t full = shared_address(&shared.full[to.stage]);
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        asked.take();
        // The phase ends when this thread has arrived and all the bytes have landed, whatever the matrices' ends.
        mbarrier_arrive_expect_tx(full, sizeof(shared.a[0]) + sizeof(shared.b[0]));
        tensor_load_2d(shared_address(shared.a[to.stage]), &args.a_map, block * kBlockK, row, full);
        tensor_load_2d(shared_address(shared.b[to.stage]), &args.b_map, block * kBlockK, column, full);
      }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      Stamps<kStamped> landed(args.stamps, Moment::landed);
      Ring<kStages> at;
      for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
        mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
        landed.take();
        multiply_block<In, kTileN>(accumulator, shared_address(shared.a[at.stage]), shared_address(shared.b[at.stage]),
                                   block == 0);
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
  end_cta(accumulator, kTileN);
}

}  // namespace

void launch_roles(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out, bool kStamped>() {
    GEN5_CUDA(
        cudaFuncSetAttribute(roles<In, Out, kStamped>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
    roles<In, Out, kStamped><<<grid_of_tiles(p, kTileN), 192, sizeof(Shared)>>>(make_arguments(p, kTileN));
  });
}

}  // namespace gemm
