// A grid that runs: its configuration, its clock, and its CTAs on the SMs.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/chip/device_launches.h"
#include "common/tinygpu/machine/chip/dispatcher.h"
#include "common/tinygpu/machine/chip/occupancy.h"
#include "common/tinygpu/machine/chip/reports.h"
#include "common/tinygpu/machine/chip/sm_partition.h"
#include "common/tinygpu/machine/dim3.h"
#include "common/tinygpu/machine/events.h"
#include "common/tinygpu/machine/observe.h"
#include "common/tinygpu/program/program.h"

namespace tinygpu {

class Gpu;

struct LaunchConfig {
  const Function* kernel = nullptr;
  Program* program = nullptr;
  Dim3 grid, block, cluster;  // cluster {1,1,1}: none
  bool explicit_cluster = false;
  uint32_t dynamic_shared = 0;
  bool cooperative = false;
  bool behind_kernel = false, before_kernel = false;  // in a graph, where each waits for the one before it alone
  uint64_t grid_workspace = 0;  // %envreg1 (high) and %envreg2 (low): where cooperative groups keep a grid's barrier
  std::vector<uint8_t> params;  // laid out by kernel->params
  std::shared_ptr<const std::vector<bool>> only_on;  // SMs that it may have, by %smid; null: all
};

struct LaunchStats {
  uint64_t cycles = 0;
  uint64_t instructions = 0;                // warp instructions
  uint64_t l2_bytes = 0, device_bytes = 0;  // that L2 read out, that device memory gave and took
  std::map<std::string, uint64_t> counters;
};

/// A line of a source file, from 1 on; nothing where it cannot be read.
using ReadLine = std::function<std::optional<std::string>(const std::string& file, int line)>;

struct RunOptions {
  CompletionOrder order;
  uint64_t run_ahead = 64;   // cycles one warp may run ahead of the others of its partition
  uint64_t window = 512;     // cycles between exchanges when several partitions run, at most L2's least latency
  int threads = 0;           // host threads; 0: all cores. Cycles and race-free results do not depend on it
  uint64_t max_cycles = 0;   // a kernel that runs longer is stopped; 0: none is
  bool timing_only = false;  // matrices are not multiplied and copies move no bytes: the clock alone counts
  bool strict_tmem = false;  // what the manual forbids and hardware lets pass in Tensor Memory stops the kernel
  std::function<void(const std::string&)> device_output;  // printf; default stdout
  std::function<void(const Diagnosis&)> on_diagnosis;     // warnings and notes; default stderr
  ReadLine source_line;                                   // for names in diagnoses; may be null
  std::vector<Observer*> observers;                       // not owned; they outlive the run
};

/// A grid that runs (grid_scheduler.h).
class Launch {
 public:
  /// `sms`: of the chip, those that are named are made. `primary`: the number of the grid on which this one depends
  /// and beside which it begins (programmatic dependent launch); 0: none. `beside`: it runs beside other grids, and
  /// observers watch it that have no other one to watch.
  Launch(Gpu& gpu, const LaunchConfig& config, const RunOptions& options, uint64_t start_time,
         std::vector<std::unique_ptr<Sm>>& sms, uint64_t primary = 0, bool beside = false);
  /// Observers and the reader are told that it is over, however it ends.
  ~Launch();

  /// Its clusters have all been handed out, and nothing is left of them.
  bool over() const;
  LaunchStats finish();  // it is over

  const uint64_t number;   // %gridid
  const uint64_t primary;  // the grid on which it depends; 0: none
  Gpu& gpu;
  const LaunchConfig config;
  const RunOptions options;
  const std::vector<std::unique_ptr<Observer>> own_observers;  // those that watch it alone
  const Observers observers;
  const uint64_t start_time;  // of the GPU's clock, cycles
  Dispatcher dispatcher;
  Reports reports;
  std::vector<DeviceLaunch> launched;  // by its kernel, in order
  uint64_t last_device_stream = kLastDeviceStream;
  /// Registers and local memory of warps on the host. False: there is no more.
  bool take_memory(uint64_t bytes) {
    return memory_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= memory_limit_;
  }
  void give_memory(uint64_t bytes) { memory_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t memory_limit() const { return memory_limit_; }
  const std::vector<std::unique_ptr<SmPartition>>& partitions() const { return partitions_; }
  /// Of its CTAs on an SM that has no others.
  const Occupancy& fit() const { return fit_; }
  /// When all of its CTAs have let dependents start, or have ended; ~0: not yet.
  uint64_t dependents_launched() const;
  /// When the last of its CTAs has ended and what they wrote is there; of one that is over.
  uint64_t ended() const;
  /// When griddepcontrol.wait goes on: 0 if it depends on no grid, ~0 while that one is not over.
  uint64_t dependency_over() const { return dependency_over_; }
  /// The grid on which it depends has ended at `time`.
  void primary_ended(uint64_t time);
  /// What an SM's first CTA meets.
  const ColdStart& cold_start() const { return cold_start_; }

 private:
  std::atomic<uint64_t> memory_{0};  // that warps have taken, which give it back when they end
  const uint64_t memory_limit_;
  uint64_t dependency_over_;
  const Occupancy fit_;
  ColdStart cold_start_;
  std::vector<std::unique_ptr<SmPartition>> partitions_;
  uint64_t l2_before_, device_before_;  // bytes that they had moved when it began
  bool told_ = false;                   // that it is over
};

inline Gpu& Warp::gpu() const { return partition().launch.gpu; }

}  // namespace tinygpu
