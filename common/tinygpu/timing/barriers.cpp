#include "common/tinygpu/timing/barriers.h"

namespace tinygpu {

BarrierTiming::BarrierTiming(const MachineSpec& s)
    : cta_per_warp(s.number("barrier.cta.per_warp")),
      cta_fixed(uint64_t(s.number("barrier.cta.fixed"))),
      cluster(uint64_t(s.number("barrier.cluster.relaxed"))),
      cluster_per_warp(s.number("barrier.cluster.per_warp")) {}

}  // namespace tinygpu
