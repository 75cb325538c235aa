// Another block's mbarrier
//
// In a cluster of two blocks, rank 1 writes into rank 0's shared memory and should arrive on rank 0's mbarrier. It
// arrives on its own. Give it the address of the same mbarrier in rank 0.
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "exercises/exercise.h"

using namespace gen5::ptx;

__global__ void __cluster_dims__(2) mail(uint32_t* out) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ uint32_t letter;
  const uint32_t bar = shared_address(&barrier), rank = cluster_ctarank();
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    fence_mbarrier_init();
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (threadIdx.x == 0 && rank == 1) {
    st_shared_cluster(mapa(shared_address(&letter), 0), 2026);
    const uint32_t there = bar;  // your expression
    mbarrier_arrive_cluster(there);
  }
  if (threadIdx.x == 0 && rank == 0) {
    mbarrier_wait_parity_cluster(bar, 0);
    out[0] = letter;
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

void judge() {
  exercise::DeviceBuffer<uint32_t> out(1);
  mail<<<2, 32>>>(out.get());
  exercise::finish();
  exercise::expect("out", out.download(), {2026});
}
EXERCISE(judge);
