// Add, not store
//
// Four blocks each have a box of partial sums for the same place of a matrix in global memory. Each of them stores its
// box, so only the last box remains. Let TMA add the boxes: one line, with another instruction.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kRows = 8, kColumns = 32;

__global__ void add_up(const __grid_constant__ CUtensorMap map) {
  __shared__ alignas(128) uint32_t box[kRows * kColumns];
  box[threadIdx.x] = (blockIdx.x + 1) * threadIdx.x;
  fence_proxy_async_shared();
  __syncthreads();
  if (threadIdx.x == 0) {
    tensor_store_2d(&map, 0, 0, shared_address(box));  // your line
    bulk_commit_group();
    bulk_wait_group<0>();
  }
}

void judge() {
  exercise::DeviceBuffer<uint32_t> sums(kRows * kColumns);
  sums.fill(0);
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, sums.get(), kRows, kColumns, kColumns, kRows,
                                        kColumns, CU_TENSOR_MAP_SWIZZLE_NONE);
  add_up<<<4, kRows * kColumns>>>(map);
  exercise::finish();
  exercise::expect("sums", sums.download(), exercise::counted(kRows * kColumns, 10), kColumns);
}
EXERCISE(judge);
