// Launching grids and CTAs. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct LaunchTiming {
  uint64_t latency;        // of a grid, before its first CTA is handed to an SM
  uint64_t grid_interval;  // from one grid's first CTA to that of another stream's, when both could start at once
  double cta_interval;     // from one CTA, or cluster, that the chip hands out to the next
  uint64_t cta;            // an SM's taking a CTA until its first instruction
  double sm_interval;      // from one CTA that an SM takes to the next, when several come at once: fixed,
  double sm_warp;          // and for each warp
  uint64_t cta_refill;     // a CTA's end until the first instruction of the one that takes its place
  uint64_t end;            // the last CTA's end until the grid's
  uint64_t cancel;         // clusterlaunchcontrol.try_cancel until its answer
  // What an SM waits for once in a launch, when it is alone and for each SM that does so at the same time: the kernel's
  // parameters, and the first translation of an address.
  double parameters, parameters_sm, translation, translation_sm;
  uint64_t first_copy;         // the same of an SM's first bulk copy
  uint64_t programmatic;       // from when a grid lets one behind it start until that one's first instruction
  uint64_t programmatic_wait;  // a grid's last CTA's end until griddepcontrol.wait of the next one goes on
  // Of kernels that follow each other in a graph: a grid's last CTA's end until the first instruction of the next one;
  // what takes the place of the two numbers above.
  uint64_t graph_next, graph_wait;
  explicit LaunchTiming(const MachineSpec& spec);
  /// SMs that can hold clusters of so many CTAs: those of a cluster lie in one GPC.
  uint32_t usable_sms(uint32_t cluster) const;

 private:
  uint32_t usable_[4];  // of 2, 4, 8, 16 CTAs
};

}  // namespace tinygpu
