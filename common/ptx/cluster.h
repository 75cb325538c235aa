// Clusters: ranks, another CTA's shared memory, the cluster barrier (PTX ISA 9.7.13.3, 9.7.9.22, 9.7.9.23).
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

/// %clusterid.x: the number of this CTA's cluster in the grid.
GEN5_PTX uint32_t cluster_id() {
  uint32_t id;
  asm volatile("mov.u32 %0, %%clusterid.x;" : "=r"(id));
  return id;
}

/// The .shared::cluster address of the byte that lies in CTA `rank` where `address` lies in this one.
GEN5_PTX uint32_t mapa(uint32_t address, uint32_t rank) {
  uint32_t mapped;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
  return mapped;
}

/// The rank of the CTA in whose shared memory a .shared::cluster address lies.
GEN5_PTX uint32_t getctarank(uint32_t address) {
  uint32_t rank;
  asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(rank) : "r"(address));
  return rank;
}

/// Distributed shared memory: a word of any CTA of the cluster, at an address made by mapa.
GEN5_PTX uint32_t ld_shared_cluster(uint32_t address) {
  uint32_t value;
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
GEN5_PTX void st_shared_cluster(uint32_t address, uint32_t value) {
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}

/// Stores 16 bytes in another CTA and completes them on the mbarrier `bar` of that CTA, asynchronously (9.7.9.12).
GEN5_PTX void st_async(uint32_t address, uint4 value, uint32_t bar) {
  asm volatile(
      "st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(address),
      "r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w), "r"(bar)
      : "memory");
}

/// Arrives for this thread, releasing its earlier accesses.
GEN5_PTX void barrier_cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }

/// Arrives without ordering memory.
GEN5_PTX void barrier_cluster_arrive_relaxed() { asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory"); }

/// Waits for every thread of the cluster to have arrived.
GEN5_PTX void barrier_cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

}  // namespace gen5::ptx
