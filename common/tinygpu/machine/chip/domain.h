// The SMs that one host thread advances.
#pragma once
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/sm.h"
#include "common/tinygpu/machine/dim3.h"
#include "common/tinygpu/machine/events.h"
#include "common/tinygpu/machine/memory/l2.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu {

class Launch;
struct LaunchConfig;

/// A closed set of SMs that one host thread advances: the SMs that one cluster may span. Everything inside is
/// sequential and in time order (up to RunOptions::run_ahead); domains meet only in global memory.
class Domain {
 public:
  Domain(Launch& launch, uint32_t index, std::vector<uint32_t> sms);
  Launch& launch;
  uint32_t index;
  std::vector<std::unique_ptr<Sm>> sms;
  EventQueue events;
  L2View l2;
  uint64_t now = 0;     // time of the event or warp being run
  bool serial = false;  // strong global accesses may execute (serial phase, or only one domain is active)
  std::vector<std::unique_ptr<Cluster>> clusters;
  uint64_t operations = 0;  // asynchronous ones that observers were told of
  uint64_t progress = 0;    // counts what can end a wait: events, wake-ups, exits, changes of memory and of barriers
  uint64_t polls = 0;       // failed waits and strong loads since the last progress: livelock detection
  uint64_t stuck = 0;       // times that only timeouts were left to happen, since the last progress
  bool watching = false;    // for endless loops: warps that start now are watched too
  void made_progress() {
    ++progress;
    polls = stuck = 0;
  }
  /// A strong load may be a poll; a strong store may end one. Atomics say themselves which they were.
  void strong_access(const Op& op) {
    if (op.cost == CostClass::global_load)
      ++polls;
    else if (op.cost != CostClass::global_atomic)
      made_progress();
  }
  std::vector<Warp*> deferred;  // warps whose next op needs the serial phase
  /// Asynchronous effects on global memory that other domains could see (reductions): happen in the serial phase too.
  struct Effect {
    uint64_t time;
    EventQueue::Action action;
  };
  std::vector<Effect> deferred_effects;
  std::map<std::string, uint64_t> counters;

  /// Runs warps and events up to time `until`.
  void advance(uint64_t until);
  bool idle() const { return clusters.empty() && events.empty(); }
  /// Earliest time at which anything here can happen; ~0 if nothing can.
  uint64_t next_time() const;
  const std::vector<Warp*>& warps() const { return warps_; }
  bool has_room(const LaunchConfig& c) const;
  void start_cluster(Dim3 id, uint64_t linear, uint64_t when);
  /// Called by Warp::exit when lanes leave: barriers, CTA and cluster bookkeeping.
  void on_exit(Warp& w, uint32_t lanes);

 private:
  friend class Launch;
  void retire_clusters();
  bool runnable_now() const;
  std::vector<std::unique_ptr<Cluster>> retired_;  // ended, but effects in flight may still land in their memory
  uint64_t turns_ = 0;
  uint64_t landed_ = 0;       // where the warps were when the last effect landed
  std::vector<Warp*> warps_;  // of all resident CTAs
  bool retire_ = false;       // a cluster has ended
  uint64_t freed_at_ = 0;
  std::exception_ptr fault_;
  uint64_t fault_time_ = 0;
  uint64_t instructions_ = 0;
  uint64_t last_time_ = 0;
};

}  // namespace tinygpu
