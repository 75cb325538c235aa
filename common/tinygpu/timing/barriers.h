// Barriers of a CTA's threads, and of a cluster's. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct BarrierTiming {
  double cta_fixed, cta_per_warp;  // last arrival of a CTA's barrier until its warps go on
  uint64_t cluster;                // and of a cluster's (measured with .relaxed arrivals)
  explicit BarrierTiming(const MachineSpec& spec);
  uint64_t cta(uint32_t warps) const { return uint64_t(cta_fixed + cta_per_warp * warps); }
};

}  // namespace tinygpu
