// A grid in flight.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/chip/domain.h"
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

}  // namespace tinygpu
