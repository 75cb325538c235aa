// Roles of a CTA (tcgen05), which meet at barriers only. It works on kTiles tiles of 128 queries at a time:
//
//   4 warps a tile   softmax      a row a thread: P over S; tells the correction each row's factor
//   4 warps          correction   rescale O of every tile, and carry it out at the end
//   1 warp           load         Q of all tiles; K0 V0 K1 V1 … into the ring
//   1 warp           multiply     O += P·V of a tile's block, then S of its next block: tile 0, tile 1 …, tile 0 …
//
//   S = Q·Kᵀ        scores of 128 queries and kBlock keys, f32 in Tensor Memory: row by row in its lanes
//   P = 2^(S·c − m) in bf16, over S; m follows the largest S·c of the row so far, at most kSlack behind
//   O += P·V        f32 in Tensor Memory, scaled anew when m changes
//
// P comes in kParts parts: the product over the first keys begins while exponentials of the others are being made.

constexpr uint32_t kTile = 128;  // queries of a tile: the lanes of Tensor Memory
constexpr uint32_t kWarpsOfARole = 4, kThreads = 128 * (kTiles + 2);
constexpr uint32_t kBlockSteps = kBlock / 16;  // MMAs of kind::f16 along the keys
constexpr uint32_t kColumns = layout::allocation_columns(kTiles * (kBlock + kDim));
static_assert(kBlockSteps % kParts == 0, "a part of P is whole MMAs");
static_assert(!kOverQueries || kSchedule == Schedule::serial, "the next piece's queries go where O would be");

// What the CTA's threads have of 65,536 registers; softmax takes what the others leave.
constexpr uint32_t kLaunched = 65536 / kThreads / 8 * 8 < 248 ? 65536 / kThreads / 8 * 8 : 248;
constexpr uint32_t kCorrection = 96, kOthers = 48;
constexpr uint32_t kLeft = (kLaunched * (kTiles + 2) - kCorrection - kOthers) / kTiles / 8 * 8;
constexpr uint32_t kSoftmax = kLeft < 240 ? kLeft : 240;

struct alignas(1024) Shared {
  uint8_t q[kTiles][bytes_of(kTile)], ring[kStages][bytes_of(kBlock)], boxes[kOverQueries ? 1024 : bytes_of(kTile)];
  float factor[kTiles][kTile];  // from softmax to correction, a row each: factors of O, in the end the sums
  uint64_t q_full[kTiles], q_empty[kTiles], full[kStages], empty[kStages];
  uint64_t scored[kTiles];            // S is there
  uint64_t factored[kTiles];          // the factors are there
  uint64_t taken[kTiles];             // and have been read
  uint64_t weighted[kTiles][kParts];  // a part of P is there; with the first: O has been rescaled
  uint64_t added[kTiles];             // P·V has been added to O
  uint32_t columns;
};

/// The tiles of a piece of work: their first queries, and how many blocks each sees.
struct Tiles {
  uint32_t head, row[kTiles], blocks[kTiles], most = 0;
  __device__ Tiles(const Arguments& args, uint32_t index) {
    const Piece piece(args, index);
    head = piece.head;
#pragma unroll
    for (uint32_t t = 0; t < kTiles; ++t) {
      row[t] = piece.row + t * kTile;
      blocks[t] = blocks_of(args, row[t], kTile);
      most = max(most, blocks[t]);
    }
  }
};

/// Columns of S and of O of a tile.
__device__ inline uint32_t scores_of(uint32_t columns, uint32_t tile) { return columns + tile * kBlock; }
__device__ inline uint32_t output_of(uint32_t columns, uint32_t tile) {
  return columns + kTiles * kBlock + tile * kDim;
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
    mbarrier_wait_parity(shared_address(&bar), parity);
    tcgen05_fence_after_thread_sync();
    parity ^= 1;
  }
};

// ---- The two products

/// Q and K: rows of 128 bytes along the head's dimension, which both products' K is. 8 rows are 1,024 bytes.
constexpr uint64_t kRows = layout::smem_descriptor({.element = layout::Element::bf16,
                                                    .major = layout::Major::k,
                                                    .swizzle = layout::Swizzle::b128,
                                                    .stride = 8 * kRowBytes});
/// V: the second product sums over keys, and keys are rows. What is contiguous is N: the next 64 of it are a box
/// further.
constexpr uint64_t kValueColumns = layout::smem_descriptor({.element = layout::Element::bf16,
                                                            .major = layout::Major::mn,
                                                            .swizzle = layout::Swizzle::b128,
                                                            .leading = kBlock * kRowBytes,
                                                            .stride = 8 * kRowBytes});
constexpr uint32_t kScores = layout::instruction_descriptor({.m = kTile, .n = kBlock});
constexpr uint32_t kValues = layout::instruction_descriptor({.m = kTile, .n = kDim, .b_major = layout::Major::mn});

/// The same operand `bytes` further: its address is the descriptor's lowest field, in units of 16 bytes.
__device__ inline uint64_t further(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

/// S = Q·Kᵀ.
__device__ inline void multiply_scores(uint32_t scores, const uint8_t* q, const uint8_t* k) {
  const uint64_t from_q = layout::at_address(kRows, shared_address(q)),
                 from_k = layout::at_address(kRows, shared_address(k));
#pragma unroll
  for (uint32_t step = 0; step < kDim / 16; ++step)
    tcgen05_mma_f16(scores, further(from_q, step / 4 * kTile * kRowBytes + step % 4 * 32),
                    further(from_k, step / 4 * kBlock * kRowBytes + step % 4 * 32), kScores, step > 0);
}

/// Part `part` of O = P·V or O += P·V: 16 keys are 8 columns of P and 16 rows of V.
__device__ inline void multiply_values(uint32_t o, uint32_t p, const uint8_t* v, uint32_t part, bool first) {
  const uint64_t from = layout::at_address(kValueColumns, shared_address(v));
#pragma unroll
  for (uint32_t i = 0; i < kBlockSteps / kParts; ++i) {
    const uint32_t step = part * (kBlockSteps / kParts) + i;
    tcgen05_mma_f16_tmem(o, p + step * 8, further(from, step * 16 * kRowBytes), kValues, !(first && step == 0));
  }
}

// ---- The roles

/// One thread fills the ring.
__device__ void load(const Arguments& args, Shared& shared) {
  Ring to;
  const auto next = [&](const CUtensorMap* map, uint32_t row, uint32_t head) {
    mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
    mbarrier_arrive_expect_tx(shared_address(&shared.full[to.stage]), bytes_of(kBlock));
    load_rows(map, shared.ring[to.stage], kBlock, row, head, shared.full[to.stage]);
    to.advance();
  };
  uint32_t round[kTiles] = {};
  for (uint32_t i = blockIdx.x; i < args.count; i += gridDim.x) {
    const Tiles tiles(args, i);
    const auto query = [&](uint32_t t) {
      if (!tiles.blocks[t]) return;
      mbarrier_wait_parity(shared_address(&shared.q_empty[t]), round[t]++ & 1 ^ 1);
      mbarrier_arrive_expect_tx(shared_address(&shared.q_full[t]), bytes_of(kTile));
      load_rows(&args.q_map, shared.q[t], kTile, tiles.row[t], tiles.head, shared.q_full[t]);
    };
    query(0);
    for (uint32_t block = 0; block < tiles.most; ++block) {
      next(&args.k_map, block * kBlock, tiles.head);
      if (block == 0)
#pragma unroll
        for (uint32_t t = 1; t < kTiles; ++t) query(t);
      next(&args.v_map, block * kBlock, tiles.head);
    }
  }
}

/// One thread multiplies.
__device__ void multiply(const Arguments& args, Shared& shared, uint32_t columns) {
  Ring at;
  Phase queries[kTiles], weights[kTiles][kParts], sums[kTiles];
#pragma unroll
  for (Phase& p : sums) p.parity = 1;
  for (uint32_t i = blockIdx.x; i < args.count; i += gridDim.x) {
    const Tiles tiles(args, i);
    const auto score = [&](uint32_t t, uint32_t block, const Ring& k) {
      mbarrier_wait_parity(shared_address(&shared.full[k.stage]), k.parity);
      // They go over P of the block before, and two MMAs with different accumulators may run in any order.
      sums[t].wait(shared.added[t]);
      multiply_scores(scores_of(columns, t), shared.q[t], shared.ring[k.stage]);
      tcgen05_commit(shared_address(&shared.scored[t]));
      if (block + 1 == tiles.blocks[t]) tcgen05_commit(shared_address(&shared.q_empty[t]));
    };
#pragma unroll
    for (uint32_t t = 0; t < kTiles; ++t) {
      if (!tiles.blocks[t]) continue;
      queries[t].wait(shared.q_full[t]);
      score(t, 0, at);
    }
    tcgen05_commit(shared_address(&shared.empty[at.stage]));
    at.advance();
    for (uint32_t block = 0; block < tiles.most; ++block) {
      const Ring v = at;
      at.advance();
      const Ring k = at;
#pragma unroll
      for (uint32_t t = 0; t < kTiles; ++t) {
        if (block >= tiles.blocks[t]) continue;
#pragma unroll
        for (uint32_t part = 0; part < kParts; ++part) {
          weights[t][part].wait(shared.weighted[t][part]);
          if (part == 0) mbarrier_wait_parity(shared_address(&shared.full[v.stage]), v.parity);
          multiply_values(output_of(columns, t), scores_of(columns, t), shared.ring[v.stage], part, block == 0);
        }
        tcgen05_commit(shared_address(&shared.added[t]));
        if (block + 1 < tiles.blocks[t]) score(t, block + 1, k);
      }
      tcgen05_commit(shared_address(&shared.empty[v.stage]));
      if (block + 1 < tiles.most) {
        tcgen05_commit(shared_address(&shared.empty[k.stage]));
        at.advance();
      }
    }
  }
}

/// The largest of three, one instruction from sm_100 on.
__device__ inline float max3(float a, float b, float c) {
  float largest;
  asm("max.f32 %0, %1, %2, %3;" : "=f"(largest) : "f"(a), "f"(b), "f"(c));
  return largest;
}

/// Reads this thread's row of scores. Those of keys that the query does not see become −∞.
__device__ inline void load_scores(float (&s)[kBlock], uint32_t from, const Arguments& args, uint32_t query,
                                   uint32_t first_key) {
#pragma unroll
  for (uint32_t column = 0; column < kBlock; column += 32) tcgen05_ld_32_floats(s + column, from + column);
  tcgen05_wait_ld();
  const uint32_t end = kCausal ? min(args.keys, query + 1) : args.keys;
  if (end < first_key + kBlock) {
#pragma unroll
    for (uint32_t i = 0; i < kBlock; ++i)
      if (first_key + i >= end) s[i] = -INFINITY;
  }
}

/// What a row has come to: in the end O is to be divided by `sum`.
struct Softmax {
  float largest = -INFINITY;  // m
  float sum = 0;              // of 2^(S·c − m)
};

/// Takes a block's scores into account: returns what O so far and its sum must be multiplied with.
__device__ inline float follow_largest(Softmax& row, const float (&s)[kBlock], float scale) {
  float m[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
#pragma unroll
  for (uint32_t i = 0; i < kBlock; i += 2) m[i / 2 % 4] = max3(m[i / 2 % 4], s[i], s[i + 1]);
  const float largest = max3(m[0], m[1], fmaxf(m[2], m[3])) * scale;
  if (kLazy && largest <= row.largest + kSlack) return 1;
  const float next = fmaxf(row.largest, largest), factor = exp2_sfu(row.largest - next);
  row.largest = next;
  row.sum *= factor;
  return factor;
}

/// Exponentials of part `Part` of the row, two to a word as the second product reads them, and their sum. The
/// special-function unit takes 8 cycles for one of a warp: what comes before and behind it for other elements stands
/// in these gaps.
template <uint32_t Part, uint32_t Words>
__device__ void exponentials(uint32_t (&p)[Words], Softmax& row, float (&s)[kBlock], float scale) {
  constexpr uint32_t kCount = 2 * Words, kGap = 8;
  float* x = s + Part * kCount;
  float sum[4] = {0, 0, 0, 0};
#pragma unroll
  for (uint32_t i = 0; i < kCount + 2 * kGap; ++i) {
    if (i < kCount) x[i] = fmaf(x[i], scale, -row.largest);
    if (i >= kGap && i < kCount + kGap) x[i - kGap] = exp2_sfu(x[i - kGap]);
    if (i < 2 * kGap) continue;
    const uint32_t done = i - 2 * kGap;
    sum[done % 4] += x[done];
    if (done % 2 == 1) p[done / 2] = narrow_pair(x[done - 1], x[done]);
  }
  row.sum += (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/// Makes the parts of tile t's P from Part on of this thread's row of scores, and tells who multiplies.
template <uint32_t Part>
__device__ void hand_over(Shared& shared, uint32_t t, uint32_t scores, float (&s)[kBlock], float scale,
                          Softmax& softmax) {
  constexpr uint32_t kWords = kBlock / 2 / kParts;
  uint32_t p[kWords];
  exponentials<Part>(p, softmax, s, scale);
  tcgen05_st_32x32b(scores + Part * kWords, p);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  warp_arrive(shared.weighted[t][Part]);
  if constexpr (Part + 1 < kParts) hand_over<Part + 1>(shared, t, scores, s, scale, softmax);
}

/// A row a thread.
__device__ void weigh(const Arguments& args, Shared& shared, uint32_t columns, uint32_t t) {
  const uint32_t row = threadIdx.x % kTile;
  const uint32_t scores = layout::tmem_address(scores_of(columns, t), row / 32 * 32, 0);
  Phase scored, taken{1};
  const auto tell = [&](float factor) {
    taken.wait(shared.taken[t]);
    shared.factor[t][row] = factor;
    warp_arrive(shared.factored[t]);
  };
  for (uint32_t i = blockIdx.x; i < args.count; i += gridDim.x) {
    const Piece piece(args, i);
    const uint32_t first = piece.row + t * kTile, blocks = blocks_of(args, first, kTile);
    if (!blocks) continue;
    Softmax softmax;
    for (uint32_t block = 0; block < blocks; ++block) {
      scored.wait(shared.scored[t]);
      float s[kBlock];
      load_scores(s, scores, args, first + row, block * kBlock);
      const float factor = follow_largest(softmax, s, args.scale);
      if (block > 0) tell(factor);
      hand_over<0>(shared, t, scores, s, args.scale, softmax);
    }
    tell(softmax.sum);
  }
}

/// This thread's row of O times `factor`, in Tensor Memory.
__device__ inline void rescale(uint32_t o, float factor) {
#pragma unroll
  for (uint32_t column = 0; column < kDim; column += 32) {
    float part[32];
    tcgen05_ld_32_floats(part, o + column);
    tcgen05_wait_ld();
#pragma unroll
    for (float& x : part) x *= factor;
    tcgen05_st_32_floats(o + column, part);
  }
  tcgen05_wait_st();
}

/// One warp's 32 rows of O, times `factor`, through shared memory to the rows from `row` on of global memory. `boxes`:
/// the tile's; this warp uses rows `rows` … + 31 of each. When this returns they may still be on their way.
__device__ void store_output(const Arguments& args, uint32_t o, float factor, uint8_t* boxes, uint32_t rows,
                             uint32_t row, uint32_t head) {
  const uint32_t mine = shared_address(boxes) + rows * kRowBytes, lane = threadIdx.x % 32;
  if (elect_sync()) bulk_wait_group_read<0>();  // the boxes' last contents
  __syncwarp();
#pragma unroll
  for (uint32_t column = 0; column < kDim; column += 32) {
    float part[32];
    tcgen05_ld_32_floats(part, o + column);
    tcgen05_wait_ld();
#pragma unroll
    for (uint32_t chunk = 0; chunk < 4; ++chunk) {
      uint32_t word[4];
#pragma unroll
      for (uint32_t i = 0; i < 4; ++i)
        word[i] = narrow_pair(part[8 * chunk + 2 * i] * factor, part[8 * chunk + 2 * i + 1] * factor);
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(layout::swizzled(
                       layout::Swizzle::b128,
                       mine + column / 64 * kTile * kRowBytes + lane * kRowBytes + column % 64 * 2 + chunk * 16)),
                   "r"(word[0]), "r"(word[1]), "r"(word[2]), "r"(word[3])
                   : "memory");
    }
  }
  fence_proxy_async_shared();
  __syncwarp();
  if (elect_sync()) {
#pragma unroll
    for (uint32_t box = 0; box < kDim / 64; ++box)
      tensor_store_3d(&args.o_map, int(box * 64), int(row), int(head), mine + box * kTile * kRowBytes);
    bulk_commit_group();
  }
}

/// O of all tiles.
__device__ void correct(const Arguments& args, Shared& shared, uint32_t columns) {
  const uint32_t row = threadIdx.x % kTile, quarter = row / 32;
  Phase factored[kTiles], added[kTiles];
  const auto hear = [&](uint32_t t) {
    factored[t].wait(shared.factored[t]);
    const float factor = shared.factor[t][row];
    warp_arrive(shared.taken[t]);
    return factor;
  };
  for (uint32_t i = blockIdx.x; i < args.count; i += gridDim.x) {
    const Tiles tiles(args, i);
    for (uint32_t block = 0; block < tiles.most; ++block)
#pragma unroll
      for (uint32_t t = 0; t < kTiles; ++t) {
        if (block >= tiles.blocks[t]) continue;
        if (block > 0) {
          const float factor = hear(t);
          added[t].wait(shared.added[t]);
          if (!kLazy || __any_sync(0xffffffff, factor != 1))
            rescale(layout::tmem_address(output_of(columns, t), quarter * 32, 0), factor);
          tcgen05_fence_before_thread_sync();
        }
        warp_arrive(shared.weighted[t][0]);
      }
#pragma unroll
    for (uint32_t t = 0; t < kTiles; ++t) {
      if (!tiles.blocks[t]) continue;
      const float sum = hear(t);
      added[t].wait(shared.added[t]);
      store_output(args, layout::tmem_address(output_of(columns, t), quarter * 32, 0), 1 / sum,
                   kOverQueries ? shared.q[t] : shared.boxes, quarter * 32, tiles.row[t] + quarter * 32, tiles.head);
      tcgen05_fence_before_thread_sync();
    }
  }
  if (elect_sync()) bulk_wait_group_read<0>();
}

/// All threads of the CTA have come here, and see each other's work in Tensor Memory.
__device__ void meet() {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
}

__global__ void __launch_bounds__(kThreads, 1) attention(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32;
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&shared.full[s]), 1);
      mbarrier_init(shared_address(&shared.empty[s]), 1);
    }
    for (uint32_t t = 0; t < kTiles; ++t) {
      mbarrier_init(shared_address(&shared.q_full[t]), 1);
      mbarrier_init(shared_address(&shared.q_empty[t]), 1);
      mbarrier_init(shared_address(&shared.scored[t]), 1);
      mbarrier_init(shared_address(&shared.factored[t]), kWarpsOfARole);
      mbarrier_init(shared_address(&shared.taken[t]), kWarpsOfARole);
      for (uint32_t part = 0; part < kParts; ++part)
        mbarrier_init(shared_address(&shared.weighted[t][part]), (part == 0 ? 2 : 1) * kWarpsOfARole);
      mbarrier_init(shared_address(&shared.added[t]), 1);
    }
    fence_mbarrier_init();
  }
  if (warp == 0) {
    tcgen05_alloc(shared_address(&shared.columns), kColumns);
    tcgen05_relinquish_alloc_permit();
  }
  meet();
  const uint32_t columns = shared.columns;
  if (warp < 4 * kTiles) {
    if constexpr (kSoftmax > kLaunched) setmaxnreg_inc<kSoftmax>();
    weigh(args, shared, columns, warp / 4);
  } else if (warp < 4 * kTiles + 4) {
    if constexpr (kCorrection < kLaunched) setmaxnreg_dec<kCorrection>();
    correct(args, shared, columns);
  } else {
    setmaxnreg_dec<kOthers>();
    if (warp == 4 * kTiles + 4 && elect_sync()) load(args, shared);
    if (warp == 4 * kTiles + 5 && elect_sync()) multiply(args, shared, columns);
  }
  __syncwarp();
  meet();
  if (warp == 0) tcgen05_dealloc(columns, kColumns);
}

// ---- Host

void launch(const Problem& p) { launch_pieces(attention, kThreads, sizeof(Shared), p, kTile, 32); }
