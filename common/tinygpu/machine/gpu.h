// The machine: GPU, domains, SMs, clusters, CTAs, and a launch.
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/base/range.h"
#include "common/tinygpu/machine/dim3.h"
#include "common/tinygpu/machine/events.h"
#include "common/tinygpu/machine/extension.h"
#include "common/tinygpu/machine/host_threads.h"
#include "common/tinygpu/machine/l2.h"
#include "common/tinygpu/machine/mbarrier.h"
#include "common/tinygpu/machine/memory.h"
#include "common/tinygpu/machine/observe.h"
#include "common/tinygpu/machine/spec.h"
#include "common/tinygpu/machine/warp.h"

namespace tinygpu {

struct LaunchConfig {
  const Function* kernel = nullptr;
  Program* program = nullptr;
  Dim3 grid, block, cluster;  // cluster {1,1,1}: none
  bool explicit_cluster = false;
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  uint64_t grid_workspace = 0;  // %envreg1 (high) and %envreg2 (low): where cooperative groups keep a grid's barrier
  std::vector<uint8_t> params;  // laid out by kernel->params
};

struct LaunchStats {
  uint64_t cycles = 0;
  uint64_t instructions = 0;  // warp instructions
  std::map<std::string, uint64_t> counters;
};

struct RunOptions {
  CompletionOrder order;
  uint64_t run_ahead = 64;   // cycles one warp may run ahead of the others of its domain
  uint64_t window = 512;     // cycles between serial phases when several domains run
  int threads = 0;           // host threads; 0: all cores. Results and cycles do not depend on it
  uint64_t max_cycles = 0;   // a kernel that runs longer is stopped; 0: none is
  bool strict_tmem = false;  // what the manual forbids and hardware lets pass in Tensor Memory stops the kernel
  std::function<void(const std::string&)> device_output;  // printf; default stdout
  std::function<void(const Diagnosis&)> on_diagnosis;     // warnings and notes; default stderr
  std::vector<Observer*> observers;                       // not owned; they outlive the run
};

struct Sm {
  Domain* domain = nullptr;
  uint32_t index = 0;              // %smid
  int64_t port[4] = {0, 0, 0, 0};  // issue ports of the sub-partitions (see Warp::run)
  uint64_t shared_port = 0;        // next free cycle of the shared-memory pipe
  uint32_t threads = 0, blocks = 0;
  uint32_t shared_used = 0, registers_used = 0;
  std::vector<Cta*> resident;
  Extensions extensions;  // its engines: tensor core, TMA, Tensor Memory …
};

/// A named barrier (bar.sync etc.) of a CTA. Warps arrive as a whole, when all their live lanes have, and count 32
/// threads.
struct NamedBarrier {
  /// What one warp has at this barrier.
  struct Part {
    uint32_t here = 0;       // lanes that wait for the rest of their warp
    uint32_t waiting = 0;    // lanes of warps that have arrived, waiting for the round to end
    uint32_t sync = 0;       // of `here`: lanes that will wait (sync, red), not arrive only
    uint32_t truth = 0;      // of `here`: lanes whose predicate is true (red)
    bool arrived = false;    // in this round
    const Op* op = nullptr;  // the instruction that brought lanes last
  };
  /// A register that gets the result of barrier.red when the round ends.
  struct Result {
    uint32_t warp = 0, lanes = 0;
    uint32_t slot = 0;      // byte offset in the warp's register file
    uint8_t operation = 0;  // of the round: see below
  };
  uint32_t arrived = 0;   // threads
  uint32_t expected = 0;  // threads, 0 before the first arrival of a round
  bool whole = false;     // a round of all threads of the CTA: exited ones do not count
  uint8_t operation = 0;  // of the round: 0 none yet, 1 sync or arrive, 2 red.popc, 3 red.and, 4 red.or
  uint64_t last = 0;      // latest arrival time
  uint32_t reduce_count = 0, reduce_threads = 0;  // true predicates, and threads that gave one
  uint64_t round = 0;
  std::vector<Part> parts;  // per warp
  std::vector<Result> results;
};

class Cta {
 public:
  Cta(Cluster& cluster, Sm& sm, uint32_t rank, Dim3 id);
  Cluster& cluster;
  Sm& sm;
  uint32_t rank;                // %cluster_ctarank
  Dim3 id;                      // %ctaid
  std::vector<uint8_t> shared;  // the whole window from offset 0; user bytes start at kSharedBase
  std::vector<std::unique_ptr<Warp>> warps;
  NamedBarrier barriers[16];
  MBarrierTable mbarriers;
  uint32_t live_warps = 0;
  uint32_t live_threads = 0;
  uint64_t start_time = 0, end_time = 0;
  bool exited = false;
  Extensions extensions;

  /// [offset, offset+size) of this CTA's window, or nullptr if outside.
  uint8_t* shared_at(uint64_t offset, uint64_t size) {
    return offset >= kSharedBase && inside(0, shared.size(), offset, size) ? shared.data() + offset : nullptr;
  }
  /// Thread count of the CTA.
  uint32_t threads() const;
  /// A thread arrived at, or left, what a barrier counts: completes rounds. machine/barrier.cpp.
  void barrier_check(uint32_t id, uint64_t now);
  /// Wakes groups blocked on the mbarrier at (cta, offset) — called after a phase change.
  void wake_mbarrier_waiters(Cta& owner, uint32_t offset, uint64_t when);
};

class Cluster {
 public:
  Domain& domain;
  Dim3 id;  // %clusterid
  uint64_t linear = 0;
  std::vector<std::unique_ptr<Cta>> ctas;
  uint32_t live_ctas = 0;
  // barrier.cluster
  uint32_t barrier_arrived = 0;
  uint64_t barrier_last = 0, barrier_round = 0;
  explicit Cluster(Domain& d) : domain(d) {}
  Dim3 shape;  // CTAs per cluster
  uint32_t live_threads() const;
  Cta* cta(uint32_t rank) { return rank < ctas.size() ? ctas[rank].get() : nullptr; }
  void barrier_check(uint64_t now);
};

class Launch;

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

/// One grid in flight.
class Launch {
 public:
  Launch(Gpu& gpu, const LaunchConfig& config, const RunOptions& options, uint64_t start_time);
  LaunchStats run();  // throws KernelFault

  Gpu& gpu;
  const LaunchConfig config;
  const RunOptions options;
  const Observers observers;
  uint64_t start_time;         // of the GPU's clock, cycles
  const uint64_t cta_latency;  // cycles from an SM's taking a CTA to its first instruction (launch.cta)
  /// Diagnoses already reported in this launch (code + instruction).
  void report(const Diagnosis& d, const void* site);
  /// The next cluster of the grid not yet started, for clusterlaunchcontrol; false when the grid is empty.
  bool take_cluster(Dim3& first_cta);
  /// Registers and local memory of warps on the host. False: there is no more.
  bool take_memory(uint64_t bytes) {
    return memory_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= memory_limit_;
  }
  void give_memory(uint64_t bytes) { memory_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t memory_limit() const { return memory_limit_; }
  const std::vector<std::unique_ptr<Domain>>& domains() const { return domains_; }
  uint64_t clusters_left() const { return next_cluster_ < total_clusters_ ? total_clusters_ - next_cluster_ : 0; }

 private:
  void fill(uint64_t now);
  void serial_phase();
  void check_stuck();
  /// Looks for loops that cannot end, from time to time, and reports if there is nothing else.
  void check_loops(uint64_t instructions);
  void watch_loops(bool on);
  /// What every warp waits for, or where it spins.
  Diagnosis who_waits(std::string code, std::string how) const;
  [[noreturn]] void report_deadlock(const char* how);
  Dim3 cluster_id(uint64_t linear) const;
  uint64_t next_cluster_ = 0, total_clusters_ = 0;
  Dim3 cluster_grid_;
  uint32_t cluster_size_ = 1;
  std::atomic<uint64_t> memory_{0};  // that warps have taken, which give it back when they end
  uint64_t memory_limit_ = 0;
  std::vector<std::unique_ptr<Domain>> domains_;
  std::mutex report_mutex_;
  std::set<std::pair<std::string, const void*>> reported_;
  uint64_t polled_instructions_ = 0;
  bool polling_told_ = false;
  // The search for endless loops: how it stands, and when it goes on.
  enum class Watch : uint8_t { off, settling, looking } watch_ = Watch::off;
  uint64_t watch_at_ = 0, watch_progress_ = 0, watch_time_ = 0;
  uint64_t time_ = 0;  // of the window
};

/// What a launch needs per SM, and how many CTAs of it fit. Throws nothing; 0 blocks: does not fit at all.
struct Occupancy {
  uint32_t blocks_per_sm = 0;
  const char* limit = "";  // "threads", "shared memory", "registers", "blocks", "warps"
  uint32_t shared_bytes = 0;
};
Occupancy occupancy(const MachineSpec& spec, const Function& f, uint32_t threads, uint32_t dynamic_shared);

class Gpu {
 public:
  explicit Gpu(MachineSpec spec);
  MachineSpec spec;
  GlobalMemory memory;
  L2Cache l2;
  HostThreads threads;
  RunOptions options;
  uint64_t clock = 0;                                   // SM cycles since creation: where the next launch starts
  uint64_t grids = 0;                                   // %gridid
  uint64_t heap_limit = 8ull << 20, heap_used = 0;      // device-side malloc (cudaLimitMallocHeapSize), bytes
  std::set<std::pair<std::string, std::string>> noted;  // kernel and code: a note is shown once for each
  /// Runs a grid to its end. Throws KernelFault; the machine stays usable (cuda/ makes the error sticky).
  LaunchStats launch(const LaunchConfig& config);
};

}  // namespace tinygpu
