// Step 3: a ring of stages. The same one thread now asks for the tiles of four blocks of K before it multiplies the
// first, and for the next one as soon as a stage has been read. The latency of a load is paid once, not once a block.
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
__global__ void __launch_bounds__(128) ring(const __grid_constant__ Arguments args) {
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

  if (warp == 0 && elect_sync()) {
    Stamps<kStamped> asked(args.stamps, Moment::asked), landed(args.stamps, Moment::landed);
    Ring<kStages> to, at;
    const auto load = [&](uint32_t block) {
      const uint32_t full = shared_address(&shared.full[to.stage]);
      mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
      asked.take();
      // The phase ends when this thread has arrived and all the bytes have landed, whatever the matrices' ends.
      mbarrier_arrive_expect_tx(full, sizeof(shared.a[0]) + sizeof(shared.b[0]));
      tensor_load_2d(shared_address(shared.a[to.stage]), &args.a_map, block * kBlockK, row, full);
      tensor_load_2d(shared_address(shared.b[to.stage]), &args.b_map, block * kBlockK, column, full);
      to.advance();
    };
    for (uint32_t block = 0; block < min(blocks, kStages); ++block) load(block);
    for (uint32_t block = 0; block < blocks; ++block, at.advance()) {
      mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
      landed.take();
      multiply_block<In, kTileN>(accumulator, shared_address(shared.a[at.stage]), shared_address(shared.b[at.stage]),
                                 block == 0);
      // Arrives when the tensor core has read the stage.
      tcgen05_commit(shared_address(&shared.empty[at.stage]));
      // Into the stage of the block before: the tensor core is busy with this one, that one is read or nearly so.
      if (block > 0 && block + kStages - 1 < blocks) load(block + kStages - 1);
    }
    tcgen05_commit(shared_address(&shared.accumulated));
  }
  __syncwarp();
  mbarrier_wait_parity(shared_address(&shared.accumulated), 0);
  tcgen05_fence_after_thread_sync();

  const bool stamps = threadIdx.x == 0;
  Stamps<kStamped> ready(args.stamps, Moment::ready, stamps), stored(args.stamps, Moment::stored, stamps);
  ready.take();
  store_tile<Out, kTileN>(&args.d_map, layout::tmem_address(accumulator, warp * 32, 0),
                          shared_address(shared.boxes[warp]), row + warp * 32, column);
  stored.take();
  if (elect_sync()) bulk_wait_group_read<0>();
  end_cta(accumulator, kTileN);
}

}  // namespace

void launch_ring(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out, bool kStamped>() {
    GEN5_CUDA(
        cudaFuncSetAttribute(ring<In, Out, kStamped>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
    ring<In, Out, kStamped><<<grid_of_tiles(p, kTileN), 128, sizeof(Shared)>>>(make_arguments(p, kTileN));
  });
}

}  // namespace gemm
