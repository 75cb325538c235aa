// The kernel of steps 4 to 7. They differ in numbers: whether softmax is lazy, how many exponentials are polynomials,
// and how many CTAs there are for the pairs of tiles.
//
//   warps 0–3    softmax of tile 0   P over S; tells the correction each row's factor
//   warps 4–7    softmax of tile 1
//   warps 8–11   correction          rescales O of either tile, and stores it at the end
//   warp 12      load                Q of both tiles; K0 V0 K1 V1 … into the ring
//   warp 13      multiply            O += P·V of a tile's block, then S of its next block: tile 0, tile 1, tile 0 …
//
// Tensor Memory: S of both tiles, O of both: all 512 columns. P lies where its S was.
#pragma once
#include "chapters/14_attention/attention.cuh"
#include "common/harness/device.h"
#include "common/ptx/barrier.h"

namespace attention {

constexpr uint32_t kThreads = 512;
constexpr uint32_t kStages = 4;
constexpr uint32_t kColumnsOfAll = 512;
constexpr uint32_t kWarpsOfARole = 4;

/// Pairs of tiles of all heads, and which of them a CTA takes: from blockIdx.x on every gridDim.x-th.
struct Pairs {
  uint32_t count, of_a_head, heads;
  bool longest_first;
  __host__ __device__ Pairs(uint32_t queries, uint32_t heads_of_all, bool by_length)
      : of_a_head(layout::ceil_div(queries, 2 * kTile)), heads(heads_of_all), longest_first(by_length) {
    count = of_a_head * heads;
  }
};

/// One pair: its head, the first query of either tile, and how many blocks each sees.
struct Pair {
  uint32_t head, row[2], blocks[2];
  __device__ Pair(const Arguments& args, const Pairs& pairs, uint32_t index) {
    // The last queries see most keys: where masks are causal they come first, of all heads.
    const uint32_t place = pairs.longest_first ? pairs.of_a_head - 1 - index / pairs.heads : index % pairs.of_a_head;
    head = pairs.longest_first ? index % pairs.heads : index / pairs.of_a_head;
    for (uint32_t t = 0; t < 2; ++t) {
      row[t] = (2 * place + t) * kTile;
      blocks[t] = blocks_of(args, row[t]);
    }
  }
  __device__ uint32_t most() const { return max(blocks[0], blocks[1]); }
};

template <uint32_t Dim>
struct Shared {
  uint8_t q[2][kTileBytes<Dim>], ring[kStages][kTileBytes<Dim>], boxes[kTileBytes<Dim>];
  float factor[2][kTile];  // from softmax to correction, a row each: factors of O, in the end the sums
  uint64_t q_full[2], q_empty[2], full[kStages], empty[kStages];
  uint64_t scored[2];       // S is there
  uint64_t factored[2];     // the factors are there
  uint64_t taken[2];        // and have been read
  uint64_t weighted[2][2];  // a part of P is there; with the first: O has been rescaled
  uint64_t added[2];        // P·V has been added to O
  uint32_t columns;
};

/// Columns of S and of O of a tile.
__device__ inline uint32_t scores_of(uint32_t columns, uint32_t tile) { return columns + tile * kBlock; }
template <uint32_t Dim>
__device__ uint32_t output_of(uint32_t columns, uint32_t tile) {
  return columns + 2 * kBlock + tile * Dim;
}

/// Arrives once for this warp, when all its lanes are here.
__device__ inline void warp_arrive(uint64_t& bar) {
  __syncwarp();
  if (elect_sync()) mbarrier_arrive(shared_address(&bar));
}

/// A barrier's phases, one behind the other.
struct Phase {
  uint32_t parity = 0;
  __device__ void wait(uint64_t& bar) {
    tensor_kernel::wait(&bar, parity);
    parity ^= 1;
  }
};

/// One thread fills the ring.
template <uint32_t Dim>
__device__ void load(const Arguments& args, Shared<Dim>& shared, const Pairs& pairs) {
  Ring<kStages> to;
  const auto next = [&](const CUtensorMap* map, uint32_t row, uint32_t head) {
    mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
    mbarrier_arrive_expect_tx(shared_address(&shared.full[to.stage]), kTileBytes<Dim>);
    load_tile<Dim>(map, shared.ring[to.stage], row, head, shared.full[to.stage]);
    to.advance();
  };
  uint32_t parity[2] = {1, 1};
  for (uint32_t i = blockIdx.x; i < pairs.count; i += gridDim.x) {
    const Pair pair(args, pairs, i);
    const auto query = [&](uint32_t t) {
      if (!pair.blocks[t]) return;
      mbarrier_wait_parity(shared_address(&shared.q_empty[t]), parity[t]);
      parity[t] ^= 1;
      mbarrier_arrive_expect_tx(shared_address(&shared.q_full[t]), kTileBytes<Dim>);
      load_tile<Dim>(&args.q_map, shared.q[t], pair.row[t], pair.head, shared.q_full[t]);
    };
    query(0);
    for (uint32_t block = 0; block < pair.most(); ++block) {
      next(&args.k_map, block * kBlock, pair.head);
      if (block == 0) query(1);
      next(&args.v_map, block * kBlock, pair.head);
    }
  }
}

/// One thread multiplies.
template <uint32_t Dim, uint32_t Parts>
__device__ void multiply(const Arguments& args, Shared<Dim>& shared, const Pairs& pairs, uint32_t columns) {
  Ring<kStages> at;
  Phase queries[2], weights[2][2], sums[2] = {{1}, {1}};
  for (uint32_t i = blockIdx.x; i < pairs.count; i += gridDim.x) {
    const Pair pair(args, pairs, i);
    const auto score = [&](uint32_t t, uint32_t block, const Ring<kStages>& k) {
      mbarrier_wait_parity(shared_address(&shared.full[k.stage]), k.parity);
      // They go over P of the block before, and two MMAs with different accumulators may run in any order.
      sums[t].wait(shared.added[t]);
      multiply_scores<Dim>(scores_of(columns, t), shared.q[t], shared.ring[k.stage]);
      tcgen05_commit(shared_address(&shared.scored[t]));
      if (block + 1 == pair.blocks[t]) tcgen05_commit(shared_address(&shared.q_empty[t]));
    };
    for (uint32_t t = 0; t < 2; ++t) {
      if (!pair.blocks[t]) continue;
      queries[t].wait(shared.q_full[t]);
      score(t, 0, at);
    }
    tcgen05_commit(shared_address(&shared.empty[at.stage]));
    at.advance();
    for (uint32_t block = 0; block < pair.most(); ++block) {
      const Ring<kStages> v = at;
      at.advance();
      const Ring<kStages> k = at;
      for (uint32_t t = 0; t < 2; ++t) {
        if (block >= pair.blocks[t]) continue;
        const uint32_t o = output_of<Dim>(columns, t), p = scores_of(columns, t);
        constexpr uint32_t kSteps = kBlock / kInstructionK;
        weights[t][0].wait(shared.weighted[t][0]);
        mbarrier_wait_parity(shared_address(&shared.full[v.stage]), v.parity);
        multiply_values<Dim, 0, kSteps / Parts>(o, p, shared.ring[v.stage], block == 0);
        if (Parts == 2) {
          weights[t][1].wait(shared.weighted[t][1]);
          multiply_values<Dim, kSteps / Parts, kSteps>(o, p, shared.ring[v.stage], false);
        }
        tcgen05_commit(shared_address(&shared.added[t]));
        if (block + 1 < pair.blocks[t]) score(t, block + 1, k);
      }
      tcgen05_commit(shared_address(&shared.empty[v.stage]));
      if (block + 1 < pair.most()) {
        tcgen05_commit(shared_address(&shared.empty[k.stage]));
        at.advance();
      }
    }
  }
}

/// Makes part `Part` of tile t's P from this thread's row of scores, and tells who multiplies.
template <uint32_t Part, uint32_t Parts, uint32_t Dim>
__device__ void hand_over(Shared<Dim>& shared, uint32_t t, uint32_t scores, float (&s)[kBlock], float scale,
                          Softmax& softmax) {
  constexpr uint32_t kWords = kBlock / 2 / Parts;
  uint32_t p[kWords];
  exponentials<Part * 2 * kWords>(p, softmax, s, scale);
  tcgen05_st_32x32b(scores + Part * kWords, p);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  warp_arrive(shared.weighted[t][Part]);
}

/// A row a thread.
template <uint32_t Dim, bool Lazy, uint32_t Parts>
__device__ void weigh(const Arguments& args, Shared<Dim>& shared, const Pairs& pairs, uint32_t columns, uint32_t t) {
  const uint32_t row = threadIdx.x % kTile;
  const uint32_t scores = layout::tmem_address(scores_of(columns, t), row / 32 * 32, 0);
  Phase scored, taken{1};
  const auto tell = [&](float factor) {
    taken.wait(shared.taken[t]);
    shared.factor[t][row] = factor;
    warp_arrive(shared.factored[t]);
  };
  for (uint32_t i = blockIdx.x; i < pairs.count; i += gridDim.x) {
    const Pair pair(args, pairs, i);
    if (!pair.blocks[t]) continue;
    Softmax softmax;
    for (uint32_t block = 0; block < pair.blocks[t]; ++block) {
      scored.wait(shared.scored[t]);
      float s[kBlock];
      load_scores(s, scores, args, pair.row[t] + row, block * kBlock);
      const float factor = follow_largest<Lazy>(softmax, s, args.scale);
      if (block > 0) tell(factor);
      hand_over<0, Parts>(shared, t, scores, s, args.scale, softmax);
      if constexpr (Parts == 2) hand_over<1, Parts>(shared, t, scores, s, args.scale, softmax);
    }
    tell(softmax.sum);
  }
}

/// O of both tiles.
template <uint32_t Dim, bool Lazy>
__device__ void correct(const Arguments& args, Shared<Dim>& shared, const Pairs& pairs, uint32_t columns) {
  const uint32_t row = threadIdx.x % kTile, quarter = row / 32;
  Phase factored[2], added[2];
  const auto hear = [&](uint32_t t) {
    factored[t].wait(shared.factored[t]);
    const float factor = shared.factor[t][row];
    warp_arrive(shared.taken[t]);
    return factor;
  };
  for (uint32_t i = blockIdx.x; i < pairs.count; i += gridDim.x) {
    const Pair pair(args, pairs, i);
    for (uint32_t block = 0; block < pair.most(); ++block)
      for (uint32_t t = 0; t < 2; ++t) {
        if (block >= pair.blocks[t]) continue;
        if (block > 0) {
          const float factor = hear(t);
          added[t].wait(shared.added[t]);
          if (!Lazy || __any_sync(0xffffffff, factor != 1))
            rescale<Dim>(layout::tmem_address(output_of<Dim>(columns, t), quarter * 32, 0), factor);
          tcgen05_fence_before_thread_sync();
        }
        warp_arrive(shared.weighted[t][0]);
      }
    for (uint32_t t = 0; t < 2; ++t) {
      if (!pair.blocks[t]) continue;
      const float sum = hear(t);
      added[t].wait(shared.added[t]);
      store_output<Dim>(args, layout::tmem_address(output_of<Dim>(columns, t), quarter * 32, 0), 1 / sum, shared.boxes,
                        quarter * 32, pair.row[t] + quarter * 32, pair.head);
      tcgen05_fence_before_thread_sync();
    }
  }
  if (elect_sync()) bulk_wait_group_read<0>();
}

template <uint32_t Dim, bool Lazy, uint32_t Parts, bool LongestFirst>
__global__ void __launch_bounds__(kThreads, 1) pingpong(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<Dim>*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  const Pairs pairs(args.queries, args.heads, LongestFirst && args.causal);

  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    for (uint32_t t = 0; t < 2; ++t) {
      mbarrier_init(shared_address(&shared.q_full[t]), 1);
      mbarrier_init(shared_address(&shared.q_empty[t]), 1);
      mbarrier_init(shared_address(&shared.scored[t]), 1);
      mbarrier_init(shared_address(&shared.factored[t]), kWarpsOfARole);
      mbarrier_init(shared_address(&shared.taken[t]), kWarpsOfARole);
      mbarrier_init(shared_address(&shared.weighted[t][0]), 2 * kWarpsOfARole);
      mbarrier_init(shared_address(&shared.weighted[t][1]), kWarpsOfARole);
      mbarrier_init(shared_address(&shared.added[t]), 1);
    }
    fence_mbarrier_init();
  }
  const uint32_t columns = tensor_kernel::begin(&shared.columns, kColumnsOfAll);

  // 65,536 registers: 184 for a thread of softmax, which holds a row of scores, and less for the others.
  if (warp < 8) {
    setmaxnreg_inc<184>();
    weigh<Dim, Lazy, Parts>(args, shared, pairs, columns, warp / 4);
  } else if (warp < 12) {
    setmaxnreg_dec<96>();
    correct<Dim, Lazy>(args, shared, pairs, columns);
  } else {
    setmaxnreg_dec<48>();
    if (warp == 12 && elect_sync()) load<Dim>(args, shared, pairs);
    if (warp == 13 && elect_sync()) multiply<Dim, Parts>(args, shared, pairs, columns);
  }
  __syncwarp();
  tensor_kernel::end(columns, kColumnsOfAll);
}

/// With a CTA for each pair of tiles, or as many as the chip has SMs.
template <bool Lazy, uint32_t Parts, bool Persistent>
void launch_pairs(const Problem& p) {
  for_dim(p, [&]<uint32_t Dim>() {
    const Pairs pairs(p.queries, p.heads, Persistent && p.causal);
    const uint32_t sms = uint32_t(gen5::harness::current_device().sms);
    launch_with(pingpong<Dim, Lazy, Parts, Persistent>, Persistent ? std::min(pairs.count, sms) : pairs.count, kThreads,
                sizeof(Shared<Dim>), p);
  });
}

}  // namespace attention
