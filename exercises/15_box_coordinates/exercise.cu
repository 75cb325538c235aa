// Where is the box?
//
// A matrix of 64 rows and 96 columns of 32-bit words lies in global memory. Block b loads the box of 16 rows and 32
// columns in row-of-boxes b / 3 and column-of-boxes b % 3. The coordinates of a tensor copy begin with the dimension
// that is contiguous. Give the box's first element in that order.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kRows = 64, kColumns = 96, kBoxRows = 16, kBoxColumns = 32;

__global__ void boxes(const __grid_constant__ CUtensorMap map, uint32_t* out) {
  __shared__ alignas(128) uint32_t box[kBoxRows * kBoxColumns];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  const int down = blockIdx.x / 3, along = blockIdx.x % 3;
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, sizeof box);
    tensor_load_2d(shared_address(box), &map, down * kBoxRows, along * kBoxColumns, bar);  // your line
  }
  __syncthreads();
  mbarrier_wait_parity(bar, 0);
  for (uint32_t i = threadIdx.x; i < kBoxRows * kBoxColumns; i += blockDim.x)
    out[blockIdx.x * kBoxRows * kBoxColumns + i] = box[i];
}

void judge() {
  const auto words = exercise::counted(kRows * kColumns, 1);
  exercise::DeviceBuffer<uint32_t> from(words), out(words.size());
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, from.get(), kRows, kColumns, kColumns,
                                        kBoxRows, kBoxColumns, CU_TENSOR_MAP_SWIZZLE_NONE);
  boxes<<<12, 64>>>(map, out.get());
  exercise::finish();
  exercise::Words want;
  for (uint32_t block = 0; block < 12; ++block)
    for (uint32_t row = 0; row < kBoxRows; ++row)
      for (uint32_t column = 0; column < kBoxColumns; ++column)
        want.push_back((block / 3 * kBoxRows + row) * kColumns + block % 3 * kBoxColumns + column);
  exercise::expect("out", out.download(), want);
}
EXERCISE(judge);
