// Metadata of sparse operands in a warp's registers: mma.sp.sync (PTX ISA 9.7.14.6.1) and wgmma.mma_async.sp
// (9.7.15.6).
#pragma once
#include <cstdint>

namespace tinygpu {

/// Elements of A that a row has at most in the registers of one instruction.
inline constexpr uint32_t kMostSparse = 64;

/// For 16 rows of A, which element of the row (0 … K−1) each element is that A's registers hold, in their order.
/// `words`: the metadata register's 32 lanes; `selector`: the thread or pair of threads of each quad whose word counts;
/// `bits`: of an element; `k`: the instruction's K. Of 16- and 8-bit elements two of four are there, of 32-bit ones one
/// of two, of 4-bit ones two pairs of four.
void sparse_places(const uint32_t* words, uint32_t selector, uint32_t bits, uint32_t k, uint8_t (*place)[kMostSparse]);

/// Of 32-bit elements: which half (0 … 2K−1) of the row's elements is the lower half of what A's element i meets,
/// half[row][2 i], and which the upper one. The two codes that have a meaning name halves of one element; with any
/// other an H200 multiplies with halves of two, or with one half twice.
void sparse_halves(const uint32_t* words, uint32_t selector, uint32_t k, uint8_t (*half)[kMostSparse]);

}  // namespace tinygpu
