// A commit for the pair
//
// Two blocks multiply as a pair: the even block issues the product for both, and commits. Both wait on their own
// mbarrier, but the commit arrives on one of them only. Fix the deadlock.
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
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

__global__ void __cluster_dims__(2) product(const uint16_t* a, const uint16_t* b, uint32_t* d) {
  __shared__ alignas(1024) uint16_t tile_a[kM * kK], tile_b[kHalfN * kK];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t rank = cluster_ctarank();
  if (threadIdx.x < 32) {
    tcgen05_alloc<2>(shared_address(&slot), kN);
    tcgen05_relinquish_alloc_permit<2>();
  }
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  tile::fill(tile_a, a + rank * kM * kK, kM);
  tile::fill(tile_b, b + rank * kHalfN * kK, kHalfN);
  fence_proxy_async_shared();
  meet();
  const uint32_t address = slot;
  if (rank == 0 && threadIdx.x == 0) {
    for (uint32_t k = 0; k < kK; k += 16)
      tcgen05_mma_f16<2>(address, at_address(tile::kDescriptor, shared_address(tile_a) + 2 * k),
                         at_address(tile::kDescriptor, shared_address(tile_b) + 2 * k), kInstruction, k > 0);
    tcgen05_commit_pair(shared_address(&barrier), 0b01);  // your line
  }
  mbarrier_wait_parity(shared_address(&barrier), 0);
  tcgen05_fence_after_thread_sync();
  tile::read_out<kN>(d + rank * kM * kN, address);
  meet();
  if (threadIdx.x < 32) tcgen05_dealloc<2>(address, kN);
}

void judge() {
  const auto a = exercise::bf16(2 * kM * kK, 1), b = exercise::bf16(kN * kK, 2);
  exercise::DeviceBuffer<uint16_t> da(a), db(b);
  exercise::DeviceBuffer<uint32_t> d(2 * kM * kN);
  product<<<2, 128>>>(da.get(), db.get(), d.get());
  exercise::finish();
  exercise::expect_floats("d", d.download(), exercise::product(a, b, 2 * kM, kN, kK), kN);
}
EXERCISE(judge);
