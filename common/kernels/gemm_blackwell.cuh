// Three roles of a CTA (tcgen05), which meet at barriers only:
//
//   warp 0      producer   one thread asks TMA for blocks of A and B, kStages ahead
//   warp 1      MMA        one thread multiplies a block when it has landed, into Tensor Memory
//   warps 2–5   epilogue   carry a finished accumulator to D, each the quarter of Tensor Memory that it may read
//
// Pair: two CTAs of a cluster multiply together. Each has its own rows of A and half of B's columns; one thread of the
// even CTA multiplies for both. Other clusters share what they load: CTAs of one row of tiles the block of A, those of
// one column the block of B; each loads its part and multicasts it.
//
// Launch control: a cluster for each tile. One that runs asks for the tile of one that has not been launched, while it
// works on its own; the answer comes into `claim` of each of its CTAs.

constexpr uint32_t kMmaRows = kRows < 128 ? 64 : 128;  // of one CTA, of one instruction
constexpr uint32_t kBands = kRows / kMmaRows, kWarpRows = kMmaRows / 4;
constexpr uint32_t kRowsB = kTileN / kPair;                      // of a block of B that a CTA has
constexpr uint32_t kScalesAt = kAccumulators * kBands * kTileN;  // behind the accumulators, of each stage
constexpr uint32_t kColumns = layout::allocation_columns(kScalesAt + kStages * kScaleColumns);
constexpr uint32_t kThreads = 192, kEpilogueWarps = 4, kClaims = 2;
constexpr bool kStaged = kEpilogue == Epilogue::tma;
constexpr uint32_t kStoreColumns = kStoreBytes / sizeof(Out), kBoxBytes = kWarpRows * kStoreBytes;
static_assert(kTileN % kStoreColumns == 0, "the boxes of D fill the tile");
static_assert(kPair == 1 || (kClusterM * kClusterN == 1 && kRows >= 128), "a pair has M = 256 and takes the cluster");

struct alignas(1024) Shared {
  uint8_t a[kStages][kRows * kBlockBytes];
  uint8_t b[kStages][kRowsB * kBlockBytes + kScaleBytes];
  uint8_t boxes[kEpilogueWarps][2][kStaged ? kBoxBytes : 16];
  uint4 claim[kClaims];
  uint64_t full[kStages], empty[kStages];
  uint64_t accumulated[kAccumulators], drained[kAccumulators];
  uint64_t claimed[kClaims], released[kClaims];
  uint32_t accumulators;
};

struct Arguments {
  CUtensorMap a_map, b_map, d_map;
  Out* d;
  uint32_t m, n, k, most;
  ScaleMaps scales;
};

/// The tiles that this CTA's roles walk, each on its own. kWarp: all lanes of a warp call it.
template <bool kWarp>
struct Walk {
  const Tiles& tiles;
  Shared& shared;
  uint32_t t = tiles.first(), end = tiles.end();
  Ring<kClaims> at = {};

  __device__ bool more() const { return t < end; }
  __device__ void next() {
    if constexpr (kSchedule == Schedule::serial) t = end;
    if constexpr (kSchedule == Schedule::persistent || kStream) t += tiles.stride();
    if constexpr (kSchedule == Schedule::launch_control) {
      mbarrier_wait_parity(shared_address(&shared.claimed[at.stage]), at.parity);
      const Claim claim = clc_query(shared_address(&shared.claim[at.stage]));
      fence_proxy_async_shared();  // this read before the next answer's write
      t = claim.granted ? claim.x / kCtas : end;
      if constexpr (kWarp) __syncwarp();
      if (!kWarp || elect_sync()) {
        if constexpr (kCtas > 1)
          mbarrier_arrive_remote(mapa(shared_address(&shared.released[at.stage]), 0));  // a read has ended
        else
          mbarrier_arrive(shared_address(&shared.released[at.stage]));
      }
      at.advance();
    }
  }
  /// The producer's: asks for the tile that next() will find.
  __device__ void ask(uint32_t rank) const {
    const uint32_t claimed = shared_address(&shared.claimed[at.stage]);
    mbarrier_arrive_expect_tx(claimed, sizeof(uint4));  // each CTA expects its own copy of the answer
    if (rank != 0) return;
    const uint32_t released = shared_address(&shared.released[at.stage]);
    if constexpr (kCtas > 1) {
      mbarrier_wait_parity_cluster(released, at.parity ^ 1);
      clc_try_cancel_all(shared_address(&shared.claim[at.stage]), claimed);
    } else {
      mbarrier_wait_parity(released, at.parity ^ 1);
      clc_try_cancel(shared_address(&shared.claim[at.stage]), claimed);
    }
  }
};

__device__ void produce(const Arguments& args, Shared& shared, const Tiles& tiles, uint32_t rank) {
  constexpr uint32_t kPartA = kRows / kClusterN, kPartB = kRowsB / kClusterM;  // rows that this CTA loads
  const uint32_t in_m = rank % kClusterM, in_n = rank / kClusterM;             // of multicasts; 0, 1 of a pair
  uint16_t same_m = 0, same_n = 0;  // CTAs that share this one's A, and its B
  for (uint32_t i = 0; i < kClusterN; ++i) same_m |= uint16_t(1 << (i * kClusterM + in_m));
  for (uint32_t i = 0; i < kClusterM; ++i) same_n |= uint16_t(1 << (in_n * kClusterM + i));
  Ring<kStages> to;
  for (Walk<false> walk{tiles, shared}; walk.more(); walk.next()) {
    if constexpr (kSchedule == Schedule::launch_control) walk.ask(rank);
    const Tile tile = tiles[walk.t];
    const uint32_t row = tile.row + (kPair == 2 ? rank : in_m) * kRows;
    const uint32_t column = tile.column + (kPair == 2 ? rank * kRowsB : in_n * kTileN);
    for (uint32_t block = tile.first_block; block < tile.last_block; ++block, to.advance()) {
      mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
      uint32_t full = shared_address(&shared.full[to.stage]);
      // The even CTA's barrier counts the bytes of a pair.
      if (kPair == 1 || rank == 0)
        mbarrier_arrive_expect_tx(full, kPair * ((kRows + kRowsB) * kBlockBytes + kScaleTraffic));
      if constexpr (kPair == 2) full = mapa(full, 0);
#pragma unroll
      for (uint32_t span = 0; span < kBlockBytes / kSpan; ++span) {
        const int k = int((block * kBlockBytes + span * kSpan) / sizeof(In));
        const uint32_t a = shared_address(shared.a[to.stage]) + span * kRows * kSpan;
        const uint32_t b = shared_address(shared.b[to.stage]) + span * kRowsB * kSpan;
        const int part_a = int(in_n * kPartA), part_b = int(in_m * kPartB);
        if constexpr (kPair == 2) {
          tensor_load_2d_pair(a, &args.a_map, k, int(row), full);
          tensor_load_2d_pair(b, &args.b_map, k, int(column), full);
        } else {
          if constexpr (kClusterN > 1)
            tensor_load_2d_multicast(a + part_a * kSpan, &args.a_map, k, int(row) + part_a, full, same_m);
          else
            tensor_load_2d(a, &args.a_map, k, int(row), full);
          if constexpr (kClusterM > 1)
            tensor_load_2d_multicast(b + part_b * kSpan, &args.b_map, k, int(column) + part_b, full, same_n);
          else
            tensor_load_2d(b, &args.b_map, k, int(column), full);
        }
      }
      load_scales(args.scales, tiles, shared_address(shared.b[to.stage]) + kRowsB * kBlockBytes, row,
                  kPair == 2 ? tile.column : column, block, full);
    }
  }
}

constexpr layout::Swizzle kSwizzle = kSpan == 128  ? layout::Swizzle::b128
                                     : kSpan == 64 ? layout::Swizzle::b64
                                                   : layout::Swizzle::b32;
/// A block of A or B as TMA leaves it: rows of kSpan bytes, swizzled; eight rows to the next group.
constexpr uint64_t kOperand =
    layout::smem_descriptor({.element = kElement, .major = layout::Major::k, .swizzle = kSwizzle, .stride = 8 * kSpan});

/// Arrives, when what this thread has issued is done, at a barrier of each CTA of `mask`.
__device__ void commit(uint64_t* barrier, uint16_t mask) {
  if constexpr (kPair == 2)
    tcgen05_commit_pair(shared_address(barrier), mask);
  else if constexpr (kCtas > 1)
    tcgen05_commit_multicast(shared_address(barrier), mask);
  else
    tcgen05_commit(shared_address(barrier));
}

__device__ void multiply(Shared& shared, const Tiles& tiles, uint32_t accumulators, uint32_t rank) {
  // The CTAs that load what this one multiplies hear that it has been read: both of a pair, or row and column.
  uint16_t loaders = 0b11;
  if constexpr (kPair == 1) {
    loaders = 0;
    for (uint32_t i = 0; i < kCtas; ++i)
      if (i % kClusterM == rank % kClusterM || i / kClusterM == rank / kClusterM) loaders |= uint16_t(1 << i);
  }
  const uint16_t own = kPair == 2 ? uint16_t(0b11) : uint16_t(1 << rank);
  Ring<kStages> at;
  Ring<kAccumulators> into;
  for (Walk<false> walk{tiles, shared}; walk.more(); walk.next(), into.advance()) {
    const Tile tile = tiles[walk.t];
    const uint32_t accumulator = accumulators + into.stage * kBands * kTileN;
    // The epilogue has read what the accumulator held before.
    mbarrier_wait_parity(shared_address(&shared.drained[into.stage]), into.parity ^ 1);
    tcgen05_fence_after_thread_sync();
    for (uint32_t block = tile.first_block; block < tile.last_block; ++block, at.advance()) {
      mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
      const uint32_t a = shared_address(shared.a[at.stage]), b = shared_address(shared.b[at.stage]);
      const uint32_t scales = accumulators + kScalesAt + at.stage * kScaleColumns;
      copy_scales(scales, b + kRowsB * kBlockBytes);
#pragma unroll
      for (uint32_t step = 0; step < kBlockBytes / 32; ++step) {
        const uint32_t span = step * 32 / kSpan, within = step * 32 % kSpan;
        const uint64_t b_step = layout::at_address(kOperand, b + span * kRowsB * kSpan + within);
        const bool accumulate = !(block == tile.first_block && step == 0);
#pragma unroll
        for (uint32_t band = 0; band < kBands; ++band) {
          const uint64_t a_step = layout::at_address(kOperand, a + (span * kRows + band * kMmaRows) * kSpan + within);
          multiply_step(accumulator + band * kTileN, a_step, b_step, step, band, scales, accumulate);
        }
      }
      commit(&shared.empty[at.stage], loaders);
    }
    commit(&shared.accumulated[into.stage], own);
  }
}

/// 16 bytes of a row of D, or added to it where they are of a part of K.
__device__ void store_words(const Arguments& args, uint32_t row, uint32_t column, const uint32_t (&word)[4],
                            bool whole) {
  if (row >= args.m || column >= args.n) return;
  Out* to = args.d + size_t(row) * args.n + column;
  if (kAdds && !whole) {
    for (int i = 0; i < 4; ++i) atomicAdd(reinterpret_cast<float*>(to) + i, __uint_as_float(word[i]));
  } else {
    *reinterpret_cast<uint4*>(to) = make_uint4(word[0], word[1], word[2], word[3]);
  }
}

/// One warp's rows of a tile: kWarpRows of each band, kStoreColumns at a time. `stored`: boxes so far.
__device__ void store_tile(const Arguments& args, uint32_t accumulator, uint32_t boxes, uint32_t row, uint32_t column,
                           bool whole, uint32_t& stored) {
  constexpr auto kBoxSwizzle = kStoreBytes == 128 ? layout::Swizzle::b128 : layout::Swizzle::b64;
  const uint32_t lane = threadIdx.x % 32;
#pragma unroll 1
  for (uint32_t i = 0; i < kBands * kTileN / kStoreColumns; ++i, ++stored) {
    const uint32_t band = i * kStoreColumns / kTileN, c = i * kStoreColumns % kTileN;
    uint32_t r[kStoreColumns], word[kStoreBytes / 4];
    tcgen05_ld_32x32b(r, accumulator + i * kStoreColumns);
    tcgen05_wait_ld();
#pragma unroll
    for (uint32_t w = 0; w < kStoreBytes / 4; ++w)
      word[w] = sizeof(Out) == 4 ? r[w]
                                 : narrow_pair(__uint_as_float(r[2 * w % kStoreColumns]),
                                               __uint_as_float(r[(2 * w + 1) % kStoreColumns]));
    const uint32_t first_row = row + band * kMmaRows;
    if constexpr (!kStaged) {
      if (lane < kWarpRows)
#pragma unroll
        for (uint32_t w = 0; w < kStoreBytes / 4; w += 4)
          store_words(args, first_row + lane, column + c + w * 4 / sizeof(Out),
                      {word[w], word[w + 1], word[w + 2], word[w + 3]}, whole);
    } else {
      const uint32_t box = boxes + stored % 2 * kBoxBytes;
      // The store before the last one has read this box.
      if (elect_sync()) bulk_wait_group_read<1>();
      __syncwarp();
      if (lane < kWarpRows)
#pragma unroll
        for (uint32_t w = 0; w < kStoreBytes / 4; w += 4)
          asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(
                           layout::swizzled(kBoxSwizzle, box + lane * kStoreBytes + w * 4)),
                       "r"(word[w]), "r"(word[w + 1]), "r"(word[w + 2]), "r"(word[w + 3])
                       : "memory");
      fence_proxy_async_shared();
      __syncwarp();
      if (elect_sync()) {
        if (kAdds && !whole)
          tensor_reduce_add_2d(&args.d_map, int(column + c), int(first_row), box);
        else
          tensor_store_2d(&args.d_map, int(column + c), int(first_row), box);
        bulk_commit_group();
      }
    }
  }
}

__device__ void drain(const Arguments& args, Shared& shared, const Tiles& tiles, uint32_t accumulators, uint32_t rank) {
  const uint32_t quarter = threadIdx.x / 32 % 4;  // lanes 32 · quarter … of Tensor Memory are this warp's
  Ring<kAccumulators> from;
  uint32_t stored = 0;
  for (Walk<true> walk{tiles, shared}; walk.more(); walk.next(), from.advance()) {
    const Tile tile = tiles[walk.t];
    const uint32_t row = tile.row + (kPair == 2 ? rank : rank % kClusterM) * kRows + quarter * kWarpRows;
    const uint32_t column = tile.column + (kPair == 2 ? 0 : rank / kClusterM * kTileN);
    mbarrier_wait_parity(shared_address(&shared.accumulated[from.stage]), from.parity);
    tcgen05_fence_after_thread_sync();
    store_tile(args, layout::tmem_address(accumulators, quarter * 32, from.stage * kBands * kTileN),
               shared_address(shared.boxes[quarter]), row, column, tile.whole, stored);
    // All lanes' loads have ended (wait::ld); one arrives for the warp, in the CTA that multiplies.
    tcgen05_fence_before_thread_sync();
    __syncwarp();
    if (elect_sync()) {
      if constexpr (kPair == 2)
        mbarrier_arrive_remote(mapa(shared_address(&shared.drained[from.stage]), 0));
      else
        mbarrier_arrive(shared_address(&shared.drained[from.stage]));
    }
  }
  if (kStaged && elect_sync()) bulk_wait_group_read<0>();
}

/// All threads of the CTA, or of the cluster, have come here, and see each other's work in Tensor Memory.
__device__ void meet() {
  tcgen05_fence_before_thread_sync();
  if constexpr (kCtas > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  } else {
    __syncthreads();
  }
  tcgen05_fence_after_thread_sync();
}

__global__ void __launch_bounds__(kThreads) gemm(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t warp = threadIdx.x / 32, rank = kCtas > 1 ? cluster_ctarank() : 0;
  const Tiles tiles(args.m, args.n, args.k, args.most);
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), 1);
      mbarrier_init(shared_address(&shared.empty[i]), kClusterM + kClusterN - 1);
    }
    for (uint32_t i = 0; i < kAccumulators; ++i) {
      mbarrier_init(shared_address(&shared.accumulated[i]), 1);
      mbarrier_init(shared_address(&shared.drained[i]), kPair * kEpilogueWarps);
    }
    for (uint32_t i = 0; i < kClaims; ++i) {
      mbarrier_init(shared_address(&shared.claimed[i]), 1);
      // Who reads an answer: the producer and four epilogue warps of each CTA, and whoever multiplies.
      mbarrier_init(shared_address(&shared.released[i]), kCtas * (1 + kEpilogueWarps) + kCtas / kPair);
    }
    fence_mbarrier_init();
  }
  if (warp == 0) {
    tcgen05_alloc<kPair>(shared_address(&shared.accumulators), kColumns);
    tcgen05_relinquish_alloc_permit<kPair>();
  }
  meet();
  const uint32_t accumulators = shared.accumulators;
  if (warp == 0) {
    if (elect_sync()) produce(args, shared, tiles, rank);
  } else if (warp == 1) {
    if ((kPair == 1 || rank == 0) && elect_sync()) multiply(shared, tiles, accumulators, rank);
  } else {
    drain(args, shared, tiles, accumulators, rank);
  }
  // None leaves while others of its cluster may signal its barriers; pairs free together.
  meet();
  if (warp == 0) tcgen05_dealloc<kPair>(accumulators, kColumns);
}

// ---- Host

size_t workspace_bytes(const Problem&) { return 0; }

void launch(const Problem& p) {
  constexpr auto kMapSwizzle = kSpan == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                               : kSpan == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                             : CU_TENSOR_MAP_SWIZZLE_32B;
  constexpr auto kBoxSwizzle = kStoreBytes == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B;
  const Arguments args{
      matrix_map(kInType, sizeof(In), p.a, p.m, p.k, kRows / kClusterN, kSpan / sizeof(In), kMapSwizzle),
      matrix_map(kInType, sizeof(In), p.b, p.n, p.k, kRowsB / kClusterM, kSpan / sizeof(In), kMapSwizzle),
      matrix_map(kOutType, sizeof(Out), p.d, p.m, p.n, kWarpRows, kStoreColumns, kBoxSwizzle),
      p.d,
      p.m,
      p.n,
      p.k,
      p.most,
      scale_maps(p)};
  launch_clusters(gemm, args, kThreads, sizeof(Shared), p);
}
