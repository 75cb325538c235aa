// One grid's CTAs on one set of SMs: the unit of parallel simulation.
#pragma once
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/machine/chip/sm.h"
#include "common/tinygpu/machine/chip/tournament_tree.h"
#include "common/tinygpu/machine/dim3.h"
#include "common/tinygpu/machine/events.h"
#include "common/tinygpu/machine/memory/requests.h"
#include "common/tinygpu/machine/warp/warp.h"

namespace tinygpu {

class Launch;
struct LaunchConfig;

/// The CTAs of one grid on the SMs that one of its clusters may span (without clusters: on one SM), and their events.
/// Everything inside is simulated in the order of time, up to RunOptions::run_ahead, on one host thread. Partitions of
/// a grid share global memory alone; those of several grids may share SMs, and are then simulated on one host thread
/// (GridScheduler::advance_together).
class SmPartition {
 public:
  SmPartition(Launch& launch, uint32_t index, std::vector<Sm*> sms);
  Launch& launch;
  const uint32_t index;  // in its launch
  const std::vector<Sm*> sms;
  std::vector<ColdMiss> parameters;  // by CTA of a cluster: the SM's first access to the kernel's parameters
  EventQueue events;
  MemoryRequests memory;  // of its SMs to the chip's memory
  uint64_t now = 0;       // time of the event or warp being run
  bool serial = false;    // strong global accesses may execute (serial phase, or only one partition is active)
  std::vector<std::unique_ptr<Cluster>> clusters;
  uint64_t operations = 0;  // asynchronous operations that observers have seen
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
    else if (op.cost != CostClass::global_atomic && op.cost != CostClass::fence)
      made_progress();
  }
  std::map<std::string, uint64_t> counters;

  /// What touches memory that other partitions see, and so happens in the serial phase: a warp's next op, or an
  /// asynchronous effect (a reduction).
  struct Deferred {
    uint64_t time;
    Warp* warp;  // null: `effect`
    EventQueue::Action effect;
  };
  void defer(Warp& warp) { deferred_warps_.push_back(&warp); }
  void defer(uint64_t time, EventQueue::Action effect) {
    deferred_effects_.push_back({time, nullptr, std::move(effect)});
  }
  void set_serial(bool on) {
    serial = on;
    memory.at_once(on);
  }
  bool has_deferred_effects() const { return !deferred_effects_.empty(); }
  bool has_deferred() const { return !deferred_effects_.empty() || !deferred_warps_.empty(); }
  std::vector<Deferred> take_deferred();
  /// Serial phase. A fault is kept.
  void run_deferred(Deferred& what);

  /// What ended the partition's work, if something has, and when.
  struct Fault {
    std::exception_ptr what;
    uint64_t time = 0;
  };
  const Fault& fault() const { return fault_; }

  /// Runs warps and events up to time `until`. A fault is kept.
  void advance(uint64_t until);
  /// The same while no other partition runs: strong accesses need not wait for the serial phase.
  void advance_alone(uint64_t until);
  bool idle() const { return clusters.empty() && events.empty(); }
  /// Earliest time at which anything here can happen; ~0 if nothing can.
  uint64_t next_time() const;
  const std::vector<Warp*>& warps() const { return warps_; }
  /// When the warp at `place` of these can run next.
  void ready_at(uint32_t place, uint64_t when) { ready_.set(place, when); }
  /// When all CTAs that have been here had executed griddepcontrol.launch_dependents, or had ended; ~0: one has not.
  uint64_t dependents_launched() const;
  /// The grid on which this one depends is over at `time`: warps that wait for it go on.
  void primary_over(uint64_t time);
  bool has_room() const { return room().fits; }
  /// Starts a cluster that the chip hands out at `handed`, or as soon as the room that it takes is ready.
  void start_cluster(Dim3 id, uint64_t linear, uint64_t handed);
  /// Called by Warp::exit when lanes leave: barriers, CTA and cluster bookkeeping.
  void on_exit(Warp& w, uint32_t lanes);
  /// Takes clusters that have ended off their SMs. False: there are none.
  bool retire_clusters();
  /// When the room that the next cluster takes became free; 0: no CTA has had it yet. There is room.
  uint64_t room_since() const { return room().since; }
  /// Time of the last thing that happened; warp instructions of clusters that have ended.
  uint64_t last_time() const { return last_time_; }
  uint64_t ended_instructions() const { return instructions_; }

 private:
  bool runnable_now() const;
  std::vector<std::unique_ptr<Cluster>> retired_;  // ended, but effects in flight may still land in their memory
  std::vector<Warp*> deferred_warps_;
  std::vector<Deferred> deferred_effects_;
  uint64_t turns_ = 0;
  uint64_t landed_ = 0;               // where the warps were when the last effect landed
  uint64_t dependents_launched_ = 0;  // by CTAs that have ended
  std::vector<Warp*> warps_;          // of all resident CTAs
  TournamentTree ready_;              // Warp::ready_time() of each
  bool retire_ = false;               // a cluster has ended
  const CtaResources share_;          // of an SM, that a CTA takes
  const uint32_t carveout_;           // of shared memory, that an SM gets for its CTAs
  bool fits(const Sm& sm) const;
  /// For a cluster: the answer that SmResources gave last, and to what.
  struct Room {
    uint64_t changes = 0, since = 0;
    bool fits = false;
  };
  mutable Room room_;
  const Room& room() const;
  Fault fault_;
  uint64_t instructions_ = 0;
  uint64_t last_time_ = 0;
};

}  // namespace tinygpu
