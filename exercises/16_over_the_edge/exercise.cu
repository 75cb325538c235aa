// Over the edge
//
// The matrix has 40 rows and the boxes have 16, so the third box reaches beyond the matrix. The kernel expects only the
// bytes of the rows that exist, and waits forever. Expect the bytes that TMA reports.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kRows = 40, kColumns = 32, kBoxRows = 16;

__global__ void boxes(const __grid_constant__ CUtensorMap map, uint32_t* out) {
  __shared__ alignas(128) uint32_t box[kBoxRows * kColumns];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), first = blockIdx.x * kBoxRows;
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    const uint32_t bytes = min(kBoxRows, kRows - first) * kColumns * 4;  // your expression
    mbarrier_arrive_expect_tx(bar, bytes);
    tensor_load_2d(shared_address(box), &map, 0, first, bar);
  }
  __syncthreads();
  mbarrier_wait_parity(bar, 0);
  for (uint32_t i = threadIdx.x; i < kBoxRows * kColumns; i += blockDim.x) out[first * kColumns + i] = box[i];
}

void judge() {
  auto words = exercise::counted(kRows * kColumns);
  exercise::DeviceBuffer<uint32_t> from(words), out(48 * kColumns);
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, from.get(), kRows, kColumns, kColumns,
                                        kBoxRows, kColumns, CU_TENSOR_MAP_SWIZZLE_NONE);
  boxes<<<3, 64>>>(map, out.get());
  exercise::finish();
  words.resize(48 * kColumns);  // what lies outside is filled with zeros
  exercise::expect("out", out.download(), words, kColumns);
}
EXERCISE(judge);
