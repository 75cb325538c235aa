// The bytes of a pair
//
// The two blocks of a pair load by TMA, each its own tiles, and both report to the even block's mbarrier, where one
// thread waits for all bytes. It expects too few. Give the number of bytes that arrive.
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_mma.h"
#include "exercises/exercise.h"
#include "exercises/tile.cuh"

using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kM = 128, kHalfN = 32, kN = 64, kK = 64;  // kM rows in each of the two
constexpr uint32_t kInstruction = instruction_descriptor({.m = 2 * kM, .n = kN, .cta_group = 2});

__device__ void meet() {
  tcgen05_fence_before_thread_sync();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  tcgen05_fence_after_thread_sync();
}

__global__ void __cluster_dims__(2)
    product(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, uint32_t* d) {
  __shared__ alignas(1024) uint16_t tile_a[kM * kK], tile_b[kHalfN * kK];
  __shared__ alignas(8) uint64_t loaded, done;
  __shared__ uint32_t slot;
  const uint32_t rank = cluster_ctarank();
  if (threadIdx.x < 32) {
    tcgen05_alloc<2>(shared_address(&slot), kN);
    tcgen05_relinquish_alloc_permit<2>();
  }
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&loaded), 1);
    mbarrier_init(shared_address(&done), 1);
    fence_mbarrier_init();
  }
  meet();
  const uint32_t address = slot;
  if (threadIdx.x == 0) {
    const uint32_t even = mapa(shared_address(&loaded), 0);
    if (rank == 0) mbarrier_arrive_expect_tx(shared_address(&loaded), sizeof tile_a + sizeof tile_b);  // your line
    tensor_load_2d_pair(shared_address(tile_a), &a, 0, rank * kM, even);
    tensor_load_2d_pair(shared_address(tile_b), &b, 0, rank * kHalfN, even);
    if (rank == 0) {
      mbarrier_wait_parity(shared_address(&loaded), 0);
      for (uint32_t k = 0; k < kK; k += 16)
        tcgen05_mma_f16<2>(address, at_address(tile::kDescriptor, shared_address(tile_a) + 2 * k),
                           at_address(tile::kDescriptor, shared_address(tile_b) + 2 * k), kInstruction, k > 0);
      tcgen05_commit_pair(shared_address(&done), 0b11);
    }
  }
  mbarrier_wait_parity(shared_address(&done), 0);
  tcgen05_fence_after_thread_sync();
  tile::read_out<kN>(d + rank * kM * kN, address);
  meet();
  if (threadIdx.x < 32) tcgen05_dealloc<2>(address, kN);
}

void judge() {
  const auto a = exercise::bf16(2 * kM * kK, 1), b = exercise::bf16(kN * kK, 2);
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(2 * kM * kN);
  const auto map = [](uint16_t* from, uint32_t rows, uint32_t box_rows) {
    return exercise::matrix_map(CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, from, rows, kK, kK, box_rows, kK,
                                CU_TENSOR_MAP_SWIZZLE_128B);
  };
  product<<<2, 128>>>(map(da.get(), 2 * kM, kM), map(db.get(), kN, kHalfN), d.get());
  exercise::finish();
  exercise::expect_floats("d", d.download(), exercise::product(a, b, 2 * kM, kN, kK), kN);
}
EXERCISE(judge);
