// Choose a swizzle
//
// Each lane reads one row of a tile, 16 bytes at a time. Without a swizzle, eight lanes use the same banks, and every
// read takes eight passes. Choose the swizzle from none, b32, b64 and b128 with which the kernel keeps within its
// budget.
#include "common/layout/swizzle.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;
using gen5::layout::Swizzle;

constexpr Swizzle kSwizzle = Swizzle::none;  // your choice
constexpr uint32_t kTiles = 16, kRows = 32, kColumns = 32;

__global__ void row_sums(const __grid_constant__ CUtensorMap map, uint32_t* out) {
  extern __shared__ __align__(1024) uint4 tiles[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), row = threadIdx.x;
  constexpr uint32_t kBoxColumns = kSwizzle == Swizzle::b32 ? 8 : kSwizzle == Swizzle::b64 ? 16 : 32;
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, kTiles * kRows * kColumns * 4);
    for (uint32_t tile = 0; tile < kTiles; ++tile)
      for (uint32_t x = 0; x < kColumns; x += kBoxColumns)
        tensor_load_2d(shared_address(tiles) + (tile * kColumns + x) * kRows * 4, &map, x, tile * kRows, bar);
  }
  __syncwarp();
  mbarrier_wait_parity(bar, 0);
  uint32_t sum = 0;
#pragma unroll
  for (uint32_t tile = 0; tile < kTiles; ++tile)
#pragma unroll
    for (uint32_t column = 0; column < kColumns; column += 4) {
      // The box that has this column, the row in it, and the place in the row; then the swizzle.
      const uint32_t box = (tile * kColumns + column / kBoxColumns * kBoxColumns) * kRows * 4;
      const uint32_t place = row * kBoxColumns * 4 + column % kBoxColumns * 4;
      const uint4 four = tiles[(box + gen5::layout::swizzled(kSwizzle, place)) / 16];
      sum += four.x ^ four.y ^ four.z ^ four.w;
    }
  out[row] = sum;
}

void judge() {
  const auto words = exercise::counted(kTiles * kRows * kColumns);
  exercise::DeviceBuffer<uint32_t> from(words), out(kRows);
  constexpr uint32_t kBoxColumns = kSwizzle == Swizzle::b32 ? 8 : kSwizzle == Swizzle::b64 ? 16 : 32;
  constexpr auto kMapSwizzle = kSwizzle == Swizzle::none  ? CU_TENSOR_MAP_SWIZZLE_NONE
                               : kSwizzle == Swizzle::b32 ? CU_TENSOR_MAP_SWIZZLE_32B
                               : kSwizzle == Swizzle::b64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                          : CU_TENSOR_MAP_SWIZZLE_128B;
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, from.get(), kTiles * kRows, kColumns,
                                        kColumns, kRows, kBoxColumns, kMapSwizzle);
  constexpr uint32_t kBytes = kTiles * kRows * kColumns * 4;
  GEN5_CUDA(cudaFuncSetAttribute(row_sums, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  row_sums<<<1, 32, kBytes>>>(map, out.get());
  exercise::finish();
  exercise::Words want(kRows);
  for (uint32_t i = 0; i < words.size(); i += 4)
    want[i / kColumns % kRows] += words[i] ^ words[i + 1] ^ words[i + 2] ^ words[i + 3];
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
