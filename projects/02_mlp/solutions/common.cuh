// What the reference solutions share: operands, the two products, and the step between them.
#pragma once
#include <cuda_bf16.h>

#include "exercises/gemm.cuh"
#include "projects/project.h"

namespace mlp {

using namespace gemm;

constexpr uint32_t kModel = project::Mlp::kModel, kChunk = 128;
constexpr uint32_t kUpBox = 128 * 128, kDownBox = 256 * 128;  // bytes of a box of 64 columns

struct Operands {
  CUtensorMap x, up, down;
  Maps y;
  uint32_t chunks;
};

inline Operands operands(const project::Mlp& p) {
  const auto operand = [](uint16_t* from, uint32_t rows, uint32_t columns, uint32_t box) {
    return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, rows, columns, columns, box, 64,
                                     CU_TENSOR_MAP_SWIZZLE_128B);
  };
  Operands maps{operand(p.x, p.tokens, kModel, 128),
                operand(p.up, p.hidden, kModel, 128),
                operand(p.down, kModel, p.hidden, 256),
                {},
                (p.hidden + kChunk - 1) / kChunk};
  maps.y.d = gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, p.y, p.tokens, kModel, kModel, 32, 32,
                                       CU_TENSOR_MAP_SWIZZLE_128B);
  return maps;
}

/// H += X · Upᵀ over box `box` of the four along the model's dimension.
__device__ inline void multiply_up(uint32_t hidden, uint32_t x, uint32_t up, uint32_t box) {
  constexpr uint32_t kInstruction = gen5::layout::instruction_descriptor({.m = 128, .n = kChunk});
  for (uint32_t step = 0; step < 4; ++step)
    tcgen05_mma_f16(hidden, gen5::layout::at_address(tile::kDescriptor, x + box * kUpBox + 32 * step),
                    gen5::layout::at_address(tile::kDescriptor, up + 32 * step), kInstruction, box + step > 0);
}

/// Y += H · Downᵀ over 64 hidden numbers, which are bf16 in 32 columns at `hidden`.
__device__ inline void multiply_down(uint32_t y, uint32_t hidden, uint32_t down, bool first) {
  constexpr uint32_t kInstruction = gen5::layout::instruction_descriptor({.m = 128, .n = kModel});
  for (uint32_t step = 0; step < 4; ++step)
    tcgen05_mma_f16_tmem(y, hidden + 8 * step, gen5::layout::at_address(tile::kDescriptor, down + 32 * step),
                         kInstruction, !(first && step == 0));
}

/// This thread's row of hidden numbers: max(h, 0) as bf16 over itself.
__device__ inline void activate(uint32_t hidden) {
  uint32_t r[128], p[64];
#pragma unroll
  for (uint32_t n = 0; n < kChunk; n += 32) tcgen05_ld_32x32b(*reinterpret_cast<uint32_t(*)[32]>(r + n), hidden + n);
  tcgen05_wait_ld();
#pragma unroll
  for (uint32_t i = 0; i < 64; ++i) {
    const __nv_bfloat162 pair =
        __floats2bfloat162_rn(fmaxf(__uint_as_float(r[2 * i]), 0.0f), fmaxf(__uint_as_float(r[2 * i + 1]), 0.0f));
    p[i] = *reinterpret_cast<const uint32_t*>(&pair);
  }
  tcgen05_st_32x32b(hidden, p);
  tcgen05_wait_st();
}

}  // namespace mlp
