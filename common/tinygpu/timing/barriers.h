// Barriers of a CTA's threads, and of a cluster's. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct BarrierTiming {
  double cta_fixed, cta_per_warp;  // last arrival of a CTA's barrier until its warps go on
  uint64_t cluster;                // and of a cluster's, whose arrivals are .relaxed
  double cluster_per_warp;         // and what each further warp of a CTA adds
  explicit BarrierTiming(const MachineSpec& spec);
  uint64_t cluster_of(uint32_t warps) const { return uint64_t(double(cluster) + cluster_per_warp * (warps - 1)); }
  uint64_t cta(uint32_t warps) const { return uint64_t(cta_fixed + cta_per_warp * warps); }
};

}  // namespace tinygpu
