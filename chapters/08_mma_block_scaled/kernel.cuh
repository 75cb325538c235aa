// One kernel for all block-scaled products of the chapter: a tile of 128 × N over any K that fits, its scales brought
// by tcgen05.cp.
#pragma once
#include "common/layout/scaled_instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_cp.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma_scaled.h"

namespace scaled {

using namespace gen5::ptx;
using gen5::layout::at_address;
using gen5::layout::block_of;
using gen5::layout::depth_of;
using gen5::layout::Element;
using gen5::layout::kScaleChunk;
using gen5::layout::Major;
using gen5::layout::scale_offset;
using gen5::layout::ScaledKind;
using gen5::layout::smem_descriptor;
using gen5::layout::Swizzle;
using gen5::layout::with_scales;

constexpr uint32_t kM = 128;
constexpr uint32_t kStepBytes = 32;         // of K, of one instruction, in every kind
constexpr uint32_t kAtA = 256, kAtB = 384;  // columns of the scales; D is in 0 to N − 1
constexpr uint32_t kColumnsOfChunk = 4;

/// A tile of `rows` × 32·steps bytes: 16-byte columns of K behind each other, without swizzle (chapter 05).
__device__ inline void store_plain(uint8_t* tile, const uint8_t* from, uint32_t rows, uint32_t row_bytes) {
  for (uint32_t i = threadIdx.x; i < rows * row_bytes; i += blockDim.x)
    tile[i % row_bytes / 16 * rows * 16 + i / row_bytes * 16 + i % 16] = from[i];
}
__device__ inline uint64_t plain(uint32_t rows, uint32_t address) {
  constexpr uint64_t base = smem_descriptor(
      {.element = Element::e4m3, .major = Major::k, .swizzle = Swizzle::none, .leading = 0, .stride = 128});
  return at_address(base | uint64_t(rows * 16 >> 4) << 16, address);
}
/// 32 rows of 16 bytes below each other.
inline constexpr uint64_t kChunkSource = smem_descriptor(
    {.element = Element::e4m3, .major = Major::k, .swizzle = Swizzle::none, .leading = 16, .stride = 128});

/// What a launch is given. a: 128 rows, b: n rows, of `steps` · 32 bytes. Chunks of 512 bytes of scales: `chunks` along
/// K, each for 128 rows of A; for B two behind each other where N is above 128.
struct Problem {
  const uint8_t *a, *b, *a_scales, *b_scales;
  uint32_t n, steps, chunks;
};

/// Chunks of B's scales for the same four along K.
__host__ __device__ constexpr uint32_t across(uint32_t n) { return (n + 127) / 128; }

inline uint32_t shared_bytes(uint32_t n, uint32_t steps, uint32_t chunks) {
  return (kM + n) * steps * kStepBytes + (1 + across(n)) * chunks * kScaleChunk;
}

// 128 threads. d: 128 × n words.
template <ScaledKind kKind>
__global__ void product(Problem p, uint32_t idesc, uint32_t* d) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), 512);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  uint8_t* tile_a = shared;
  uint8_t* tile_b = tile_a + kM * p.steps * kStepBytes;
  uint8_t* scales_a = tile_b + p.n * p.steps * kStepBytes;
  uint8_t* scales_b = scales_a + p.chunks * kScaleChunk;
  store_plain(tile_a, p.a, kM, p.steps * kStepBytes);
  store_plain(tile_b, p.b, p.n, p.steps * kStepBytes);
  const uint32_t chunks_b = p.chunks * across(p.n);
  for (uint32_t i = threadIdx.x; i < p.chunks * kScaleChunk; i += blockDim.x) scales_a[i] = p.a_scales[i];
  for (uint32_t i = threadIdx.x; i < chunks_b * kScaleChunk; i += blockDim.x) scales_b[i] = p.b_scales[i];
  fence_proxy_async_shared();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t address = slot;
  if (threadIdx.x == 0) {
    // A chunk's 32 rows go to all four quarters: each multiplies with its own copy.
    for (uint32_t c = 0; c < p.chunks; ++c)
      tcgen05_cp<CpShape::r32x128b_warpx4>(address + kAtA + c * kColumnsOfChunk,
                                           at_address(kChunkSource, shared_address(scales_a) + c * kScaleChunk));
    for (uint32_t c = 0; c < chunks_b; ++c)
      tcgen05_cp<CpShape::r32x128b_warpx4>(address + kAtB + c * kColumnsOfChunk,
                                           at_address(kChunkSource, shared_address(scales_b) + c * kScaleChunk));
    constexpr uint32_t kScales = depth_of(kKind) / block_of(kKind);  // of a row, for one instruction: 1, 2 or 4
    for (uint32_t step = 0; step < p.steps; ++step) {
      // Four scales to a chunk: which chunk, and from which byte of its cells on.
      const uint32_t chunk = step * kScales / 4 * kColumnsOfChunk, id = step * kScales % 4;
      const uint64_t a = plain(kM, shared_address(tile_a) + step * 2 * kM * 16);
      const uint64_t b = plain(p.n, shared_address(tile_b) + step * 2 * p.n * 16);
      const uint32_t instruction = with_scales(idesc, id, id), sfa = address + kAtA + chunk,
                     sfb = address + kAtB + chunk * across(p.n);
      if constexpr (kKind == ScaledKind::mxf8f6f4) tcgen05_mma_mxf8f6f4(address, a, b, instruction, sfa, sfb, step > 0);
      if constexpr (kKind == ScaledKind::mxf4) tcgen05_mma_mxf4(address, a, b, instruction, sfa, sfb, step > 0);
      if constexpr (kKind == ScaledKind::mxf4nvf4) tcgen05_mma_mxf4nvf4(address, a, b, instruction, sfa, sfb, step > 0);
    }
    tcgen05_commit(shared_address(&barrier));
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  for (uint32_t n = 0; n < p.n; n += 8) {
    uint32_t r[8];
    tcgen05_ld_32x32b(r, address + n + (threadIdx.x / 32 << 21));
    tcgen05_wait_ld();
    for (uint32_t i = 0; i < 8; ++i) d[threadIdx.x * p.n + n + i] = r[i];
  }
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(address, 512);
}

}  // namespace scaled
