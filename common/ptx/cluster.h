// Clusters: ranks, addresses in another CTA's shared memory, the cluster barrier (PTX ISA 9.7.13.3, 9.7.9.22).
#pragma once
#include "common/ptx/address.h"

namespace gen5::ptx {

/// %cluster_ctarank: this CTA's number in its cluster.
GEN5_PTX uint32_t cluster_ctarank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// %cluster_nctarank: CTAs in the cluster.
GEN5_PTX uint32_t cluster_nctarank() {
  uint32_t count;
  asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(count));
  return count;
}

/// The .shared::cluster address of the byte that lies in CTA `rank` where `address` lies in this one.
GEN5_PTX uint32_t mapa(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

/// Arrives for this thread, releasing its earlier accesses.
GEN5_PTX void barrier_cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }

/// Arrives without ordering memory.
GEN5_PTX void barrier_cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }

/// Waits for every thread of the cluster to have arrived.
GEN5_PTX void barrier_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace gen5::ptx
