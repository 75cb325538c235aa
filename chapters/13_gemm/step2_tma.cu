// Step 2: TMA. One thread asks for whole tiles, which arrive swizzled: rows of 128 bytes whose 16-byte chunks change
// places from row to row, so that neither the copy nor the tensor core meets a bank conflict. The ends of the matrices
// are TMA's business: elements outside are zeros on the way in and nothing on the way out. The order is still serial.
#include "chapters/13_gemm/gemm.cuh"

namespace gemm {
namespace {

constexpr uint32_t kTileN = 128;

struct Shared {
  uint8_t a[kTileM * kRowBytes], b[kTileN * kRowBytes];
  uint8_t boxes[4][2][kStoreBytes];
  uint64_t full, empty, accumulated;
  uint32_t accumulator;
};

template <layout::Element In, class Out, bool kStamped>
__global__ void __launch_bounds__(128) tma(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  const uint32_t blocks = layout::ceil_div(args.k, kBlockK);

  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.full), 1);
    mbarrier_init(shared_address(&shared.empty), 1);
    mbarrier_init(shared_address(&shared.accumulated), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin_cta(&shared.accumulator, kTileN);

  if (warp == 0 && elect_sync()) {
    Stamps<kStamped> asked(args.stamps, Moment::asked), landed(args.stamps, Moment::landed),
        done(args.stamps, Moment::done);
    const uint32_t full = shared_address(&shared.full), empty = shared_address(&shared.empty);
    for (uint32_t block = 0; block < blocks; ++block) {
      asked.take();
      // The phase ends when this thread has arrived and all the bytes have landed, whatever the matrices' ends.
      mbarrier_arrive_expect_tx(full, sizeof(shared.a) + sizeof(shared.b));
      tensor_load_2d(shared_address(shared.a), &args.a_map, block * kBlockK, row, full);
      tensor_load_2d(shared_address(shared.b), &args.b_map, block * kBlockK, column, full);
      mbarrier_wait_parity(full, block & 1);
      landed.take();
      multiply_block<In, kTileN>(accumulator, shared_address(shared.a), shared_address(shared.b), block == 0);
      // The next loads overwrite what the tensor core reads.
      tcgen05_commit(empty);
      mbarrier_wait_parity(empty, block & 1);
      done.take();
    }
    tcgen05_commit(shared_address(&shared.accumulated));
  }
  __syncwarp();
  // A barrier of its own: the others do not follow `empty` from phase to phase, and its parity alone would let them
  // through two phases early.
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

void launch_tma(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out, bool kStamped>() {
    GEN5_CUDA(
        cudaFuncSetAttribute(tma<In, Out, kStamped>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
    tma<In, Out, kStamped><<<grid_of_tiles(p, kTileN), 128, sizeof(Shared)>>>(make_arguments(p, kTileN));
  });
}

}  // namespace gemm
