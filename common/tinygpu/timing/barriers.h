// Barriers of a CTA's threads, and of a cluster's. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct BarrierTiming {
  /// A CTA's barrier takes warps one after the other, and lets them go so long after the last. (The H200's figures of
  /// probe_12_launch are of warps that come together. 32 that come as shared memory serves them wait for the rest of
  /// the 64 cycles only: a round of a store, a barrier and a load takes 113 cycles, not 165.)
  double cta_per_warp;
  uint64_t cta_fixed;
  uint64_t cluster;         // last arrival of a cluster's, whose arrivals are .relaxed, until its warps go on
  double cluster_per_warp;  // and what each further warp of a CTA adds
  explicit BarrierTiming(const MachineSpec& spec);
  uint64_t cluster_of(uint32_t warps) const { return uint64_t(double(cluster) + cluster_per_warp * (warps - 1)); }
};

}  // namespace tinygpu
