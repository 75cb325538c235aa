// A tile of 128 queries, 64 to each of two consumer warpgroups, and one producer thread.
//
// A warpgroup overlaps with itself: it asks for the scores of the next block, then for O += P·V of this one, and while
// the second is under way makes exponentials of the first. Nothing makes the two warpgroups take turns: named barriers
// that did so cost up to 5 % on an H200 (notes/14_attention.md).
//
// Blocks are walked from the last to the first, so that only the first of them has masked keys: behind it no test is
// made.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>

#include "chapters/14_attention/hopper/hopper.h"
#include "chapters/tensor_kernel.cuh"
#include "common/layout/swizzle.h"
#include "common/layout/tile.h"
#include "common/ptx/barrier.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/bulk_tensor_3d.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/stmatrix.h"
#include "common/ptx/wgmma.h"
#include "common/ptx/wgmma_registers.h"

namespace attention::hopper {

using namespace gen5::ptx;
using tensor_kernel::Ring;
namespace layout = gen5::layout;

constexpr uint32_t kTile = 128;   // queries of a CTA
constexpr uint32_t kBand = 64;    // and of a warpgroup
constexpr uint32_t kBlock = 128;  // keys
constexpr uint32_t kRowBytes = 128;
constexpr uint32_t kStages = 4;
constexpr uint32_t kThreads = 384;  // a producer warpgroup and two consumers
constexpr uint32_t kGroups = 2;
constexpr float kSlack = 8;  // O is rescaled where an exponential would become larger than 2^8

/// Bytes of `rows` rows of a head: boxes of 64 elements beside each other.
template <uint32_t Dim>
constexpr uint32_t bytes_of(uint32_t rows) {
  return rows * Dim * 2;
}

template <uint32_t Dim>
struct alignas(1024) Shared {
  uint8_t q[bytes_of<Dim>(kTile)];
  uint8_t ring[kStages][bytes_of<Dim>(kBlock)];
  uint8_t boxes[kGroups][bytes_of<Dim>(kBand)];
  uint64_t q_full, q_empty, full[kStages], empty[kStages];
};

struct Arguments {
  CUtensorMap q_map, k_map, v_map, o_map;  // boxes of 128 rows × 64 elements, of O 64 × 64
  uint32_t heads, queries, keys, causal;
  uint32_t section;  // heads whose keys and values stay in the L2 cache together
  float scale;       // log2(e) / √dim
};

/// One tile: its head, its first query, and how many blocks of keys it sees.
struct Tile {
  uint32_t head, row, blocks;
  /// The `index`-th: the last queries of a head see most keys, so they come first, of all heads of a section.
  __device__ Tile(const Arguments& args, uint32_t index) {
    const uint32_t of_a_head = layout::ceil_div(args.queries, kTile), of_a_section = of_a_head * args.section;
    const uint32_t first = index / of_a_section * args.section, inside = index % of_a_section;
    const uint32_t heads = min(args.section, args.heads - first);
    head = first + inside % heads;
    row = (of_a_head - 1 - inside / heads) * kTile;
    blocks = layout::ceil_div(args.keys, kBlock);
    if (args.causal) blocks = min(blocks, row / kBlock + 1);
  }
  __device__ static uint32_t count(const Arguments& args) { return layout::ceil_div(args.queries, kTile) * args.heads; }
};

/// Q and K: rows of 128 bytes along the head's dimension, groups of 8 rows 1,024 bytes apart. Hopper's descriptor has
/// its swizzle code in bits 63:62 and nothing in 48:46 (PTX ISA 9.7.15.5.1).
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

/// The producer: one thread. The order is the one in which consumers need them: K of the last block; then K of a block
/// and V of the one behind it; V of the first block.
template <uint32_t Dim>
__device__ void produce(const Arguments& args, Shared<Dim>& shared) {
  Ring<kStages> to;
  uint32_t parity = 1;
  const auto load = [&](const CUtensorMap* map, uint8_t* at, uint32_t row, uint32_t head, uint64_t& bar) {
    mbarrier_arrive_expect_tx(shared_address(&bar), bytes_of<Dim>(128));
#pragma unroll
    for (uint32_t box = 0; box < Dim / 64; ++box)
      tensor_load_3d(shared_address(at) + box * 128 * kRowBytes, map, int(box * 64), int(row), int(head),
                     shared_address(&bar));
  };
  const auto next = [&](const CUtensorMap* map, uint32_t block, uint32_t head) {
    mbarrier_wait_parity(shared_address(&shared.empty[to.stage]), to.parity ^ 1);
    load(map, shared.ring[to.stage], block * kBlock, head, shared.full[to.stage]);
    to.advance();
  };
  for (uint32_t i = blockIdx.x; i < Tile::count(args); i += gridDim.x) {
    const Tile tile(args, i);
    mbarrier_wait_parity(shared_address(&shared.q_empty), parity);
    parity ^= 1;
    load(&args.q_map, shared.q, tile.row, tile.head, shared.q_full);
    next(&args.k_map, tile.blocks - 1, tile.head);
    for (uint32_t block = tile.blocks - 1; block > 0; --block) {
      next(&args.k_map, block - 1, tile.head);
      next(&args.v_map, block, tile.head);
    }
    next(&args.v_map, 0, tile.head);
  }
}

__device__ inline float exp2_sfu(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// A thread's two rows: 16 (t / 32) + t % 32 / 4 of its band, and the one 8 further. Four threads share a row.
struct Softmax {
  float largest[2] = {-INFINITY, -INFINITY};  // of S·c, at most kSlack below it
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
    factor[h] = exp2_sfu(rows.largest[h] - next);
    rows.largest[h] = next;
    float sum[2] = {0, 0};
#pragma unroll
    for (uint32_t j = 0; j < kBlock / 8; ++j)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i) {
        float& x = s[4 * j + 2 * h + i];
        x = exp2_sfu(fmaf(x, scale, -next));
        sum[i] += x;
      }
    rows.sum[h] = rows.sum[h] * factor[h] + (sum[0] + sum[1]);
  }
}

/// P: an accumulator's words are, two by two, those of A.
__device__ inline void pack(uint32_t (&p)[kBlock / 16][4], const float (&s)[kBlock / 2]) {
#pragma unroll
  for (uint32_t i = 0; i < kBlock / 4; ++i) {
    const __nv_bfloat162 pair = __floats2bfloat162_rn(s[2 * i], s[2 * i + 1]);
    p[i / 4][i % 4] = *reinterpret_cast<const uint32_t*>(&pair);
  }
}

/// The compiler may not read or move these before the wait that stands ahead.
template <int N>
__device__ void pin(float (&d)[N]) {
#pragma unroll
  for (float& x : d) wgmma_pin(x);
}

/// S = Q·Kᵀ: asked for, as a group.
template <uint32_t Dim>
__device__ void multiply_scores(float (&s)[kBlock / 2], uint64_t q, uint64_t k) {
#pragma unroll
  for (uint32_t step = 0; step < Dim / 16; ++step) {
    const uint32_t along = step / 4 * 128 * kRowBytes + step % 4 * 32;
    wgmma_m64k16<int(kBlock), WgmmaType::bf16>(s, advanced(q, along), advanced(k, along), step > 0);
  }
  wgmma_commit_group();
}

/// O += P·V: likewise.
template <uint32_t Dim>
__device__ void multiply_values(float (&o)[Dim / 2], const uint32_t (&p)[kBlock / 16][4], uint64_t v, bool first) {
#pragma unroll
  for (uint32_t step = 0; step < kBlock / 16; ++step)
    wgmma_m64k16_registers<int(Dim)>(o, p[step], advanced(v, step * 16 * kRowBytes), !(first && step == 0));
  wgmma_commit_group();
}

/// Scores of keys that a row does not see become −∞.
__device__ inline void mask(float (&s)[kBlock / 2], const Arguments& args, uint32_t row, uint32_t first_key) {
  const uint32_t column = first_key + 2 * (threadIdx.x % 4);
#pragma unroll
  for (uint32_t h = 0; h < 2; ++h) {
    const uint32_t end = args.causal ? min(args.keys, row + 8 * h + 1) : args.keys;
#pragma unroll
    for (uint32_t j = 0; j < kBlock / 8; ++j)
#pragma unroll
      for (uint32_t i = 0; i < 2; ++i)
        if (column + 8 * j + i >= end) s[4 * j + 2 * h + i] = -INFINITY;
  }
}

/// A warpgroup's 64 rows of O through shared memory to global memory.
template <uint32_t Dim>
__device__ void store_band(const Arguments& args, uint8_t* boxes, const float (&o)[Dim / 2], const float (&factor)[2],
                           uint32_t row, uint32_t head, uint32_t barrier) {
  const uint32_t thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  const uint32_t in_band = warp * 16 + lane % 16, staging = shared_address(boxes);
  if (thread == 0) bulk_wait_group_read<0>();  // the last tile's
  bar_sync(barrier, 128);
#pragma unroll
  for (uint32_t j = 0; j < Dim / 8; j += 2) {
    uint32_t word[4];
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) {
      const uint32_t r = j * 4 + 2 * i;
      const __nv_bfloat162 pair = __floats2bfloat162_rn(o[r] * factor[i % 2], o[r + 1] * factor[i % 2]);
      word[i] = *reinterpret_cast<const uint32_t*>(&pair);
    }
    const uint32_t chunk = j + lane / 16, box = chunk / 8;
    stmatrix_x4(layout::swizzled(layout::Swizzle::b128,
                                 staging + box * kBand * kRowBytes + in_band * kRowBytes + chunk % 8 * 16),
                word[0], word[1], word[2], word[3]);
  }
  fence_proxy_async_shared();
  bar_sync(barrier, 128);
  if (thread == 0) {
#pragma unroll
    for (uint32_t box = 0; box < Dim / 64; ++box)
      tensor_store_3d(&args.o_map, int(box * 64), int(row), int(head), staging + box * kBand * kRowBytes);
    bulk_commit_group();
  }
}

/// A consumer warpgroup: 0 or 1.
template <uint32_t Dim>
__device__ void consume(const Arguments& args, Shared<Dim>& shared, uint32_t group) {
  const uint32_t thread = threadIdx.x % 128, band = thread / 32 * 16 + thread % 32 / 4;
  const uint64_t q = rows_at(shared.q + group * kBand * kRowBytes);
  const uint64_t keys = rows_at(shared.ring[0]), values = columns_at(shared.ring[0]);
  const auto release = [&](uint64_t& bar) {
    if (thread == 0) mbarrier_arrive(shared_address(&bar));
  };
  Ring<kStages> at;
  const auto landed = [&] { mbarrier_wait_parity(shared_address(&shared.full[at.stage]), at.parity); };
  uint32_t parity = 0;
  for (uint32_t i = blockIdx.x; i < Tile::count(args); i += gridDim.x) {
    const Tile tile(args, i);
    float s[kBlock / 2], o[Dim / 2], factor[2];
    uint32_t p[kBlock / 16][4];
    Softmax rows;

    mbarrier_wait_parity(shared_address(&shared.q_full), parity);
    parity ^= 1;
    landed();
    wgmma_fence();
    multiply_scores<Dim>(s, q, advanced(keys, at.stage * bytes_of<Dim>(kBlock)));
    wgmma_wait_group<0>();
    pin(s);
    release(shared.empty[at.stage]);
    at.advance();
    if (tile.blocks == 1) release(shared.q_empty);
    const uint32_t last = tile.blocks - 1;
    if ((last + 1) * kBlock > args.keys || (args.causal && (last + 1) * kBlock > tile.row))
      mask(s, args, tile.row + group * kBand + band, last * kBlock);
    exponentials(s, rows, factor, args.scale);
    pack(p, s);

    for (uint32_t block = last; block > 0; --block) {
      landed();
      const uint32_t k_stage = at.stage;
      wgmma_fence();
      multiply_scores<Dim>(s, q, advanced(keys, k_stage * bytes_of<Dim>(kBlock)));
      at.advance();
      landed();
      const uint32_t v_stage = at.stage;
      at.advance();
      multiply_values<Dim>(o, p, advanced(values, v_stage * bytes_of<Dim>(kBlock)), block == last);
      wgmma_wait_group<1>();
      pin(s);
      release(shared.empty[k_stage]);
      if (block == 1) release(shared.q_empty);
      exponentials(s, rows, factor, args.scale);
      wgmma_wait_group<0>();
      pin(o);
      release(shared.empty[v_stage]);
      pack(p, s);
      if (__any_sync(0xffffffff, factor[0] != 1 || factor[1] != 1)) {
#pragma unroll
        for (uint32_t r = 0; r < Dim / 2; ++r) o[r] *= factor[r / 2 % 2];
      }
    }
    landed();
    wgmma_fence();
    multiply_values<Dim>(o, p, advanced(values, at.stage * bytes_of<Dim>(kBlock)), last == 0);
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
    store_band<Dim>(args, shared.boxes[group], o, factor, tile.row + group * kBand, tile.head, 2 + group);
  }
  if (thread == 0) bulk_wait_group_read<0>();
}

template <uint32_t Dim>
__global__ void __launch_bounds__(kThreads, 1) twin(const __grid_constant__ Arguments args) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared<Dim>*>(memory);
  // From lane 0, so that the compiler knows it to be the same in the whole warp and keeps what follows from it in
  // uniform registers, where wgmma's descriptors have to be.
  const uint32_t warpgroup = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.q_full), 1);
    mbarrier_init(shared_address(&shared.q_empty), kGroups);
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&shared.full[i]), 1);
      mbarrier_init(shared_address(&shared.empty[i]), kGroups);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (warpgroup == 0) {
    setmaxnreg_dec<24>();
    if (threadIdx.x == 0) produce<Dim>(args, shared);
  } else {
    setmaxnreg_inc<240>();
    consume<Dim>(args, shared, warpgroup - 1);
  }
}

}  // namespace attention::hopper
