// How every kernel of chapter 06 begins and ends, and how its threads lay operands into shared memory.
#pragma once
#include "chapters/tensor_kernel.cuh"
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"

namespace operands {

using namespace gen5::ptx;
using gen5::layout::Accumulator;
using gen5::layout::at_address;
using gen5::layout::Element;
using gen5::layout::instruction_descriptor;
using gen5::layout::Kind;
using gen5::layout::Major;
using gen5::layout::smem_descriptor;
using gen5::layout::Swizzle;
using tensor_kernel::begin;
using tensor_kernel::end;
using tensor_kernel::ready;
using tensor_kernel::wait;

constexpr uint32_t kThreads = 128;  // one for each lane of Tensor Memory

/// This thread's warp's lanes.
__device__ inline uint32_t quarter() { return threadIdx.x / 32 << 21; }

/// Lays rows × depth elements, row-major in global memory, into a K-major tile without swizzle (chapter 05): 16-byte
/// columns of K behind each other, the rows of each below each other.
template <class Word>
__device__ void store_plain(Word* tile, const Word* from, uint32_t rows, uint32_t depth) {
  constexpr uint32_t kPiece = 16 / sizeof(Word);
  for (uint32_t i = threadIdx.x; i < rows * depth; i += blockDim.x) {
    const uint32_t row = i / depth, k = i % depth;
    tile[k / kPiece * rows * kPiece + row * kPiece + k % kPiece] = from[i];
  }
}

/// Its descriptor.
template <Element kElement, uint32_t kRows>
inline constexpr uint64_t kPlain = smem_descriptor(
    {.element = kElement, .major = Major::k, .swizzle = Swizzle::none, .leading = kRows * 16, .stride = 128});

}  // namespace operands
