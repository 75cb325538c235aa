// A warp loads, a warp multiplies, four warps activate. Hidden numbers have two places in Tensor Memory: the tensor
// core makes the next chunk's while this chunk's are activated.
#include "chapters/tensor_kernel.cuh"
#include "projects/02_mlp/solutions/common.cuh"

using namespace mlp;

constexpr uint32_t kStages = 4;  // of 32 KiB: two boxes of Up, or one of Down

struct Shared {
  uint8_t x[4 * kUpBox], ring[kStages][kDownBox], boxes[8][kBoxBytes];
  uint64_t x_full, full[kStages], empty[kStages], made[2], active[2], added, done;
  uint32_t slot;
};

__global__ void __launch_bounds__(192) roles(const __grid_constant__ Operands maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    mbarrier_init(shared_address(&shared.x_full), 1);
    mbarrier_init(shared_address(&shared.made[0]), 1);
    mbarrier_init(shared_address(&shared.made[1]), 1);
    mbarrier_init(shared_address(&shared.active[0]), 4);
    mbarrier_init(shared_address(&shared.active[1]), 4);
    mbarrier_init(shared_address(&shared.done), 1);
    mbarrier_init(shared_address(&shared.added), 1);
    fence_mbarrier_init();
  }
  const uint32_t y = begin(&shared.slot, 512), warp = threadIdx.x / 32, chunks = maps.chunks;
  const auto hidden = [&](uint32_t chunk) { return y + kModel + chunk % 2 * kChunk; };
  if (warp == 0) {
    if (elect_sync()) {
      const uint32_t x_full = shared_address(&shared.x_full);
      mbarrier_arrive_expect_tx(x_full, sizeof shared.x);
      for (uint32_t box = 0; box < 4; ++box)
        tensor_load_2d(shared_address(shared.x) + box * kUpBox, &maps.x, box * 64, blockIdx.x * 128, x_full);
      tensor_kernel::Ring<kStages> to;
      const auto stage = [&](auto&& load) {
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        mbarrier_arrive_expect_tx(shared_address(&shared.full[to.stage]), kDownBox);
        load(shared_address(shared.ring[to.stage]), shared_address(&shared.full[to.stage]));
        to.advance();
      };
      // In the order in which they are multiplied: Up of the next chunk before Down of this one.
      for (uint32_t chunk = 0; chunk <= chunks; ++chunk) {
        for (uint32_t half = 0; half < 2 && chunk < chunks; ++half)
          stage([&](uint32_t at, uint32_t full) {
            for (uint32_t box = 0; box < 2; ++box)
              tensor_load_2d(at + box * kUpBox, &maps.up, (half * 2 + box) * 64, chunk * kChunk, full);
          });
        for (uint32_t box = 0; box < 2 && chunk > 0; ++box)
          stage([&](uint32_t at, uint32_t full) {
            tensor_load_2d(at, &maps.down, (chunk - 1) * kChunk + box * 64, 0, full);
          });
      }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      mbarrier_wait_parity(shared_address(&shared.x_full), 0);
      tensor_kernel::Ring<kStages> at;
      const auto stage = [&](auto&& multiply) {
        mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
        multiply(shared_address(shared.ring[at.stage]));
        tcgen05_commit(shared_address(&shared.empty[at.stage]));
        at.advance();
      };
      for (uint32_t chunk = 0; chunk <= chunks; ++chunk) {
        if (chunk < chunks) {
          // Where these go, the product before the last has read.
          if (chunk >= 2) tensor_kernel::wait(&shared.added, chunk % 2);
          for (uint32_t half = 0; half < 2; ++half)
            stage([&](uint32_t up) {
              for (uint32_t box = 0; box < 2; ++box)
                multiply_up(hidden(chunk), shared_address(shared.x), up + box * kUpBox, half * 2 + box);
            });
          tcgen05_commit(shared_address(&shared.made[chunk % 2]));
        }
        if (chunk > 0) {
          tensor_kernel::wait(&shared.active[(chunk - 1) % 2], (chunk - 1) / 2 % 2);
          for (uint32_t box = 0; box < 2; ++box)
            stage([&](uint32_t down) { multiply_down(y, hidden(chunk - 1) + 32 * box, down, chunk - 1 + box == 0); });
          // Waited for before the chunk after the next: the last two need no arrival.
          if (chunk + 1 < chunks) tcgen05_commit(shared_address(&shared.added));
        }
      }
      tcgen05_commit(shared_address(&shared.done));
    }
  } else {
    const uint32_t lanes = warp % 4 * 32 << 16;
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      tensor_kernel::wait(&shared.made[chunk % 2], chunk / 2 % 2);
      activate(hidden(chunk) + lanes);
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive(shared_address(&shared.active[chunk % 2]));
    }
    tensor_kernel::wait(&shared.done, 0);
    store_accumulator<kModel>(maps.y, y, shared_address(shared.boxes), blockIdx.x, 0);
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  __syncwarp();
  end(y, 512);
}

void launch(const project::Mlp& p) {
  GEN5_CUDA(cudaFuncSetAttribute(roles, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  roles<<<(p.tokens + 127) / 128, 192, sizeof(Shared)>>>(operands(p));
}
PROJECT(launch);
