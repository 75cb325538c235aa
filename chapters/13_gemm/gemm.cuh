// What the steps of the ladder share: the problem, the tile, the descriptors, and the epilogue's way out.
//
//   D[m × n] = A[m × k] · B[n × k]ᵀ      A, B: bf16 or f16, k contiguous (K-major)     D: f32 or bf16, n contiguous
//
// One CTA computes tiles of 128 × kTileN, from the last step on two one of 256. It walks K in blocks of 64 elements:
// 128 bytes, one row of the 128-byte swizzle.
#pragma once
#include <cuda.h>
#include <cuda_bf16.h>

#include "chapters/13_gemm/gemm.h"
#include "chapters/tensor_kernel.cuh"
#include "common/harness/cuda_check.h"
#include "common/harness/stamps.h"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/layout/tensor_memory.h"
#include "common/layout/tile.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/elect.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

namespace gemm {

using namespace gen5::ptx;
using gen5::harness::Moment;
using gen5::harness::Stamps;
using tensor_kernel::Ring;
namespace layout = gen5::layout;

constexpr uint32_t kTileM = 128;
constexpr uint32_t kBlockK = 64;             // elements: 128 bytes
constexpr uint32_t kInstructionK = 16;       // elements that one tcgen05.mma of kind::f16 is deep
constexpr uint32_t kRowBytes = kBlockK * 2;  // of a tile of A or B in shared memory
constexpr uint32_t kStoreBytes = 32 * 128;   // a box of D that one warp stores: 32 rows of 128 bytes

/// Everything a kernel is given. The maps describe boxes: A 128 × 64, B kTileN × 64, D 32 rows × 128 bytes.
struct Arguments {
  CUtensorMap a_map, b_map, d_map;
  const uint16_t *a, *b;  // for the step that loads without TMA
  void* d;
  uint32_t m, n, k;
  uint64_t* stamps;  // where a stamped kernel writes its timeline
};

/// A tile of A or B as TMA leaves it: rows of 128 bytes, one below the other, 128-byte swizzle. Groups of 8 rows are
/// 8 · 128 bytes apart; the leading dimension's offset is not read in this layout.
template <layout::Element In>
inline constexpr uint64_t kOperand = layout::smem_descriptor(
    {.element = In, .major = layout::Major::k, .swizzle = layout::Swizzle::b128, .stride = 8 * kRowBytes});

template <layout::Element In, uint32_t TileN>
inline constexpr uint32_t kInstruction = layout::instruction_descriptor({.a = In, .b = In, .m = kTileM, .n = TileN});

/// Multiplies one block of K: four instructions, each 32 bytes further along the swizzled rows.
template <layout::Element In, uint32_t TileN>
__device__ void multiply_block(uint32_t accumulator, uint32_t a_tile, uint32_t b_tile, bool first) {
#pragma unroll
  for (uint32_t step = 0; step < kBlockK / kInstructionK; ++step) {
    const uint32_t along_k = step * kInstructionK * 2;
    tcgen05_mma_f16(accumulator, layout::at_address(kOperand<In>, a_tile + along_k),
                    layout::at_address(kOperand<In>, b_tile + along_k), kInstruction<In, TileN>, !(first && step == 0));
  }
}

/// How a kernel begins, once thread 0 has made its barriers: warp 0 allocates `columns` of Tensor Memory, all meet.
__device__ inline uint32_t begin_cta(uint32_t* slot, uint32_t columns) {
  if (threadIdx.x / 32 == 0) {
    tcgen05_alloc(shared_address(slot), columns);
    tcgen05_relinquish_alloc_permit();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  return *slot;
}

/// And how it ends.
__device__ inline void end_cta(uint32_t accumulator, uint32_t columns) {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x / 32 == 0) tcgen05_dealloc(accumulator, columns);
}

/// One output row segment of 128 bytes, as 32 words, from accumulator words.
template <class Out>
struct Row {
  static constexpr uint32_t kColumns = 128 / sizeof(Out);
  uint32_t word[32];

  /// Loads this warp's 32 lanes × kColumns columns at Tensor Memory address `from` and converts.
  __device__ void load(uint32_t from) {
    if constexpr (sizeof(Out) == 4) {
      tcgen05_ld_32x32b(word, from);
      tcgen05_wait_ld();
    } else {
      uint32_t r[64];
      tcgen05_ld_32x32b(r, from);
      tcgen05_wait_ld();
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        const __nv_bfloat162 pair = __floats2bfloat162_rn(__uint_as_float(r[2 * i]), __uint_as_float(r[2 * i + 1]));
        word[i] = *reinterpret_cast<const uint32_t*>(&pair);
      }
    }
  }

  /// Writes it as row `lane` of the box at shared address `box`, swizzled as the map of D says.
  __device__ void to_shared(uint32_t box, uint32_t lane) const {
#pragma unroll
    for (uint32_t chunk = 0; chunk < 8; ++chunk) {
      const uint32_t address = layout::swizzled(layout::Swizzle::b128, box + lane * 128 + chunk * 16);
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(word[4 * chunk]),
                   "r"(word[4 * chunk + 1]), "r"(word[4 * chunk + 2]), "r"(word[4 * chunk + 3])
                   : "memory");
    }
  }
};

/// One warp's share of the epilogue: 32 rows × TileN columns, from Tensor Memory through two boxes of shared memory to
/// global memory by TMA. `accumulator` names the warp's first lane. `row`, `column`: of the first element in D.
/// When this returns the accumulator has been read; the boxes may still be on their way.
template <class Out, uint32_t TileN>
__device__ void store_tile(const CUtensorMap* d_map, uint32_t accumulator, uint32_t boxes, uint32_t row,
                           uint32_t column) {
  const uint32_t lane = threadIdx.x % 32;
#pragma unroll 1
  for (uint32_t c = 0; c < TileN; c += Row<Out>::kColumns) {
    const uint32_t box = boxes + (c / Row<Out>::kColumns % 2) * kStoreBytes;
    Row<Out> r;
    r.load(accumulator + c);
    // The store before the last one has read this box.
    if (elect_sync()) bulk_wait_group_read<1>();
    __syncwarp();
    r.to_shared(box, lane);
    fence_proxy_async_shared();
    __syncwarp();
    if (elect_sync()) {
      tensor_store_2d(d_map, column + c, row, box);
      bulk_commit_group();
    }
  }
}

// ---- Host

/// Calls f.operator()<In, Out, kStamped>() for the problem's types, with stamps if there is a buffer for them.
template <class F>
void for_types(const Problem& p, F&& f) {
  using layout::Element;
  const auto with = [&]<Element In, class Out>() {
    if (p.stamps)
      f.template operator()<In, Out, true>();
    else
      f.template operator()<In, Out, false>();
  };
  const bool f16 = p.in == gen5::harness::Format::f16, narrow = p.out == gen5::harness::Output::bf16;
  if (f16 && narrow) with.template operator()<Element::f16, __nv_bfloat16>();
  if (f16 && !narrow) with.template operator()<Element::f16, float>();
  if (!f16 && narrow) with.template operator()<Element::bf16, __nv_bfloat16>();
  if (!f16 && !narrow) with.template operator()<Element::bf16, float>();
}

/// D in boxes of 32 rows of 128 bytes, as store_tile stores them.
inline CUtensorMap output_map(const Problem& p) {
  const bool narrow = p.out == gen5::harness::Output::bf16;
  const auto type = narrow ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  const uint32_t bytes = narrow ? 2 : 4;
  return gen5::harness::matrix_map(type, bytes, p.d, p.m, p.n, p.n, 32, 128 / bytes, CU_TENSOR_MAP_SWIZZLE_128B);
}

/// The kernels' arguments: tensor maps for boxes of 128 rows of A and `b_rows` of B.
inline Arguments make_arguments(const Problem& p, uint32_t b_rows) {
  const auto in =
      p.in == gen5::harness::Format::f16 ? CU_TENSOR_MAP_DATA_TYPE_FLOAT16 : CU_TENSOR_MAP_DATA_TYPE_BFLOAT16;
  const auto swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
  return {gen5::harness::matrix_map(in, 2, p.a, p.m, p.k, p.k, kTileM, kBlockK, swizzle),
          gen5::harness::matrix_map(in, 2, p.b, p.n, p.k, p.k, b_rows, kBlockK, swizzle),
          output_map(p),
          static_cast<const uint16_t*>(p.a),
          static_cast<const uint16_t*>(p.b),
          p.d,
          p.m,
          p.n,
          p.k,
          p.stamps};
}

/// One CTA for each tile of 128 × tile_n.
inline dim3 grid_of_tiles(const Problem& p, uint32_t tile_n) {
  return dim3(layout::ceil_div(p.n, tile_n), layout::ceil_div(p.m, kTileM));
}

}  // namespace gemm
