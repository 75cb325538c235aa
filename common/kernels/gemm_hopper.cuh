// A warpgroup of producers and one to three of consumers (wgmma). They meet at two barriers for each stage of a ring:
// `full` counts the bytes that TMA has brought, `empty` the consumers that have read the stage.
//
//   cooperative   the consumers share a tile: each has kRows / kGroups of its rows
//   ping-pong     two consumers take tiles in turn: one stores while the other multiplies
//
// Parts of K that meet (kMeets) do so in L2: CTAs that have parts of one tile leave each other their sums there. Each
// adds up the columns that are its own, and stores them.
//
// The CTAs of a cluster share what they load: those of one row of tiles the block of A, those of one column the block
// of B. Each loads its part and multicasts it to the others, so a stage is empty when all who receive it have read it.

constexpr uint32_t kGroupsOfTile = kPingPong ? 1 : kGroups;  // that share a tile
constexpr uint32_t kBands = kRows / kGroupsOfTile / 64;      // of 64 rows, one wgmma each, of a consumer
constexpr uint32_t kThreads = 128 * (1 + kGroups);

// What a consumer stages of D: boxes of 64 rows × 128 bytes, all of a band at once or two by turns.
constexpr uint32_t kBoxColumns = 128 / sizeof(Out), kBoxBytes = 64 * 128;
constexpr uint32_t kBoxes = kTileN < kBoxColumns ? 1 : kTileN / kBoxColumns;  // of a band
constexpr uint32_t kBoxesAtOnce = kEpilogue == Epilogue::tma_whole ? kBoxes : 1;
constexpr bool kByThreads = kEpilogue == Epilogue::direct || kEpilogue == Epilogue::wide;
constexpr uint32_t kStaging = kByThreads ? 0 : kEpilogue == Epilogue::tma_whole ? kBoxes : 2;
static_assert(kByThreads || kTileN % kBoxColumns == 0, "the boxes of D fill the tile");
static_assert(kRows % (64 * kGroupsOfTile) == 0 && (!kPingPong || kGroups == 2));

// Parts of K that meet: columns that a part adds up and stores, and a thread's pieces of four of them, in a band.
constexpr uint32_t kOwnColumns = kMeets ? kTileN / kSplit : kTileN, kPieces = kOwnColumns / 8;
constexpr uint32_t kOwnBoxes = kOwnColumns < kBoxColumns ? 1 : kOwnColumns / kBoxColumns;
static_assert(!kMeets || kSchedule == Schedule::persistent, "parts that wait for each other are on the chip at once");
static_assert(!kMeets || (kByThreads && kOwnColumns % 8 == 0) ||
                  (kEpilogue == Epilogue::tma && kOwnColumns % kBoxColumns == 0),
              "the columns of a part are whole boxes, or groups of eight that threads store");
static_assert(kEpilogue != Epilogue::wide || (sizeof(Out) == 2 && kPieces % 4 == 0),
              "four threads exchange 16-bit results of four groups of columns");
static_assert(!kSkips || kCtas == 1, "the CTAs of a cluster load whole parts for each other");

struct alignas(1024) Shared {
  uint8_t a[kStages][kRows * kBlockBytes];
  uint8_t b[kStages][kTileN * kBlockBytes];
  uint8_t boxes[kGroups][kStaging ? kStaging * kBoxBytes : 16];
  uint64_t full[kStages], empty[kStages];
};

struct Arguments {
  CUtensorMap a_map, b_map, d_map;
  Out* d;
  uint32_t m, n, k, most;
  uint32_t* counters;  // of parts that meet: one for each consumer of a tile of a CTA
  float4* sums;
};

/// Descriptor of a K-major operand as TMA leaves it: rows of kSpan bytes, swizzled; eight rows to the next group. Bits
/// 63:62 have the swizzle (PTX ISA 9.7.15.5.1).
__device__ uint64_t operand(uint32_t address) {
  constexpr uint64_t kSwizzle = kSpan == 128 ? 1 : kSpan == 64 ? 2 : 3;
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(8 * kSpan >> 4) << 32 | kSwizzle << 62;
}
__device__ uint64_t advanced(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

/// Rows of a box of a matrix that has `extent`. Rows that it does not have TMA would fill with zeros, and slowly.
__host__ __device__ constexpr uint32_t box_rows(uint32_t rows, uint32_t extent) {
  return kSkips && extent < rows ? extent : rows;
}

/// Zeros to the rows of all stages from `from` on, which no load may fill.
template <uint32_t Rows>
__device__ void clear(uint8_t (&stages)[kStages][Rows * kBlockBytes], uint32_t from) {
  constexpr uint32_t kSpans = kStages * (kBlockBytes / kSpan), kChunks = kSpan / 16;
  const uint32_t each = (Rows - from) * kChunks;
  for (uint32_t i = threadIdx.x; i < kSpans * each; i += kThreads)
    *reinterpret_cast<uint4*>(stages[0] + (i / each * Rows + from) * kSpan + i % each * 16) = make_uint4(0, 0, 0, 0);
}

/// One thread fills the ring, tile after tile.
__device__ void produce(const Arguments& args, Shared& shared, const Tiles& tiles) {
  constexpr uint32_t kPartA = kRows / kClusterN, kPartB = kTileN / kClusterM;  // rows that this CTA loads
  const uint32_t rank = cluster_ctarank(), in_m = rank % kClusterM, in_n = rank / kClusterM;
  uint16_t same_m = 0, same_n = 0;  // CTAs that share this one's A, and its B
  for (uint32_t i = 0; i < kClusterN; ++i) same_m |= uint16_t(1 << (i * kClusterM + in_m));
  for (uint32_t i = 0; i < kClusterM; ++i) same_n |= uint16_t(1 << (in_n * kClusterM + i));
  const uint32_t bytes = (box_rows(kRows, args.m) + box_rows(kTileN, args.n)) * kBlockBytes;
  Ring<kStages> to;
  for (uint32_t t = tiles.first(), end = tiles.end(); t < end; t += tiles.stride()) {
    const Tile tile = tiles[t];
    const uint32_t row = tile.row + in_m * kRows, column = tile.column + in_n * kTileN;
    for (uint32_t block = tile.first_block; block < tile.last_block; ++block, to.advance()) {
      const uint32_t full = shared_address(&shared.full[to.stage]);
      mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
      mbarrier_arrive_expect_tx(full, bytes);
#pragma unroll
      for (uint32_t span = 0; span < kBlockBytes / kSpan; ++span) {
        const int k = int((block * kBlockBytes + span * kSpan) / sizeof(In));
        const uint32_t a = shared_address(shared.a[to.stage]) + span * kRows * kSpan + in_n * kPartA * kSpan;
        const uint32_t b = shared_address(shared.b[to.stage]) + span * kTileN * kSpan + in_m * kPartB * kSpan;
        if constexpr (kClusterN > 1)
          tensor_load_2d_multicast(a, &args.a_map, k, int(row + in_n * kPartA), full, same_m);
        else
          tensor_load_2d(a, &args.a_map, k, int(row), full);
        if constexpr (kClusterM > 1)
          tensor_load_2d_multicast(b, &args.b_map, k, int(column + in_m * kPartB), full, same_n);
        else
          tensor_load_2d(b, &args.b_map, k, int(column), full);
      }
    }
  }
}

/// Columns `column` and `column` + 1 of a row of D from registers, or added to it where they are of a part of K.
__device__ void store_pair(const Arguments& args, uint32_t row, uint32_t column, float x, float y, bool whole) {
  if (row >= args.m || column >= args.n) return;
  Out* to = args.d + size_t(row) * args.n + column;
  if (kAdds && !whole) {
    atomicAdd(reinterpret_cast<float*>(to), x);
    atomicAdd(reinterpret_cast<float*>(to) + 1, y);
  } else if constexpr (sizeof(Out) == 4) {
    *reinterpret_cast<float2*>(to) = make_float2(x, y);
  } else {
    *reinterpret_cast<uint32_t*>(to) = narrow_pair(x, y);
  }
}

/// The words of four groups of columns, of which each of four threads has one: thread q of them gets those of group q.
__device__ __forceinline__ void gather_group(uint32_t (&word)[4]) {
  const bool odd = threadIdx.x & 1, high = threadIdx.x & 2;
#pragma unroll
  for (uint32_t i = 0; i < 4; i += 2) {
    const uint32_t got = __shfl_xor_sync(0xffffffff, odd ? word[i] : word[i + 1], 1);
    (odd ? word[i] : word[i + 1]) = got;
  }
#pragma unroll
  for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t got = __shfl_xor_sync(0xffffffff, high ? word[i] : word[i + 2], 2);
    (high ? word[i] : word[i + 2]) = got;
  }
}

/// 64 rows of D of one consumer, of them columns `own` to `own` + kOwnColumns. Thread t of it holds in d[4j + 2h + i]
/// row 16 (t / 32) + t % 32 / 4 + 8 h, column 8 j + 2 (t % 4) + i. `stored`: boxes staged so far; `barrier`: this
/// consumer's own.
__device__ __forceinline__ void store_band(const Arguments& args, uint32_t staging, const float (&d)[kTileN / 2],
                                           uint32_t own, uint32_t row, uint32_t column, bool whole, uint32_t& stored,
                                           uint32_t barrier) {
  const uint32_t thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  if constexpr (kEpilogue == Epilogue::wide) {
    // Four threads have 64 bytes of a row: each collects 16 of them.
#pragma unroll
    for (uint32_t piece = 0; piece < kPieces; piece += 4) {
      const uint32_t j = own / 8 + piece;
#pragma unroll
      for (uint32_t h = 0; h < 2; ++h) {
        uint32_t word[4];
#pragma unroll
        for (uint32_t i = 0; i < 4; ++i) word[i] = narrow_pair(d[4 * (j + i) + 2 * h], d[4 * (j + i) + 2 * h + 1]);
        gather_group(word);
        const uint32_t r = row + warp * 16 + lane / 4 + 8 * h, c = column + 8 * (j + lane % 4);
        if (r < args.m && c < args.n)
          *reinterpret_cast<uint4*>(args.d + size_t(r) * args.n + c) = make_uint4(word[0], word[1], word[2], word[3]);
      }
    }
  } else if constexpr (kEpilogue == Epilogue::direct) {
    const uint32_t first = row + warp * 16 + lane / 4;
#pragma unroll
    for (uint32_t piece = 0; piece < kPieces; ++piece) {
      const uint32_t j = own / 8 + piece;
      store_pair(args, first, column + 8 * j + lane % 4 * 2, d[4 * j], d[4 * j + 1], whole);
      store_pair(args, first + 8, column + 8 * j + lane % 4 * 2, d[4 * j + 2], d[4 * j + 3], whole);
    }
  } else {
#pragma unroll
    for (uint32_t own_box = 0; own_box < kOwnBoxes; own_box += kBoxesAtOnce, ++stored) {
      const uint32_t c = own / kBoxColumns + own_box;
      const uint32_t boxes = staging + (kBoxesAtOnce == 1 && kStaging == 2 ? stored % 2 * kBoxBytes : 0);
      // The store that last read this buffer is done with it.
      if (thread == 0) bulk_wait_group_read<kBoxesAtOnce == 1 && kStaging == 2 ? 1 : 0>();
      bar_sync(barrier, 128);
#pragma unroll
      for (uint32_t box = 0; box < kBoxesAtOnce; ++box) {
        const uint32_t to = boxes + box * kBoxBytes;
        if constexpr (sizeof(Out) == 2) {
          const uint32_t in_band = warp * 16 + lane % 16;
#pragma unroll
          for (uint32_t j = 0; j < 8; j += 2) {
            uint32_t word[4];
#pragma unroll
            for (uint32_t i = 0; i < 4; ++i) {
              const uint32_t r = ((c + box) * 8 + j) * 4 + 2 * i;
              word[i] = narrow_pair(d[r], d[r + 1]);
            }
            stmatrix_x4(to + in_band * 128 + (((j + lane / 16) ^ (in_band % 8)) * 16), word[0], word[1], word[2],
                        word[3]);
          }
        } else {
#pragma unroll
          for (uint32_t j = 0; j < 4; ++j)
#pragma unroll
            for (uint32_t h = 0; h < 2; ++h) {
              const uint32_t r = ((c + box) * 4 + j) * 4 + 2 * h, in_band = warp * 16 + lane / 4 + 8 * h;
              const uint32_t chunk = 2 * j + lane % 4 / 2;
              asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(to + in_band * 128 + (chunk ^ (in_band % 8)) * 16 +
                                                                    lane % 2 * 8),
                           "f"(d[r]), "f"(d[r + 1])
                           : "memory");
            }
        }
      }
      fence_proxy_async_shared();
      bar_sync(barrier, 128);
      if (thread == 0) {
#pragma unroll
        for (uint32_t box = 0; box < kBoxesAtOnce; ++box) {
          const int x = int(column + (c + box) * kBoxColumns);
          if (kAdds && !whole)
            tensor_reduce_add_2d(&args.d_map, x, int(row), boxes + box * kBoxBytes);
          else
            tensor_store_2d(&args.d_map, x, int(row), boxes + box * kBoxBytes);
        }
        bulk_commit_group();
      }
    }
  }
}

/// Adds to the columns of part `part` what the others have of them. `slot`: of the consumer and its tile.
__device__ __forceinline__ void meet(const Arguments& args, float (&d)[kBands][kTileN / 2], uint32_t slot,
                                     uint32_t part, uint32_t barrier) {
  const uint32_t thread = threadIdx.x % 128;
  // What one part leaves for another: a piece of all threads, then the next.
  const auto left = [&](uint32_t from, uint32_t to) {
    return args.sums + size_t((slot * kSplit + from) * kSplit + to) * (kBands * kPieces * 128) + thread;
  };
#pragma unroll
  for (uint32_t to = 0; to < kSplit; ++to) {
    if (to == part) continue;
#pragma unroll
    for (uint32_t i = 0; i < kBands * kPieces; ++i) {
      const float* sums = d[i / kPieces] + 4 * (to * kPieces + i % kPieces);
      __stcg(left(part, to) + i * 128, make_float4(sums[0], sums[1], sums[2], sums[3]));
    }
  }
  bar_sync(barrier, 128);
  uint32_t* counter = args.counters + slot;
  if (thread == 0) {
    counter_raise(counter);
    while (counter_read(counter) < kSplit) {
    }
  }
  bar_sync(barrier, 128);
#pragma unroll
  for (uint32_t own = 0; own < kSplit; ++own) {
    if (own != part) continue;
#pragma unroll
    for (uint32_t other = 1; other < kSplit; ++other)
#pragma unroll
      for (uint32_t i = 0; i < kBands * kPieces; ++i) {
        const float4 sums = __ldcg(left((part + other) % kSplit, part) + i * 128);
        float* to = d[i / kPieces] + 4 * (own * kPieces + i % kPieces);
        to[0] += sums.x;
        to[1] += sums.y;
        to[2] += sums.z;
        to[3] += sums.w;
      }
  }
  // Whoever is the last to have read leaves a zero to the next launch.
  bar_sync(barrier, 128);
  if (thread == 0 && counter_meet(counter) == 2 * kSplit - 1) *counter = 0;
}

/// 32 bytes of K.
__device__ inline void multiply_step(float (&d)[kTileN / 2], uint64_t a, uint64_t b, bool accumulate) {
  if constexpr (sizeof(In) == 1)
    wgmma_m64k32<int(kTileN), kType>(d, a, b, accumulate);
  else
    wgmma_m64k16<int(kTileN), kType>(d, a, b, accumulate);
}

/// A consumer: warpgroup `group` of kGroups.
__device__ void consume(const Arguments& args, Shared& shared, const Tiles& tiles, uint32_t group) {
  const uint32_t thread = threadIdx.x % 128, rank = cluster_ctarank(), in_m = rank % kClusterM, in_n = rank / kClusterM;
  const uint32_t first_row = kPingPong ? 0 : group * kBands * 64;
  const uint64_t a = operand(shared_address(shared.a[0]) + first_row * kSpan), b = operand(shared_address(shared.b[0]));
  const uint32_t staging = shared_address(shared.boxes[group]);
  // Every CTA that this one's stage is loaded by hears that it has been read: those in its row and in its column.
  const bool tells = thread < kClusterM * kClusterN && (thread % kClusterM == in_m || thread / kClusterM == in_n);
  const auto release = [&](uint32_t stage) {
    if (!tells) return;
    if constexpr (kClusterM * kClusterN > 1)
      mbarrier_arrive_remote(mapa(shared_address(&shared.empty[stage]), thread));
    else
      mbarrier_arrive(shared_address(&shared.empty[stage]));
  };
  Ring<kStages> at;
  uint32_t stored = 0, t = tiles.first();
  const uint32_t stride = tiles.stride(), end = tiles.end();
  if (kPingPong && group == 1) {  // the other consumer's tile comes first
    if (t < end) at.skip(tiles[t].blocks());
    t += stride;
  }
  for (; t < end; t += kPingPong ? 2 * stride : stride) {
    const Tile tile = tiles[t];
    float d[kBands][kTileN / 2];
    if (kPingPong) bar_sync(4 + group, 256);  // my turn on the tensor core
    uint32_t previous = 0;
    for (uint32_t block = tile.first_block; block < tile.last_block; ++block) {
      mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity);
      wgmma_fence();
#pragma unroll
      for (uint32_t step = 0; step < kBlockBytes / 32; ++step) {
        const uint32_t span = step * 32 / kSpan, within = step * 32 % kSpan;
        const uint64_t b_step = advanced(b, at.stage * kTileN * kBlockBytes + span * kTileN * kSpan + within);
        const uint64_t a_step = advanced(a, at.stage * kRows * kBlockBytes + span * kRows * kSpan + within);
#pragma unroll
        for (uint32_t band = 0; band < kBands; ++band)
          multiply_step(d[band], advanced(a_step, band * 64 * kSpan), b_step,
                        !(block == tile.first_block && step == 0));
      }
      wgmma_commit_group();
      // One block stays in flight; the one before it has been read.
      wgmma_wait_group<1>();
      if (block > tile.first_block) release(previous);
      previous = at.stage;
      at.advance();
    }
    if (kPingPong) {
      bar_arrive(4 + (group ^ 1), 256);
      if (t + stride < end) at.skip(tiles[t + stride].blocks());
    }
    wgmma_wait_group<0>();
    release(previous);
    const auto store = [&](uint32_t own) {
#pragma unroll
      for (uint32_t band = 0; band < kBands; ++band)
        store_band(args, staging, d[band], own, tile.row + in_m * kRows + first_row + band * 64,
                   tile.column + in_n * kTileN, tile.whole, stored, 1 + group);
    };
    if constexpr (kMeets) {
      const uint32_t part = t % kSplit, slot = (t / kSplit * kCtas + rank) * kGroupsOfTile + (kPingPong ? 0 : group);
      meet(args, d, slot, part, 1 + group);
#pragma unroll
      for (uint32_t own = 0; own < kSplit; ++own)
        if (own == part) store(own * kOwnColumns);
    } else {
      store(0);
    }
  }
  if (!kByThreads && thread == 0) bulk_wait_group_read<0>();
}

__global__ void __launch_bounds__(kThreads, 1) gemm(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  // From lane 0, so that the compiler knows it to be the same in the whole warp.
  const uint32_t warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  const Tiles tiles(args.m, args.n, args.k, args.most);
  if (threadIdx.x == 0) {
    prefetch_tensormap(&args.a_map);
    prefetch_tensormap(&args.b_map);
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), 1);
      mbarrier_init(shared_address(&shared.empty[i]), kGroupsOfTile * (kClusterM + kClusterN - 1));
    }
    fence_mbarrier_init();
  }
  if constexpr (kSkips) {
    clear<kRows>(shared.a, box_rows(kRows, args.m));
    clear<kTileN>(shared.b, box_rows(kTileN, args.n));
    fence_proxy_async_shared();
  }
  __syncthreads();
  if constexpr (kCtas > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
  // The consumers take the producers' registers.
  if (warpgroup == 0) {
    if constexpr (kGroups == 2) setmaxnreg_dec<40>();
    if constexpr (kGroups == 3) setmaxnreg_dec<32>();
    if (threadIdx.x == 0) produce(args, shared, tiles);
  } else {
    if constexpr (kGroups == 2) setmaxnreg_inc<232>();
    if constexpr (kGroups == 3) setmaxnreg_inc<160>();
    if (kPingPong && warpgroup == 2) bar_arrive(4, 256);  // the first turn is consumer 0's
    consume(args, shared, tiles, warpgroup - 1);
  }
  // The others of the cluster may still multicast into this CTA or arrive on its barriers.
  __syncthreads();
  if constexpr (kCtas > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
}

// ---- Host

/// Where the counters end and the sums begin.
size_t counter_bytes(const Problem& p) {
  const Tiles tiles(p.m, p.n, p.k, 0);
  return layout::ceil_div(tiles.rows * tiles.columns * kCtas * kGroupsOfTile * sizeof(uint32_t), 256) * 256;
}
size_t workspace_bytes(const Problem& p) {
  if (!kMeets) return 0;
  const Tiles tiles(p.m, p.n, p.k, 0);
  return counter_bytes(p) + size_t(tiles.count) * kCtas * kRows * kTileN * sizeof(float);
}

void launch(const Problem& p) {
  constexpr auto kSwizzle = kSpan == 128  ? CU_TENSOR_MAP_SWIZZLE_128B
                            : kSpan == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                          : CU_TENSOR_MAP_SWIZZLE_32B;
  const Arguments args{
      matrix_map(kInType, sizeof(In), p.a, p.m, p.k, box_rows(kRows / kClusterN, p.m), kSpan / sizeof(In), kSwizzle),
      matrix_map(kInType, sizeof(In), p.b, p.n, p.k, box_rows(kTileN / kClusterM, p.n), kSpan / sizeof(In), kSwizzle),
      matrix_map(kOutType, sizeof(Out), p.d, p.m, p.n, 64, kBoxColumns, CU_TENSOR_MAP_SWIZZLE_128B),
      p.d,
      p.m,
      p.n,
      p.k,
      p.most,
      static_cast<uint32_t*>(p.workspace),
      reinterpret_cast<float4*>(static_cast<uint8_t*>(p.workspace) + (kMeets ? counter_bytes(p) : 0))};
  launch_clusters(gemm, args, kThreads, sizeof(Shared), p);
}
