// Launching grids and CTAs. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct LaunchTiming {
  uint64_t cta;         // an SM's taking a CTA until its first instruction
  uint64_t cta_refill;  // a CTA's end until the first instruction of the one that takes its place
  uint64_t cancel;      // clusterlaunchcontrol.try_cancel until its answer
  explicit LaunchTiming(const MachineSpec& spec);
};

}  // namespace tinygpu
