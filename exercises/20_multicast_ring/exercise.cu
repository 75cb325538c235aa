// A multicast ring
//
// Two blocks of a cluster both need every chunk. Each loads one half of it, and TMA writes that half into the shared
// memory of both. Write the ring: arrivals that empty a stage, the producer, and what the consumer does before and
// after its sum. A stage is empty when the warps of both blocks have read it, because a copy writes to both.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/elect.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

constexpr uint32_t kBlocks = 2, kStages = 4, kChunks = 16, kRows = 16, kHalf = kRows / kBlocks, kColumns = 32;
constexpr uint32_t kArrivals = 0;  // your number: arrivals that empty a stage

// map: kChunks · kRows rows of kColumns words, in boxes of kHalf rows. tensor_load_2d_multicast(to, &map, x, y,
// mbarrier, mask) writes to the same place in each block of the mask, and reports to the same mbarrier there.
__global__ void __cluster_dims__(kBlocks) sums(const __grid_constant__ CUtensorMap map, uint32_t* out) {
  __shared__ alignas(128) uint32_t buffer[kStages][kRows][kColumns];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages];
  const uint32_t rank = cluster_ctarank(), lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (uint32_t s = 0; s < kStages; ++s) {
      mbarrier_init(shared_address(&full[s]), 1);
      mbarrier_init(shared_address(&empty[s]), kArrivals ? kArrivals : 1);
    }
    fence_mbarrier_init();
  }
  // The barriers of both are there before either copies.
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (threadIdx.x == 0) {
    // Your producer here, about seven lines: this block's half of each chunk, for both.
  } else if (threadIdx.x >= 32) {
    for (uint32_t chunk = 0; chunk < kChunks; ++chunk) {
      const uint32_t stage = chunk % kStages;
      uint32_t sum = rank;
      // Your wait here.
      for (uint32_t row = 0; row < kRows; ++row) sum += buffer[stage][row][lane];
      // Your lines here: give the stage back to both producers. mapa(address, rank), mbarrier_arrive_cluster(address).
      out[(rank * kChunks + chunk) * 32 + lane] = sum;
    }
  }
  __syncwarp();
  // Neither exits while the other may write to its shared memory.
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void judge() {
  const auto words = exercise::counted(kChunks * kRows * kColumns);
  exercise::DeviceBuffer<uint32_t> from(words), out(kBlocks * kChunks * 32);
  const auto map = exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, from.get(), kChunks * kRows, kColumns,
                                        kColumns, kHalf, kColumns, CU_TENSOR_MAP_SWIZZLE_NONE);
  sums<<<kBlocks, 64>>>(map, out.get());
  exercise::finish();
  exercise::Words want(kBlocks * kChunks * 32);
  for (uint32_t rank = 0; rank < kBlocks; ++rank)
    for (uint32_t i = 0; i < kChunks * 32; ++i) want[rank * kChunks * 32 + i] = rank;
  for (uint32_t i = 0; i < words.size(); ++i)
    for (uint32_t rank = 0; rank < kBlocks; ++rank)
      want[(rank * kChunks + i / (kRows * kColumns)) * 32 + i % kColumns] += words[i];
  exercise::expect("out", out.download(), want, 32);
}
EXERCISE(judge);
