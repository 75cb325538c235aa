#include "common/tinygpu/timing/launch.h"

namespace tinygpu {

LaunchTiming::LaunchTiming(const MachineSpec& s)
    : cta(uint64_t(s.number("launch.cta"))),
      cta_refill(uint64_t(s.number("launch.cta_refill"))),
      cancel(uint64_t(s.number("launch.control.latency"))) {}

}  // namespace tinygpu
