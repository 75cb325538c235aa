// A GEMM tile's parts for the last exercises, as chapter 13 has them: the problem on the host, one block of K loaded
// and multiplied, and a warp's rows of D stored.
#pragma once
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/elect.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

namespace gemm {

using namespace gen5::ptx;

inline constexpr uint32_t kTileM = 128, kBlockK = 64;
inline constexpr uint32_t kRowBytes = kBlockK * 2, kBoxBytes = 32 * 128;

/// What a kernel is given. Boxes: of A 128 × 64, of B TileN × 64, of D 32 rows × 32 words; all with 128-byte swizzle.
struct Maps {
  CUtensorMap a, b, d;
  uint32_t rows, columns, blocks;  // tiles of D along M and N; blocks of 64 along K
};

/// Fills one stage: loads the block's tiles of A and B, whose bytes `full` counts. One thread; it has expected them.
template <uint32_t TileN>
__device__ void load_block(const Maps& maps, uint32_t a_tile, uint32_t b_tile, uint32_t block, uint32_t row,
                           uint32_t column, uint32_t full) {
  tensor_load_2d(a_tile, &maps.a, block * kBlockK, row * kTileM, full);
  tensor_load_2d(b_tile, &maps.b, block * kBlockK, column * TileN, full);
}
template <uint32_t TileN>
inline constexpr uint32_t kBlockBytes = (kTileM + TileN) * kRowBytes;

/// Multiplies one block: four instructions. One thread. `first`: D is replaced.
template <uint32_t TileN>
__device__ void multiply_block(uint32_t accumulator, uint32_t a_tile, uint32_t b_tile, bool first) {
  constexpr uint32_t kInstruction = gen5::layout::instruction_descriptor({.m = kTileM, .n = TileN});
  for (uint32_t step = 0; step < 4; ++step)
    tcgen05_mma_f16(accumulator, gen5::layout::at_address(tile::kDescriptor, a_tile + 32 * step),
                    gen5::layout::at_address(tile::kDescriptor, b_tile + 32 * step), kInstruction,
                    !(first && step == 0));
}

/// Each of four warps stores 32 rows of a tile: 32 columns at a time through one of two boxes of shared memory at
/// `boxes` (aligned to 1024). When it returns the accumulator has been read; the last stores may be on their way.
template <uint32_t TileN>
__device__ void store_accumulator(const Maps& maps, uint32_t accumulator, uint32_t boxes, uint32_t row,
                                  uint32_t column) {
  const uint32_t lane = threadIdx.x % 32, quarter = threadIdx.x / 32 % 4;
  for (uint32_t n = 0; n < TileN; n += 32) {
    const uint32_t box = boxes + (quarter * 2 + n / 32 % 2) * kBoxBytes;
    uint32_t r[32];
    tcgen05_ld_32x32b(r, accumulator + (quarter * 32 << 16) + n);
    tcgen05_wait_ld();
    if (elect_sync()) bulk_wait_group_read<1>();
    __syncwarp();
    for (uint32_t i = 0; i < 32; i += 4)
      asm volatile("st.shared.v4.b32 [%0], {%1, %2, %3, %4};" ::"r"(
                       gen5::layout::swizzled(gen5::layout::Swizzle::b128, box + lane * 128 + i * 4)),
                   "r"(r[i]), "r"(r[i + 1]), "r"(r[i + 2]), "r"(r[i + 3])
                   : "memory");
    fence_proxy_async_shared();
    __syncwarp();
    if (elect_sync()) {
      tensor_store_2d(&maps.d, column * TileN + n, row * kTileM + quarter * 32, box);
      bulk_commit_group();
    }
  }
}

/// Warp 0 reserves columns; all threads meet behind what thread 0 has initialised. Returns the columns' address.
__device__ inline uint32_t begin(uint32_t* slot, uint32_t columns) {
  if (threadIdx.x < 32) {
    tcgen05_alloc(shared_address(slot), columns);
    tcgen05_relinquish_alloc_permit();
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  return *slot;
}
__device__ inline void end(uint32_t address, uint32_t columns) {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(address, columns);
}

/// Runs kernel(maps) for D[m × n] = A[m × k] · B[n × k]ᵀ on `blocks` blocks of `threads` threads with `bytes` of shared
/// memory, and compares every bit.
template <uint32_t TileN>
void judge(void (*kernel)(Maps), uint32_t m, uint32_t n, uint32_t k, dim3 blocks, uint32_t threads, uint32_t bytes) {
  const auto a = exercise::bf16(size_t(m) * k, 1), b = exercise::bf16(size_t(n) * k, 2);
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(size_t(m) * n);
  d.fill(0xff);
  const auto operand = [&](uint16_t* from, uint32_t rows, uint32_t box) {
    return exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, rows, k, k, box, kBlockK,
                                CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const Maps maps{
      operand(da.get(), m, kTileM),
      operand(db.get(), n, TileN),
      exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, d.get(), m, n, n, 32, 32, CU_TENSOR_MAP_SWIZZLE_128B),
      m / kTileM,
      n / TileN,
      k / kBlockK};
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  kernel<<<blocks, threads, bytes>>>(maps);
  exercise::finish();
  exercise::expect_floats("d", d.download(), exercise::product(a, b, m, n, k), n);
}

}  // namespace gemm
