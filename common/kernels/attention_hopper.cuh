// Roles of a CTA (wgmma): one producer thread, which fills a ring with keys and values, and kConsumers warpgroups with
// 64 queries each.
//
//   S = Q·Kᵀ        scores of 64 queries and kBlock keys, f32, in registers
//   P = 2^(S·c − m) in bf16, in registers: A of the second product; m follows the row's largest S·c
//   O += P·V        f32, in registers, scaled anew when m changes
//
// kAhead: a warpgroup overlaps with itself. It asks for the scores of the next block, then for O += P·V of this one,
// and while the second is under way makes exponentials of the first. Else it does one after the other, and warpgroups
// overlap with each other alone.
//
// Blocks are walked from the last to the first, so that only the first ones have masked keys: behind them no test is
// made.

constexpr uint32_t kBand = 64;  // queries of a warpgroup
constexpr uint32_t kThreads = 128 * (1 + kConsumers);
static_assert(!kOverQueries || kSchedule == Schedule::serial, "the next piece's queries go where O would be");

struct alignas(1024) Shared {
  uint8_t q[bytes_of(kQueries)];
  uint8_t ring[kStages][bytes_of(kBlock)];
  uint8_t boxes[kConsumers][kOverQueries ? 1024 : bytes_of(kBand)];
  uint64_t q_full, q_empty, full[kStages], empty[kStages];
};

/// Rows of 128 bytes along the head's dimension, groups of 8 rows 1,024 bytes apart. Hopper's descriptor has its
/// swizzle code in bits 63:62 and nothing in 48:46 (PTX ISA 9.7.15.5.1).
__device__ inline uint64_t rows_at(const void* shared) {
  return uint64_t((shared_address(shared) & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 |
         uint64_t(1) << 62;
}
/// V: its N is contiguous; the next 64 elements are a box further, the next 8 keys 1,024 bytes.
__device__ inline uint64_t columns_at(const void* shared) {
  return uint64_t((shared_address(shared) & 0x3ffff) >> 4) | uint64_t(kBlock * kRowBytes >> 4) << 16 |
         uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
/// The same operand `bytes` further.
__device__ inline uint64_t advanced(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

/// The producer: one thread. The order is the one in which consumers need them.
__device__ void produce(const Arguments& args, Shared& shared) {
  Ring to;
  uint32_t parity = 1;
  const auto next = [&](const CUtensorMap* map, uint32_t block, uint32_t head) {
    mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
    mbarrier_arrive_expect_tx(shared_address(&shared.full[to.stage]), bytes_of(kBlock));
    load_rows(map, shared.ring[to.stage], kBlock, block * kBlock, head, shared.full[to.stage]);
    to.advance();
  };
  for (uint32_t i = blockIdx.x; i < args.count; i += gridDim.x) {
    const Piece piece(args, i);
    const uint32_t blocks = blocks_of(args, piece.row, kQueries);
    mbarrier_wait_parity(shared_address(&shared.q_empty), parity);
    parity ^= 1;
    mbarrier_arrive_expect_tx(shared_address(&shared.q_full), bytes_of(kQueries));
    load_rows(&args.q_map, shared.q, kQueries, piece.row, piece.head, shared.q_full);
    next(&args.k_map, blocks - 1, piece.head);
    for (uint32_t block = blocks - 1; block > 0; --block) {
      if (kAhead) next(&args.k_map, block - 1, piece.head);
      next(&args.v_map, block, piece.head);
      if (!kAhead) next(&args.k_map, block - 1, piece.head);
    }
    next(&args.v_map, 0, piece.head);
  }
}

/// A thread's two rows: 16 (t / 32) + t % 32 / 4 of its band, and the one 8 further. Four threads share a row.
struct Softmax {
  float largest[2] = {-INFINITY, -INFINITY};  // m
  float sum[2] = {0, 0};                      // of this thread's exponentials alone
};

/// Makes exponentials of scores, in place. factor: what O so far is to be multiplied with.
__device__ inline void exponentials(float (&s)[kBlock / 2], Softmax& rows, float (&factor)[2], float scale) {
#pragma unroll
  for (uint32_t h = 0; h < 2; ++h) {
    float m[2] = {s[2 * h], s[2 * h + 1]};
#pragma unroll
    for (uint32_t j = 1; j < kBlock / 8; ++j) {
      m[0] = fmaxf(m[0], s[4 * j + 2 * h]);
      m[1] = fmaxf(m[1], s[4 * j + 2 * h + 1]);
    }
    float largest = fmaxf(m[0], m[1]);
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 1));
    largest = fmaxf(largest, __shfl_xor_sync(0xffffffff, largest, 2));
    const float most = largest * scale, next = most > rows.largest[h] + kSlack ? most : rows.largest[h];
    // Where masks hide all keys so far, m is still −∞.
    factor[h] = rows.largest[h] == next ? 1 : exp2_sfu(rows.largest[h] - next);
    rows.largest[h] = next;
    const float from = kCausal && next == -INFINITY ? 0 : next;
    float sum[2] = {0, 0};
#pragma unroll
    for (uint32_t j = 0; j < kBlock / 8; ++j)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        float& x = s[4 * j + 2 * h + i];
        x = exp2_sfu(fmaf(x, scale, -from));
        sum[i] += x;
      }
    rows.sum[h] = rows.sum[h] * factor[h] + (sum[0] + sum[1]);
  }
}

/// P: an accumulator's words are, two by two, those of A.
__device__ inline void pack(uint32_t (&p)[kBlock / 16][4], const float (&s)[kBlock / 2]) {
#pragma unroll
  for (uint32_t i = 0; i < kBlock / 4; ++i) p[i / 4][i % 4] = narrow_pair(s[2 * i], s[2 * i + 1]);
}

/// The compiler may not read or move these before the wait that stands ahead.
template <int N>
__device__ void pin(float (&d)[N]) {
#pragma unroll
  for (float& x : d) wgmma_pin(x);
}

/// S = Q·Kᵀ: asked for, as a group.
__device__ inline void multiply_scores(float (&s)[kBlock / 2], uint64_t q, uint64_t k) {
#pragma unroll
  for (uint32_t step = 0; step < kDim / 16; ++step)
    wgmma_m64k16<int(kBlock), WgmmaType::bf16>(s, advanced(q, step / 4 * kQueries * kRowBytes + step % 4 * 32),
                                               advanced(k, step / 4 * kBlock * kRowBytes + step % 4 * 32), step > 0);
  wgmma_commit_group();
}

/// O += P·V: likewise.
__device__ inline void multiply_values(float (&o)[kDim / 2], const uint32_t (&p)[kBlock / 16][4], uint64_t v,
                                       bool first) {
#pragma unroll
  for (uint32_t step = 0; step < kBlock / 16; ++step)
    wgmma_m64k16_registers<int(kDim)>(o, p[step], advanced(v, step * 16 * kRowBytes), !(first && step == 0));
  wgmma_commit_group();
}

/// Scores of keys that a row does not see become −∞.
__device__ inline void mask(float (&s)[kBlock / 2], const Arguments& args, uint32_t row, uint32_t first_key) {
  const uint32_t column = first_key + 2 * (threadIdx.x % 4);
#pragma unroll
  for (uint32_t h = 0; h < 2; ++h) {
    const uint32_t end = kCausal ? min(args.keys, row + 8 * h + 1) : args.keys;
#pragma unroll
    for (uint32_t j = 0; j < kBlock / 8; ++j)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i)
        if (column + 8 * j + i >= end) s[4 * j + 2 * h + i] = -INFINITY;
  }
}

/// A warpgroup's 64 rows of O through shared memory to global memory. `boxes`: of 64 elements, `pitch` bytes apart.
__device__ void store_band(const Arguments& args, uint32_t boxes, uint32_t pitch, const float (&o)[kDim / 2],
                           const float (&factor)[2], uint32_t row, uint32_t head, uint32_t barrier) {
  const uint32_t thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32, in_band = warp * 16 + lane % 16;
  if (thread == 0) bulk_wait_group_read<0>();  // the last piece's
  bar_sync(barrier, 128);
#pragma unroll
  for (uint32_t j = 0; j < kDim / 8; j += 2) {
    uint32_t word[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t r = j * 4 + 2 * i;
      word[i] = narrow_pair(o[r] * factor[i % 2], o[r + 1] * factor[i % 2]);
    }
    const uint32_t chunk = j + lane / 16, box = chunk / 8;
    stmatrix_x4(layout::swizzled(layout::Swizzle::b128, boxes + box * pitch + in_band * kRowBytes + chunk % 8 * 16),
                word[0], word[1], word[2], word[3]);
  }
  fence_proxy_async_shared();
  bar_sync(barrier, 128);
  if (thread == 0) {
#pragma unroll
    for (uint32_t box = 0; box < kDim / 64; ++box)
      tensor_store_3d(&args.o_map, int(box * 64), int(row), int(head), boxes + box * pitch);
    bulk_commit_group();
  }
}

/// A consumer warpgroup.
__device__ void consume(const Arguments& args, Shared& shared, uint32_t group) {
  const uint32_t thread = threadIdx.x % 128, band = thread / 32 * 16 + thread % 32 / 4;
  const uint64_t q = rows_at(shared.q + group * kBand * kRowBytes);
  const uint64_t keys = rows_at(shared.ring[0]), values = columns_at(shared.ring[0]);
  const auto release = [&](uint64_t& bar) {
    if (thread == 0) mbarrier_arrive(shared_address(&bar));
  };
  Ring at;
  const auto landed = [&] { mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity); };
  uint32_t parity = 0;
  for (uint32_t i = blockIdx.x; i < args.count; i += gridDim.x) {
    const Piece piece(args, i);
    const uint32_t last = blocks_of(args, piece.row, kQueries) - 1, row = piece.row + group * kBand;
    float s[kBlock / 2], o[kDim / 2], factor[2] = {1, 1};
    uint32_t p[kBlock / 16][4];
    Softmax rows;
    // Of a block whose last key a row does not see.
    const auto hide = [&](uint32_t block) {
      const uint32_t end = (block + 1) * kBlock;
      if (end > args.keys || (kCausal && end > piece.row)) mask(s, args, row + band, block * kBlock);
    };
    const auto rescale = [&] {
      if (!kLazy || __any_sync(0xffffffff, factor[0] != 1 || factor[1] != 1)) {
#pragma unroll
        for (uint32_t r = 0; r < kDim / 2; ++r) o[r] *= factor[r / 2 % 2];
      }
    };

    mbarrier_wait_parity(shared_address(&shared.q_full), parity);
    parity ^= 1;
    landed();
    wgmma_fence();
    multiply_scores(s, q, advanced(keys, at.stage * bytes_of(kBlock)));
    wgmma_wait_group<0>();
    pin(s);
    release(shared.empty[at.stage]);
    at.advance();
    if (last == 0) release(shared.q_empty);
    hide(last);
    exponentials(s, rows, factor, args.scale);
    pack(p, s);

    for (uint32_t block = last; block > 0; --block) {
      if constexpr (kAhead) {
        landed();
        const uint32_t k_stage = at.stage;
        wgmma_fence();
        multiply_scores(s, q, advanced(keys, k_stage * bytes_of(kBlock)));
        at.advance();
        landed();
        const uint32_t v_stage = at.stage;
        at.advance();
        multiply_values(o, p, advanced(values, v_stage * bytes_of(kBlock)), block == last);
        wgmma_wait_group<1>();
        pin(s);
        release(shared.empty[k_stage]);
        if (block == 1) release(shared.q_empty);
        if constexpr (kCausal) hide(block - 1);
        exponentials(s, rows, factor, args.scale);
        wgmma_wait_group<0>();
        pin(o);
        release(shared.empty[v_stage]);
      } else {
        landed();
        wgmma_fence();
        multiply_values(o, p, advanced(values, at.stage * bytes_of(kBlock)), block == last);
        wgmma_wait_group<0>();
        pin(o);
        release(shared.empty[at.stage]);
        at.advance();
        landed();
        wgmma_fence();
        multiply_scores(s, q, advanced(keys, at.stage * bytes_of(kBlock)));
        wgmma_wait_group<0>();
        pin(s);
        release(shared.empty[at.stage]);
        at.advance();
        if (block == 1) release(shared.q_empty);
        if constexpr (kCausal) hide(block - 1);
        exponentials(s, rows, factor, args.scale);
      }
      pack(p, s);
      rescale();
    }
    landed();
    wgmma_fence();
    multiply_values(o, p, advanced(values, at.stage * bytes_of(kBlock)), last == 0);
#pragma unroll
    for (uint32_t h = 0; h < 2; ++h) {
      float sum = rows.sum[h];
      sum += __shfl_xor_sync(0xffffffff, sum, 1);
      sum += __shfl_xor_sync(0xffffffff, sum, 2);
      factor[h] = 1 / sum;
    }
    wgmma_wait_group<0>();
    pin(o);
    release(shared.empty[at.stage]);
    at.advance();
    const uint32_t boxes =
        kOverQueries ? shared_address(shared.q) + group * kBand * kRowBytes : shared_address(shared.boxes[group]);
    store_band(args, boxes, (kOverQueries ? kQueries : kBand) * kRowBytes, o, factor, row, piece.head, 2 + group);
  }
  if (thread == 0) bulk_wait_group_read<0>();
}

__global__ void __launch_bounds__(kThreads, 1) attention(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  // From lane 0, so that the compiler knows it to be the same in the whole warp and keeps what follows from it in
  // uniform registers, where wgmma's descriptors have to be.
  const uint32_t warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.q_full), 1);
    mbarrier_init(shared_address(&shared.q_empty), kConsumers);
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), 1);
      mbarrier_init(shared_address(&shared.empty[i]), kConsumers);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  // The consumers take the producers' registers.
  if (warpgroup == 0) {
    if constexpr (kConsumers == 2) setmaxnreg_dec<24>();
    if constexpr (kConsumers == 3) setmaxnreg_dec<32>();
    if (threadIdx.x == 0) produce(args, shared);
  } else {
    if constexpr (kConsumers == 2) setmaxnreg_inc<240>();
    if constexpr (kConsumers == 3) setmaxnreg_inc<160>();
    consume(args, shared, warpgroup - 1);
  }
}

// ---- Host

void launch(const Problem& p) { launch_pieces(attention, kThreads, sizeof(Shared), p, kQueries, kBand); }
