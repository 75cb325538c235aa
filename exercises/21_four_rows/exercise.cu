// Four rows of your choice
//
// gather4 loads four rows of a matrix, in the order in which the instruction names them; the map's box is a single row.
// The kernel waits forever, because the mbarrier expects the bytes of one row. Expect the bytes that a gather4 reports.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kColumns = 32, kRowBytes = kColumns * 4;

__global__ void pick(const __grid_constant__ CUtensorMap map, int4 rows, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[4 * kColumns];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, kRowBytes);  // your count
    tensor_gather4_2d(shared_address(buffer), &map, 0, rows, bar);
  }
  __syncthreads();
  mbarrier_wait_parity(bar, 0);
  for (uint32_t i = threadIdx.x; i < 4 * kColumns; i += blockDim.x) out[i] = buffer[i];
}

void judge() {
  constexpr uint32_t kRows = 64;
  const int4 rows = make_int4(41, 3, 40, 3);
  const auto matrix = exercise::counted(kRows * kColumns);
  exercise::DeviceBuffer<uint32_t> from(matrix), out(4 * kColumns);
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, from.get(), kRows, kColumns, kColumns, 1,
                                        kColumns, CU_TENSOR_MAP_SWIZZLE_NONE);
  pick<<<1, 64>>>(map, rows, out.get());
  exercise::finish();
  exercise::Words want;
  for (const int row : {rows.x, rows.y, rows.z, rows.w})
    want.insert(want.end(), matrix.begin() + row * kColumns, matrix.begin() + (row + 1) * kColumns);
  exercise::expect("out", out.download(), want, kColumns);
}
EXERCISE(judge);
