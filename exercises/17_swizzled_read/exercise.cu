// Read a swizzled tile
//
// TMA writes a tile of 32 rows of 128 bytes with the 128-byte swizzle: in row r, the 16-byte piece p lies in the place
// of piece p XOR (r modulo 8). The kernel reads as if there were no swizzle. Change the index so that it finds element
// [row][column].
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kRows = 32, kColumns = 32;

__global__ void transpose(const __grid_constant__ CUtensorMap map, uint32_t* out) {
  __shared__ alignas(1024) uint32_t tile[kRows * kColumns];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, sizeof tile);
    tensor_load_2d(shared_address(tile), &map, 0, 0, bar);
  }
  __syncthreads();
  mbarrier_wait_parity(bar, 0);
  const uint32_t row = threadIdx.x;
  for (uint32_t column = 0; column < kColumns; ++column) {
    const uint32_t index = row * kColumns + column;  // your expression
    out[column * kRows + row] = tile[index];
  }
}

void judge() {
  const auto words = exercise::counted(kRows * kColumns, 1);
  exercise::DeviceBuffer<uint32_t> from(words), out(words.size());
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, from.get(), kRows, kColumns, kColumns, kRows,
                                        kColumns, CU_TENSOR_MAP_SWIZZLE_128B);
  transpose<<<1, 32>>>(map, out.get());
  exercise::finish();
  exercise::Words want(words.size());
  for (uint32_t i = 0; i < want.size(); ++i) want[i % kColumns * kRows + i / kColumns] = words[i];
  exercise::expect("out", out.download(), want, kRows);
}
EXERCISE(judge);
