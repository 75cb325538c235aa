// 128 threads, everything in turn: load a chunk of both matrices, multiply, activate, multiply. The hidden numbers
// never leave Tensor Memory.
#include "chapters/tensor_kernel.cuh"
#include "projects/02_mlp/solutions/common.cuh"

using namespace mlp;

struct Shared {
  uint8_t x[4 * kUpBox], up[4 * kUpBox], down[2 * kDownBox], boxes[8][kBoxBytes];
  uint64_t loaded, multiplied;
  uint32_t slot;
};

__global__ void __launch_bounds__(128) in_turn(const __grid_constant__ Operands maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.loaded), 1);
    mbarrier_init(shared_address(&shared.multiplied), 1);
    fence_mbarrier_init();
  }
  const uint32_t y = begin(&shared.slot, 512), hidden = y + kModel, lanes = threadIdx.x / 32 * 32 << 16;
  const uint32_t loaded = shared_address(&shared.loaded), multiplied = shared_address(&shared.multiplied);
  for (uint32_t chunk = 0; chunk < maps.chunks; ++chunk) {
    if (threadIdx.x == 0) {
      mbarrier_arrive_expect_tx(loaded, sizeof shared.up + sizeof shared.down + (chunk ? 0 : sizeof shared.x));
      for (uint32_t box = 0; box < 4; ++box) {
        if (!chunk)
          tensor_load_2d(shared_address(shared.x) + box * kUpBox, &maps.x, box * 64, blockIdx.x * 128, loaded);
        tensor_load_2d(shared_address(shared.up) + box * kUpBox, &maps.up, box * 64, chunk * kChunk, loaded);
      }
      for (uint32_t box = 0; box < 2; ++box)
        tensor_load_2d(shared_address(shared.down) + box * kDownBox, &maps.down, chunk * kChunk + box * 64, 0, loaded);
      mbarrier_wait_parity(loaded, chunk % 2);
      for (uint32_t box = 0; box < 4; ++box)
        multiply_up(hidden, shared_address(shared.x), shared_address(shared.up) + box * kUpBox, box);
      tcgen05_commit(multiplied);
    }
    __syncwarp();
    tensor_kernel::wait(&shared.multiplied, 0);
    activate(hidden + lanes);
    tensor_kernel::ready();
    if (threadIdx.x == 0) {
      for (uint32_t box = 0; box < 2; ++box)
        multiply_down(y, hidden + 32 * box, shared_address(shared.down) + box * kDownBox, chunk + box == 0);
      tcgen05_commit(multiplied);
    }
    __syncwarp();
    tensor_kernel::wait(&shared.multiplied, 1);
  }
  store_accumulator<kModel>(maps.y, y, shared_address(shared.boxes), blockIdx.x, 0);
  if (elect_sync()) bulk_wait_group_read<0>();
  end(y, 512);
}

void launch(const project::Mlp& p) {
  GEN5_CUDA(cudaFuncSetAttribute(in_turn, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  in_turn<<<(p.tokens + 127) / 128, 128, sizeof(Shared)>>>(operands(p));
}
PROJECT(launch);
