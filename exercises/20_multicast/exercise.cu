// One load for all
//
// In a cluster of four blocks, rank 0 loads a box once for all of them. Three blocks receive the bytes that they wait
// for, and one block receives none. Find out which one, and change the mask.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kBlocks = 4, kRows = 8, kColumns = 32;

__global__ void __cluster_dims__(kBlocks) share(const __grid_constant__ CUtensorMap map, uint32_t* out) {
  __shared__ alignas(128) uint32_t box[kRows * kColumns];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
    mbarrier_arrive_expect_tx(bar, sizeof box);
  }
  // The copy may come as soon as rank 0 asks for it: all barriers have to be there before.
  barrier_cluster_arrive();
  barrier_cluster_wait();
  constexpr uint16_t kMask = 0b0111;  // your mask
  if (rank == 0 && threadIdx.x == 0) tensor_load_2d_multicast(shared_address(box), &map, 0, 0, bar, kMask);
  mbarrier_wait_parity(bar, 0);
  out[rank * kRows * kColumns + threadIdx.x] = box[threadIdx.x] + rank;
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void judge() {
  const auto words = exercise::counted(kRows * kColumns);
  exercise::DeviceBuffer<uint32_t> from(words), out(kBlocks * words.size());
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, from.get(), kRows, kColumns, kColumns, kRows,
                                        kColumns, CU_TENSOR_MAP_SWIZZLE_NONE);
  share<<<kBlocks, kRows * kColumns>>>(map, out.get());
  exercise::finish();
  exercise::Words want;
  for (uint32_t rank = 0; rank < kBlocks; ++rank)
    for (uint32_t w : words) want.push_back(w + rank);
  exercise::expect("out", out.download(), want, kRows * kColumns);
}
EXERCISE(judge);
