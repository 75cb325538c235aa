#include "common/tinygpu/timing/launch.h"

namespace tinygpu {

LaunchTiming::LaunchTiming(const MachineSpec& s)
    : latency(uint64_t(s.number("launch.latency"))),
      grid_interval(uint64_t(s.number("launch.grid_interval"))),
      cta_interval(s.number("launch.cta_interval")),
      cta(uint64_t(s.number("launch.cta"))),
      sm_interval(s.number("launch.sm_interval")),
      sm_warp(s.number("launch.sm_interval.warp")),
      cta_refill(uint64_t(s.number("launch.cta_refill"))),
      end(uint64_t(s.number("launch.end"))),
      cancel(uint64_t(s.number("launch.control.latency"))),
      parameters(s.number("launch.parameters")),
      parameters_sm(s.number("launch.parameters.sm")),
      translation(s.number("launch.translation")),
      translation_sm(s.number("launch.translation.sm")),
      first_copy(uint64_t(s.number("launch.first_copy"))),
      programmatic(uint64_t(s.number("launch.programmatic"))),
      programmatic_wait(uint64_t(s.number("launch.programmatic.wait"))),
      graph_next(uint64_t(s.number("launch.graph.next"))),
      graph_wait(uint64_t(s.number("launch.graph.wait"))),
      usable_{uint32_t(s.number("chip.cluster_sms.2")), uint32_t(s.number("chip.cluster_sms.4")),
              uint32_t(s.number("chip.cluster_sms.8")), uint32_t(s.number("chip.cluster_sms.16"))} {}

uint32_t LaunchTiming::usable_sms(uint32_t cluster) const {
  if (cluster <= 1) return ~0u;
  // Sizes between the powers of two: as the next of them (they were not measured).
  return usable_[cluster <= 2 ? 0 : cluster <= 4 ? 1 : cluster <= 8 ? 2 : 3];
}

}  // namespace tinygpu
