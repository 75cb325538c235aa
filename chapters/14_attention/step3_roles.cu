// Step 3: roles. One warp loads keys and values into a ring of four stages, one warp multiplies, four warps are
// softmax, a row a thread. There are two places for scores: the next block's are computed while this one's softmax is
// under way.
//
//   warp 0      load      Q once; K0 V0 K1 V1 … into the ring
//   warp 1      multiply  S of block j + 1 as soon as O of block j − 1 is done, then O += P·V of block j
//   warps 2–5   softmax   P of block j over S of block j; rescale O; store it at the end
#include "chapters/14_attention/attention.cuh"

namespace attention {
namespace {

constexpr uint32_t kThreads = 192;
constexpr uint32_t kStages = 4;
constexpr uint32_t kColumnsOfAll = 512;  // S of even blocks, S of odd ones, O

template <uint32_t Dim>
struct Shared {
  uint8_t q[kTileBytes<Dim>], ring[kStages][kTileBytes<Dim>];
  uint64_t q_full, full[kStages], empty[kStages];
  uint64_t scored[2], weighted, added;
  uint32_t columns;
};

template <uint32_t Dim>
__global__ void __launch_bounds__(kThreads) roles(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<Dim>*>(memory);
  const uint32_t warp = threadIdx.x / 32, row = blockIdx.x * kTile, head = blockIdx.y;
  const uint32_t blocks = blocks_of(args, row);

  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.q_full), 1);
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    mbarrier_init(shared_address(&shared.scored[0]), 1);
    mbarrier_init(shared_address(&shared.scored[1]), 1);
    mbarrier_init(shared_address(&shared.weighted), 4);  // warps
    mbarrier_init(shared_address(&shared.added), 1);
    fence_mbarrier_init();
  }
  const uint32_t columns = tensor_kernel::begin(&shared.columns, kColumnsOfAll);
  const uint32_t o = columns + 2 * kBlock;

  if (warp == 0) {
    if (elect_sync()) {
      mbarrier_arrive_expect_tx(shared_address(&shared.q_full), kTileBytes<Dim>);
      load_tile<Dim>(&args.q_map, shared.q, row, head, shared.q_full);
      Ring<kStages> to;
      for (uint32_t i = 0; i < 2 * blocks; ++i, to.advance()) {
        mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
        mbarrier_arrive_expect_tx(shared_address(&shared.full[to.stage]), kTileBytes<Dim>);
        load_tile<Dim>(i % 2 ? &args.v_map : &args.k_map, shared.ring[to.stage], i / 2 * kBlock, head,
                       shared.full[to.stage]);
      }
    }
  } else if (warp == 1) {
    if (elect_sync()) {
      Ring<kStages> at;
      const auto score = [&](uint32_t block, const Ring<kStages>& k) {
        mbarrier_wait_parity(shared_address(&shared.full[k.stage]), k.parity);
        multiply_scores<Dim>(columns + block % 2 * kBlock, shared.q, shared.ring[k.stage]);
        tcgen05_commit(shared_address(&shared.scored[block % 2]));
        tcgen05_commit(shared_address(&shared.empty[k.stage]));
      };
      mbarrier_wait_parity(shared_address(&shared.q_full), 0);
      score(0, at);
      for (uint32_t block = 0; block < blocks; ++block) {
        at.advance();
        const Ring<kStages> v = at;
        at.advance();
        if (block + 1 < blocks) {
          // P of the block before lies where the next scores go.
          if (block > 0) tensor_kernel::wait(&shared.added, (block - 1) & 1);
          score(block + 1, at);
        }
        tensor_kernel::wait(&shared.weighted, block & 1);
        mbarrier_wait_parity(shared_address(&shared.full[v.stage]), v.parity);
        multiply_values<Dim>(o, columns + block % 2 * kBlock, shared.ring[v.stage], block == 0);
        tcgen05_commit(shared_address(&shared.added));
        tcgen05_commit(shared_address(&shared.empty[v.stage]));
      }
    }
  } else {
    const uint32_t quarter = warp % 4, mine = quarter * 32 + threadIdx.x % 32;  // the row
    const uint32_t lanes = layout::tmem_address(0, quarter * 32, 0);  // those of Tensor Memory that this warp may reach
    Softmax softmax;
    for (uint32_t block = 0; block < blocks; ++block) {
      const uint32_t scores = columns + block % 2 * kBlock + lanes;
      tensor_kernel::wait(&shared.scored[block % 2], block / 2 & 1);
      float s[kBlock];
      uint32_t p[kBlock / 2];
      load_scores(s, scores, args, row + mine, block * kBlock);
      const float factor = follow_largest<false>(softmax, s, args.scale);
      exponentials<0>(p, softmax, s, args.scale);
      tcgen05_st_32x32b(scores, p);
      if (block > 0) {
        tensor_kernel::wait(&shared.added, (block - 1) & 1);
        rescale<Dim>(o + lanes, factor);
      }
      tcgen05_wait_st();
      tcgen05_fence_before_thread_sync();
      __syncwarp();
      if (elect_sync()) mbarrier_arrive(shared_address(&shared.weighted));
    }
    tensor_kernel::wait(&shared.added, (blocks - 1) & 1);
    store_output<Dim>(args, o + lanes, 1 / softmax.sum, shared.q, quarter * 32, row + quarter * 32, head);
    if (elect_sync()) bulk_wait_group_read<0>();
  }
  tensor_kernel::end(columns, kColumnsOfAll);
}

}  // namespace

void launch_roles(const Problem& p) {
  for_dim(p, [&]<uint32_t Dim>() { launch_with(roles<Dim>, grid_of_tiles(p), kThreads, sizeof(Shared<Dim>), p); });
}

}  // namespace attention
