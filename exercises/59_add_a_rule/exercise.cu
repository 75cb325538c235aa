// A rule for the search
//
// This search takes the deepest ring that is a kernel, since a deeper ring is never slower. Its rule lets every depth
// through, so its winner is refused. Write the rule: what lies beside the ring and all stages have to fit the shared
// memory that a block can have. Do not take out a ring that fits.
#include "exercises/gemm.cuh"

using namespace gemm;

constexpr uint32_t kTileN = 128, kMostStages = 12;

/// What lies beside the ring; the stages begin behind it, at a multiple of 1024 bytes.
struct Beside {
  uint8_t boxes[8][kBoxBytes];
  uint64_t full[kMostStages], empty[kMostStages], done;
  uint32_t slot;
};
constexpr uint32_t kBeside = (sizeof(Beside) + 1023) / 1024 * 1024, kStage = kBlockBytes<kTileN>;

/// Is a ring of so many stages a kernel? `most`: bytes of shared memory that a block can have.
bool is_kernel(uint32_t stages, uint32_t most) {
  return stages <= most;  // your rule
}

// Warp 0 loads, warp 1 multiplies, warps 2 to 5 store the accumulator. The launch says how much memory there is for
// stages.
__global__ void __launch_bounds__(192) ring(const __grid_constant__ Maps maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& beside = *reinterpret_cast<Beside*>(memory);
  uint32_t bytes;
  asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(bytes));
  const uint32_t stages = (bytes - kBeside) / kStage, blocks = maps.blocks, warp = threadIdx.x / 32;
  const uint32_t ring_at = shared_address(memory) + kBeside;
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < stages; ++s) {
      mbarrier_init(shared_address(&beside.full[s]), 1);
      mbarrier_init(shared_address(&beside.empty[s]), 1);
    }
    mbarrier_init(shared_address(&beside.done), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin(&beside.slot, kTileN);
  if (warp == 0) {
    if (elect_sync())
      for (uint32_t i = 0; i < blocks; ++i) {
        const uint32_t s = i % stages, full = shared_address(&beside.full[s]), a = ring_at + s * kStage;
        mbarrier_wait_parity(shared_address(&beside.empty[s]), i / stages % 2 ^ 1);
        mbarrier_arrive_expect_tx(full, kStage);
        load_block<kTileN>(maps, a, a + kTileM * kRowBytes, i, blockIdx.y, blockIdx.x, full);
      }
  } else if (warp == 1) {
    if (elect_sync()) {
      for (uint32_t i = 0; i < blocks; ++i) {
        const uint32_t s = i % stages, a = ring_at + s * kStage;
        mbarrier_wait_parity(shared_address(&beside.full[s]), i / stages % 2);
        multiply_block<kTileN>(accumulator, a, a + kTileM * kRowBytes, i == 0);
        tcgen05_commit(shared_address(&beside.empty[s]));
      }
      tcgen05_commit(shared_address(&beside.done));
    }
  } else {
    mbarrier_wait_parity(shared_address(&beside.done), 0);
    tcgen05_fence_after_thread_sync();
    store_accumulator<kTileN>(maps, accumulator, shared_address(beside.boxes), blockIdx.y, blockIdx.x);
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  end(accumulator, kTileN);
}

void judge() {
  int most = 0;
  GEN5_CUDA(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  uint32_t stages = 0;
  for (uint32_t s = 1; s <= kMostStages; ++s)
    if (is_kernel(s, uint32_t(most))) stages = s;
  exercise::expect(stages > 0, "the rule takes out every ring");
  gemm::judge<kTileN>(ring, 256, 256, 1280, dim3(2, 2), 192, kBeside + stages * kStage);
  exercise::expect(kBeside + (stages + 1) * kStage > uint32_t(most), "the rule takes out a deeper ring that fits");
}
EXERCISE(judge);
