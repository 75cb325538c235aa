// Your own GEMM: D = A · Bᵀ, bf16 in, f32 out. projects/01_gemm/task.md has the milestones.
//
// exercises/gemm.cuh has the parts of a tile: load_block, multiply_block, store_accumulator, begin and end. Use them,
// or replace them.
#include "common/layout/tile.h"
#include "exercises/gemm.cuh"
#include "projects/project.h"

using namespace gemm;

constexpr uint32_t kTileN = 128;

struct Shared {
  uint8_t a[kTileM * kRowBytes], b[kTileN * kRowBytes], boxes[8][kBoxBytes];
  uint64_t full, read;
  uint32_t slot;
};

// One CTA for each tile of 128 x 128. maps.blocks: blocks of 64 along K, the last one filled up with zeros by TMA.
__global__ void __launch_bounds__(192) multiply(const __grid_constant__ Maps maps) {
  extern __shared__ __align__(1024) uint8_t memory[];
  auto& shared = *reinterpret_cast<Shared*>(memory);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&shared.full), 1);
    mbarrier_init(shared_address(&shared.read), 1);
    fence_mbarrier_init();
  }
  const uint32_t accumulator = begin(&shared.slot, kTileN);
  // Your kernel here.
  end(accumulator, kTileN);
}

void launch(const project::Gemm& g) {
  const auto operand = [&](uint16_t* from, uint32_t rows, uint32_t box) {
    return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, rows, g.k, g.k, box, kBlockK,
                                     CU_TENSOR_MAP_SWIZZLE_128B);
  };
  const uint32_t rows = (g.m + kTileM - 1) / kTileM, columns = (g.n + kTileN - 1) / kTileN;
  const Maps maps{operand(g.a, g.m, kTileM),
                  operand(g.b, g.n, kTileN),
                  gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, g.d, g.m, g.n, g.n, 32, 32,
                                            CU_TENSOR_MAP_SWIZZLE_128B),
                  rows,
                  columns,
                  (g.k + kBlockK - 1) / kBlockK};
  GEN5_CUDA(cudaFuncSetAttribute(multiply, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared)));
  multiply<<<dim3(columns, rows), 192, sizeof(Shared)>>>(maps);
}
PROJECT(launch);
