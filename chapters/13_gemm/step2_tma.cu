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
  uint64_t loaded, multiplied, accumulated;
  uint32_t accumulator;
};

template <layout::Element In, class Out>
__global__ void __launch_bounds__(128) tma(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const uint32_t row = blockIdx.y * kTileM, column = blockIdx.x * kTileN;
  const uint32_t loaded = shared_address(&shared.loaded), multiplied = shared_address(&shared.multiplied);

  if (threadIdx.x == 0) {
    mbarrier_init(loaded, 1);
    mbarrier_init(multiplied, 1);
    mbarrier_init(shared_address(&shared.accumulated), 1);
    fence_mbarrier_init();
  }
  if (warp == 0) {
    tcgen05_alloc(shared_address(&shared.accumulator), kTileN);
    tcgen05_relinquish_alloc_permit();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t accumulator = shared.accumulator;

  if (warp == 0 && elect_sync()) {
    uint32_t parity = 0;
    for (uint32_t k0 = 0; k0 < args.k; k0 += kBlockK, parity ^= 1) {
      // The phase ends when this thread has arrived and all the bytes have landed, whatever the matrices' ends.
      mbarrier_arrive_expect_tx(loaded, sizeof(shared.a) + sizeof(shared.b));
      tensor_load_2d(shared_address(shared.a), &args.a_map, k0, row, loaded);
      tensor_load_2d(shared_address(shared.b), &args.b_map, k0, column, loaded);
      mbarrier_wait_parity(loaded, parity);
      multiply_block<In, kTileN>(accumulator, shared_address(shared.a), shared_address(shared.b), k0 == 0);
      // The next loads overwrite what the tensor core reads.
      tcgen05_commit(multiplied);
      mbarrier_wait_parity(multiplied, parity);
    }
    tcgen05_commit(shared_address(&shared.accumulated));
  }
  __syncwarp();
  // A barrier of its own: the others do not follow `multiplied` from phase to phase, and its parity alone would let
  // them through two phases early.
  mbarrier_wait_parity(shared_address(&shared.accumulated), 0);
  tcgen05_fence_after_thread_sync();

  store_tile<Out, kTileN>(&args.d_map, layout::tmem_address(accumulator, warp * 32, 0),
                          shared_address(shared.boxes[warp]), row + warp * 32, column);
  if (elect_sync()) bulk_wait_group_read<0>();

  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (warp == 0) tcgen05_dealloc(accumulator, kTileN);
}

}  // namespace

void launch_tma(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out>() {
    const Arguments args = make_arguments(p, kTileN);
    const dim3 grid(layout::ceil_div(p.n, kTileN), layout::ceil_div(p.m, kTileM));
    GEN5_CUDA(cudaFuncSetAttribute(tma<In, Out>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
    tma<In, Out><<<grid, 128, sizeof(Shared)>>>(args);
  });
}

}  // namespace gemm
