// How a wgmma finds its operands in pages, and where a thread has its numbers of D.
#pragma once
#include "common/ptx/address.h"
#include "common/ptx/wgmma.h"

namespace megakernel::kernels {

using namespace gen5::ptx;

/// Rows of 128 bytes, 128-byte swizzle, groups of 8 rows 1,024 bytes apart. Hopper's descriptor has its swizzle code in
/// bits 63:62 and nothing in 48:46 (PTX ISA 9.7.15.5.1).
__device__ inline uint64_t operand_at(const void* shared) {
  return uint64_t((shared_address(shared) & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 |
         uint64_t(1) << 62;
}

/// Row and sequence (or token) of number i of an accumulator.
__device__ inline uint32_t row_of(uint32_t i) { return threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4 + i / 2 % 2 * 8; }
__device__ inline uint32_t sequence_of(uint32_t i) { return i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2; }

}  // namespace megakernel::kernels
