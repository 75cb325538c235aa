#include "common/tinygpu/timing/barriers.h"

namespace tinygpu {

BarrierTiming::BarrierTiming(const MachineSpec& s)
    : cta_fixed(s.number("barrier.cta.fixed")),
      cta_per_warp(s.number("barrier.cta.per_warp")),
      cluster(uint64_t(s.number("barrier.cluster.relaxed"))),
      cluster_per_warp(s.number("barrier.cluster.per_warp")) {}

}  // namespace tinygpu
