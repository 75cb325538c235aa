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

template <layout::Element In, class Out>
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
  if (warp == 0) {
    tcgen05_alloc(shared_address(&shared.accumulator), kTileN);
    tcgen05_relinquish_alloc_permit();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t accumulator = shared.accumulator;

  if (warp == 0 && elect_sync()) {
    const auto load = [&](uint32_t block) {
      const uint32_t s = block % kStages, full = shared_address(&shared.full[s]);
      mbarrier_arrive_expect_tx(full, sizeof(shared.a[0]) + sizeof(shared.b[0]));
      tensor_load_2d(shared_address(shared.a[s]), &args.a_map, block * kBlockK, row, full);
      tensor_load_2d(shared_address(shared.b[s]), &args.b_map, block * kBlockK, column, full);
    };
    for (uint32_t block = 0; block < blocks && block < kStages; ++block) load(block);
    for (uint32_t block = 0; block < blocks; ++block) {
      const uint32_t s = block % kStages;
      mbarrier_wait_parity(shared_address(&shared.full[s]), (block / kStages) & 1);
      multiply_block<In, kTileN>(accumulator, shared_address(shared.a[s]), shared_address(shared.b[s]), block == 0);
      tcgen05_commit(shared_address(&shared.empty[s]));
      // Refill the stage of the block before: the tensor core is busy with this one, that one is read or nearly so.
      if (block > 0 && block - 1 + kStages < blocks) {
        const uint32_t before = block - 1;
        mbarrier_wait_parity(shared_address(&shared.empty[before % kStages]), (before / kStages) & 1);
        load(before + kStages);
      }
    }
    tcgen05_commit(shared_address(&shared.accumulated));
  }
  __syncwarp();
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

void launch_ring(const Problem& p) {
  for_types(p, [&]<layout::Element In, class Out>() {
    const Arguments args = make_arguments(p, kTileN);
    const dim3 grid(layout::ceil_div(p.n, kTileN), layout::ceil_div(p.m, kTileM));
    GEN5_CUDA(cudaFuncSetAttribute(ring<In, Out>, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
    ring<In, Out><<<grid, 128, sizeof(Shared)>>>(args);
  });
}

}  // namespace gemm
