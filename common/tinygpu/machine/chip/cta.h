// CTAs and clusters.
#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "common/tinygpu/base/aligned.h"
#include "common/tinygpu/base/range.h"
#include "common/tinygpu/machine/chip/sm.h"
#include "common/tinygpu/machine/dim3.h"
#include "common/tinygpu/machine/extension.h"
#include "common/tinygpu/machine/memory/memory.h"
#include "common/tinygpu/machine/sync/mbarrier.h"
#include "common/tinygpu/machine/sync/named_barrier.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu {

class Cluster;
class SmPartition;

class Cta {
 public:
  Cta(Cluster& cluster, Sm& sm, uint32_t rank, const CtaKey& key);
  Cluster& cluster;
  Sm& sm;
  const CtaKey key;
  uint32_t rank;        // %cluster_ctarank
  AlignedBytes shared;  // the whole window from offset 0; user bytes start at kSharedBase
  std::vector<std::unique_ptr<Warp>> warps;
  NamedBarrier barriers[16];
  MBarrierTable mbarriers;
  uint32_t live_warps = 0;
  uint32_t live_threads = 0;
  uint64_t start_time = 0, end_time = 0;
  uint64_t dependents_launched = ~0ull;  // when a thread first executed griddepcontrol.launch_dependents
  bool exited = false;
  Extensions extensions;

  /// [offset, offset+size) of this CTA's window, or nullptr if outside.
  uint8_t* shared_at(uint64_t offset, uint64_t size) {
    return offset >= kSharedBase && inside(0, shared.size(), offset, size) ? shared.data() + offset : nullptr;
  }
  /// Thread count of the CTA.
  uint32_t threads() const;
  /// A thread arrived at, or left, what a barrier counts: completes rounds. machine/sync/barrier.cpp.
  void barrier_check(uint32_t id, uint64_t now);
  /// Wakes groups blocked on the mbarrier at (cta, offset) — called after a phase change.
  void wake_mbarrier_waiters(Cta& owner, uint32_t offset, uint64_t when);
};

class Cluster {
 public:
  SmPartition& partition;
  Dim3 id;  // %clusterid
  uint64_t linear = 0;
  std::vector<std::unique_ptr<Cta>> ctas;
  uint32_t live_ctas = 0;
  uint64_t end_time = 0;  // of the last CTA, once there is none
  // barrier.cluster
  uint32_t barrier_arrived = 0;
  uint64_t barrier_last = 0, barrier_round = 0;
  explicit Cluster(SmPartition& d) : partition(d) {}
  Dim3 shape;  // CTAs per cluster
  uint32_t live_threads() const;
  Cta* cta(uint32_t rank) { return rank < ctas.size() ? ctas[rank].get() : nullptr; }
  void barrier_check(uint64_t now);
};

inline Cluster& Warp::cluster() const { return cta_.cluster; }
inline SmPartition& Warp::partition() const { return cta_.cluster.partition; }

}  // namespace tinygpu
