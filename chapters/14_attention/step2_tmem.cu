// Step 2: P does not leave Tensor Memory. A of a product may lie there: every thread writes its row of P over its row
// of S, two bf16 to a cell. The way through shared memory and its fence are gone, and with them a third of the shared
// memory: two CTAs fit on an SM.
#include "chapters/14_attention/attention.cuh"

namespace attention {
namespace {

constexpr uint32_t kThreads = 128;
constexpr uint32_t kColumnsOfAll = 256;  // S, later P in its place, and O behind it

template <uint32_t Dim>
struct Shared {
  uint8_t q[kTileBytes<Dim>], k[kTileBytes<Dim>], v[kTileBytes<Dim>];
  uint64_t loaded, multiplied;
  uint32_t columns;
};

template <uint32_t Dim>
__global__ void __launch_bounds__(kThreads) tmem(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<Dim>*>(memory);
  const uint32_t warp = threadIdx.x / 32, row = blockIdx.x * kTile, head = blockIdx.y;
  const uint32_t blocks = blocks_of(args, row);

  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.loaded), 1);
    mbarrier_init(shared_address(&shared.multiplied), 1);
    fence_mbarrier_init();
  }
  const uint32_t columns = tensor_kernel::begin(&shared.columns, kColumnsOfAll);
  const uint32_t o = columns + kBlock, lanes = layout::tmem_address(0, warp * 32, 0);
  Softmax softmax;

  for (uint32_t block = 0; block < blocks; ++block) {
    const bool first = block == 0;
    if (warp == 0 && elect_sync()) {
      mbarrier_arrive_expect_tx(shared_address(&shared.loaded), (first ? 3 : 2) * kTileBytes<Dim>);
      if (first) load_tile<Dim>(&args.q_map, shared.q, row, head, shared.loaded);
      load_tile<Dim>(&args.k_map, shared.k, block * kBlock, head, shared.loaded);
      load_tile<Dim>(&args.v_map, shared.v, block * kBlock, head, shared.loaded);
    }
    __syncwarp();
    mbarrier_wait_parity(shared_address(&shared.loaded), block & 1);

    if (warp == 0 && elect_sync()) {
      multiply_scores<Dim>(columns, shared.q, shared.k);
      tcgen05_commit(shared_address(&shared.multiplied));
    }
    __syncwarp();
    tensor_kernel::wait(&shared.multiplied, 0);

    float s[kBlock];
    uint32_t p[kBlock / 2];
    load_scores(s, columns + lanes, args, row + threadIdx.x, block * kBlock);
    const float factor = follow_largest<false>(softmax, s, args.scale);
    exponentials<0>(p, softmax, s, args.scale);
    if (!first) rescale<Dim>(o + lanes, factor);
    tcgen05_st_32x32b(columns + lanes, p);
    tcgen05_wait_st();
    // The tensor core reads what threads have written.
    tensor_kernel::ready();

    if (warp == 0 && elect_sync()) {
      multiply_values<Dim>(o, columns, shared.v, first);
      tcgen05_commit(shared_address(&shared.multiplied));
    }
    __syncwarp();
    tensor_kernel::wait(&shared.multiplied, 1);
    __syncthreads();  // the next product must not end before all warps have seen this one
  }

  // No product reads Q any more, so O is stored through its buffer.
  store_output<Dim>(args, o + lanes, 1 / softmax.sum, shared.q, warp * 32, row + warp * 32, head);
  if (elect_sync()) bulk_wait_group_read<0>();
  tensor_kernel::end(columns, kColumnsOfAll);
}

}  // namespace

void launch_tmem(const Problem& p) {
  for_dim(p, [&]<uint32_t Dim>() { launch_with(tmem<Dim>, grid_of_tiles(p), kThreads, sizeof(Shared<Dim>), p); });
}

}  // namespace attention
