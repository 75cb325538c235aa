// What the steps of the ladder share: tiles, descriptors, the two products, softmax of a row, and O's way out.
//
//   S = Q·Kᵀ        scores of 128 queries and 128 keys, f32 in Tensor Memory: row by row in its lanes
//   P = 2^(S·c − m) in bf16; m is the largest S·c of the row so far, c = log2(e) / √dim
//   O += P·V        f32 in Tensor Memory, scaled anew when m changes
//
// Row r of a tile is lane r of Tensor Memory, and thread r of a warpgroup reads all of it: maximum and sum of a row
// need no other thread.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>

#include <cmath>

#include "chapters/14_attention/attention.h"
#include "chapters/tensor_kernel.cuh"
#include "common/harness/cuda_check.h"
#include "common/harness/stack_map.h"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/layout/tensor_memory.h"
#include "common/layout/tile.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/bulk_tensor_3d.h"
#include "common/ptx/elect.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_floats.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

namespace attention {

using namespace gen5::ptx;
using tensor_kernel::Ring;
namespace layout = gen5::layout;

constexpr uint32_t kTile = 128;                   // queries of a tile: the lanes of Tensor Memory
constexpr uint32_t kBlock = 128;                  // keys of a block
constexpr uint32_t kRowBytes = 128;               // of a box in shared memory: 64 elements, one row of the swizzle
constexpr uint32_t kBoxBytes = 128 * kRowBytes;   // 128 rows × 64 elements
constexpr uint32_t kInstructionK = 16;            // elements that one tcgen05.mma of kind::f16 is deep
constexpr uint32_t kStoreBytes = 32 * kRowBytes;  // a box of O that one warp stores

/// Bytes of a tile of Q, K, V or O: boxes of 64 elements beside each other.
template <uint32_t Dim>
constexpr uint32_t kTileBytes = Dim / 64 * kBoxBytes;

/// Everything a kernel is given. The maps describe boxes of 128 rows × 64 elements, of O 32 rows.
struct Arguments {
  CUtensorMap q_map, k_map, v_map, o_map;
  uint32_t heads, queries, keys, causal;
  float scale;  // log2(e) / √dim
};

// ---- The two products

/// Q and K: rows of 128 bytes along the head's dimension, which both products' K is. 8 rows are 1,024 bytes.
inline constexpr uint64_t kRows = layout::smem_descriptor({.element = layout::Element::bf16,
                                                           .major = layout::Major::k,
                                                           .swizzle = layout::Swizzle::b128,
                                                           .stride = 8 * kRowBytes});
/// V: the second product sums over keys, and keys are rows. What is contiguous is N: the next 64 of it are a box
/// further.
inline constexpr uint64_t kColumns = layout::smem_descriptor({.element = layout::Element::bf16,
                                                              .major = layout::Major::mn,
                                                              .swizzle = layout::Swizzle::b128,
                                                              .leading = kBoxBytes,
                                                              .stride = 8 * kRowBytes});
inline constexpr uint32_t kScores =
    layout::instruction_descriptor({.m = kTile, .n = kBlock});  // bf16 and f32 are the defaults
template <uint32_t Dim>
inline constexpr uint32_t kValues =
    layout::instruction_descriptor({.m = kTile, .n = Dim, .b_major = layout::Major::mn});

/// From one MMA to the next along a row of 128 bytes, and into the next box.
constexpr uint32_t along_row(uint32_t step) { return step / 4 * kBoxBytes + step % 4 * 2 * kInstructionK; }

/// The same operand `bytes` further: its address is the descriptor's lowest field, in units of 16 bytes. One addition:
/// the thread that multiplies must not be slower than the tensor core.
__device__ inline uint64_t further(uint64_t descriptor, uint32_t bytes) { return descriptor + (bytes >> 4); }

/// S = Q·Kᵀ.
template <uint32_t Dim>
__device__ void multiply_scores(uint32_t scores, const uint8_t* q, const uint8_t* k) {
  const uint64_t from_q = layout::at_address(kRows, shared_address(q)),
                 from_k = layout::at_address(kRows, shared_address(k));
#pragma unroll
  for (uint32_t step = 0; step < Dim / kInstructionK; ++step)
    tcgen05_mma_f16(scores, further(from_q, along_row(step)), further(from_k, along_row(step)), kScores, step > 0);
}

/// O = P·V or O += P·V with P in Tensor Memory: 16 keys are 8 columns of P and 16 rows of V. Steps From to To − 1 of 8.
template <uint32_t Dim, uint32_t From = 0, uint32_t To = kBlock / kInstructionK>
__device__ void multiply_values(uint32_t o, uint32_t p, const uint8_t* v, bool first) {
  const uint64_t from = layout::at_address(kColumns, shared_address(v));
#pragma unroll
  for (uint32_t step = From; step < To; ++step)
    tcgen05_mma_f16_tmem(o, p + step * kInstructionK / 2, further(from, step * kInstructionK * kRowBytes), kValues<Dim>,
                         !(first && step == 0));
}

// ---- Tiles

/// Blocks of keys that the tile of queries from `row` on sees.
__device__ inline uint32_t blocks_of(const Arguments& args, uint32_t row) {
  if (row >= args.queries) return 0;
  const uint32_t all = layout::ceil_div(args.keys, kBlock);
  return args.causal ? min(all, row / kBlock + 1) : all;
}

/// Asks for a tile of Q, or a block of K or V, box by box. The bytes were announced.
template <uint32_t Dim>
__device__ void load_tile(const CUtensorMap* map, uint8_t* to, uint32_t row, uint32_t head, uint64_t& bar) {
#pragma unroll
  for (uint32_t box = 0; box < Dim / 64; ++box)
    tensor_load_3d(shared_address(to) + box * kBoxBytes, map, box * 64, row, head, shared_address(&bar));
}

// ---- Softmax of a row

__device__ inline float exp2_sfu(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
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
  const uint32_t end = args.causal ? min(args.keys, query + 1) : args.keys;
  if (end < first_key + kBlock) {
#pragma unroll
    for (uint32_t i = 0; i < kBlock; ++i)
      if (first_key + i >= end) s[i] = -INFINITY;
  }
}

/// What a row has come to: in the end O is to be divided by `sum`.
struct Softmax {
  float largest = -INFINITY;  // m: the largest S·c so far, or in a lazy softmax at most 8 below it
  float sum = 0;              // of 2^(S·c − m)
};

/// Takes a block's scores into account: returns what O so far and its sum must be multiplied with. Lazy: nothing
/// changes as long as no exponential becomes larger than 2^8.
template <bool Lazy>
__device__ float follow_largest(Softmax& row, const float (&s)[kBlock], float scale) {
  float m[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
#pragma unroll
  for (uint32_t i = 0; i < kBlock; i += 2) m[i / 2 % 4] = max3(m[i / 2 % 4], s[i], s[i + 1]);
  const float largest = max3(m[0], m[1], fmaxf(m[2], m[3])) * scale;
  if (Lazy && largest <= row.largest + 8) return 1;
  const float next = fmaxf(row.largest, largest), factor = exp2_sfu(row.largest - next);
  row.largest = next;
  row.sum *= factor;
  return factor;
}

/// Exponentials of scores First … + 2 · Words − 1 of the row, two to a word as the second product reads them, and their
/// sum. The special-function unit takes 8 cycles for one of a warp: what comes before and behind it for other elements
/// stands in these gaps.
template <uint32_t First, uint32_t Words>
__device__ void exponentials(uint32_t (&p)[Words], Softmax& row, float (&s)[kBlock], float scale) {
  constexpr uint32_t kCount = 2 * Words, kGap = 8;
  float* x = s + First;
  float sum[4] = {0, 0, 0, 0};
#pragma unroll
  for (uint32_t i = 0; i < kCount + 2 * kGap; ++i) {
    if (i < kCount) x[i] = fmaf(x[i], scale, -row.largest);
    if (i >= kGap && i < kCount + kGap) x[i - kGap] = exp2_sfu(x[i - kGap]);
    if (i < 2 * kGap) continue;
    const uint32_t done = i - 2 * kGap;
    sum[done % 4] += x[done];
    if (done % 2 == 0) continue;
    const __nv_bfloat162 pair = __floats2bfloat162_rn(x[done - 1], x[done]);
    p[done / 2] = *reinterpret_cast<const uint32_t*>(&pair);
  }
  row.sum += (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

// ---- O

/// This thread's row of O times `factor`, in Tensor Memory.
template <uint32_t Dim>
__device__ void rescale(uint32_t o, float factor) {
#pragma unroll
  for (uint32_t column = 0; column < Dim; column += 32) {
    float part[32];
    tcgen05_ld_32_floats(part, o + column);
    tcgen05_wait_ld();
#pragma unroll
    for (float& x : part) x *= factor;
    tcgen05_st_32_floats(o + column, part);
  }
  tcgen05_wait_st();
}

/// Writes 16 bytes of shared memory.
__device__ inline void store_shared(uint32_t address, const uint32_t* words) {
  asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(words[0]), "r"(words[1]), "r"(words[2]),
               "r"(words[3])
               : "memory");
}

/// One warp's 32 rows of O, times `factor`, through shared memory to the rows from `row` on of global memory. `boxes`:
/// the tile's; this warp uses rows `rows` … + 31 of each. When this returns they may still be on their way.
template <uint32_t Dim>
__device__ void store_output(const Arguments& args, uint32_t o, float factor, uint8_t* boxes, uint32_t rows,
                             uint32_t row, uint32_t head) {
  const uint32_t mine = shared_address(boxes) + rows * kRowBytes, lane = threadIdx.x % 32;
  if (elect_sync()) bulk_wait_group_read<0>();  // the boxes' last contents
  __syncwarp();
#pragma unroll
  for (uint32_t column = 0; column < Dim; column += 32) {
    float part[32];
    uint32_t halves[16];
    tcgen05_ld_32_floats(part, o + column);
    tcgen05_wait_ld();
#pragma unroll
    for (uint32_t i = 0; i < 16; ++i) {
      const __nv_bfloat162 pair = __floats2bfloat162_rn(part[2 * i] * factor, part[2 * i + 1] * factor);
      halves[i] = *reinterpret_cast<const uint32_t*>(&pair);
    }
#pragma unroll
    for (uint32_t chunk = 0; chunk < 4; ++chunk)
      store_shared(layout::swizzled(layout::Swizzle::b128,
                                    mine + column / 64 * kBoxBytes + lane * kRowBytes + column % 64 * 2 + chunk * 16),
                   &halves[4 * chunk]);
  }
  fence_proxy_async_shared();
  __syncwarp();
  if (elect_sync()) {
#pragma unroll
    for (uint32_t box = 0; box < Dim / 64; ++box)
      tensor_store_3d(&args.o_map, box * 64, row, head, mine + box * kBoxBytes);
    bulk_commit_group();
  }
}

// ---- Host

/// Calls f.operator()<Dim>() for the problem's dimension.
template <class F>
void for_dim(const Problem& p, F&& f) {
  if (p.dim == 64)
    f.template operator()<64>();
  else if (p.dim == 128)
    f.template operator()<128>();
  else
    throw std::invalid_argument("heads have 64 or 128 dimensions");
}

inline Arguments make_arguments(const Problem& p) {
  const auto map = [&](uint16_t* data, uint32_t rows, uint32_t box_rows) {
    return gen5::harness::stack_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, data, p.heads, rows, p.dim, box_rows, 64,
                                    CU_TENSOR_MAP_SWIZZLE_128B);
  };
  return {map(p.q, p.queries, kTile),
          map(p.k, p.keys, kBlock),
          map(p.v, p.keys, kBlock),
          map(p.o, p.queries, 32),
          p.heads,
          p.queries,
          p.keys,
          p.causal,
          float(1 / (std::sqrt(double(p.dim)) * std::log(2.0)))};
}

/// One CTA for each tile of queries of each head.
inline dim3 grid_of_tiles(const Problem& p) { return dim3(layout::ceil_div(p.queries, kTile), p.heads); }

/// Launches `kernel` with `bytes` of shared memory.
inline void launch_with(void (*kernel)(Arguments), dim3 grid, uint32_t threads, uint32_t bytes, const Problem& p) {
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes)));
  kernel<<<grid, threads, bytes>>>(make_arguments(p));
  GEN5_CUDA(cudaGetLastError());
}

}  // namespace attention
