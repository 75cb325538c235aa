// Small tiles for exercises with tcgen05.mma, as chapter 05 lays them out: 64 elements of 16 bits to a row, 128-byte
// swizzle; and a result's way out.
#pragma once
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/tcgen05_ld_st.h"

namespace tile {

inline constexpr uint32_t kDepth = 64;  // elements along K of a tile

/// The block's threads store `rows` × 64 elements, row by row in global memory, as the tensor core reads them with the
/// descriptor below. `to` is aligned to 1024 bytes.
__device__ inline void fill(uint16_t* to, const uint16_t* from, uint32_t rows) {
  for (uint32_t i = threadIdx.x; i < rows * kDepth; i += blockDim.x) {
    const uint32_t row = i / kDepth, k_byte = i % kDepth * 2;
    to[gen5::layout::k_major_offset(gen5::layout::Swizzle::b128, rows, row, k_byte) / 2] = from[i];
  }
}

/// All but the start address of such a tile's matrix descriptor: groups of 8 rows are 1024 bytes apart.
inline constexpr uint64_t kDescriptor = gen5::layout::smem_descriptor({.stride = 1024});

/// Warps 0 to 3: row t of the accumulator's `Columns` columns at `address` to d, for thread t. Waits for its loads.
template <uint32_t Columns>
__device__ void read_out(uint32_t* d, uint32_t address) {
  for (uint32_t n = 0; n < Columns; n += 16) {
    uint32_t r[16];
    gen5::ptx::tcgen05_ld_32x32b(r, address + (threadIdx.x / 32 % 4 << 21) + n);
    gen5::ptx::tcgen05_wait_ld();
    for (uint32_t i = 0; i < 16; ++i) d[threadIdx.x % 128 * Columns + n + i] = r[i];
  }
}

}  // namespace tile
