// Your own MLP in one kernel: Y = max(X · Upᵀ, 0) · Downᵀ. projects/02_mlp/task.md has the milestones.
//
// exercises/gemm.cuh has the parts of a tile: store_accumulator, begin and end. The hidden numbers of 128 tokens fit
// into Tensor Memory beside Y, a chunk of 128 of them at a time: f32 in 128 columns, bf16 in 64.
#include "exercises/gemm.cuh"
#include "projects/project.h"

using namespace gemm;

constexpr uint32_t kModel = project::Mlp::kModel, kChunk = 128;

/// x: boxes of 128 rows of 64; up: 128 of 64; down: 256 of 64; all with 128-byte swizzle. y.d: 32 rows of 32.
struct Operands {
  CUtensorMap x, up, down;
  Maps y;
  uint32_t chunks;
};

struct Shared {
  uint8_t boxes[8][kBoxBytes];
  uint32_t slot;
};

// A CTA for 128 tokens.
__global__ void __launch_bounds__(192) mlp(const __grid_constant__ Operands maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  const uint32_t y = begin(&shared.slot, 512);
  // Your kernel here.
  end(y, 512);
}

void launch(const project::Mlp& p) {
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
  GEN5_CUDA(cudaFuncSetAttribute(mlp, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  mlp<<<(p.tokens + 127) / 128, 192, sizeof(Shared)>>>(maps);
}
PROJECT(launch);
