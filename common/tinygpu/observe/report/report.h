// A run as one page: what was launched, where the time went, timelines, what the numbers are against the machine's
// peaks, and what was diagnosed.
#pragma once
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/observe/profile.h"
#include "common/tinygpu/observe/report/launches.h"
#include "common/tinygpu/observe/report/source.h"
#include "common/tinygpu/observe/timeline.h"

namespace tinygpu::observe {

/// A number of the machine profile, and where it comes from.
struct MachineNumber {
  std::string key;
  double value = 0;
  std::string unit, what, source, trust;
};

/// Cycles of a kernel in a run in which some work took no time.
struct FreeRun {
  std::string what;  // "bank conflicts"
  uint64_t cycles = 0;
};
struct WhatIf {
  std::string kernel;  // its readable name
  uint64_t cycles = 0;
  std::vector<FreeRun> free;
};

/// What the page says of the run as a whole.
struct RunFacts {
  std::string command;
  std::string machine, gpu;  // "b200", and the GPU that it describes
  int sms = 0;
  double clock_ghz = 0;
  std::string order;  // of completion
  std::string free;   // what takes no time in this run; empty: nothing
  std::vector<WhatIf> what_if;
  std::string against_path;  // of the report with which this run is compared; empty: none
  std::shared_ptr<const nlohmann::ordered_json> against;
  /// What rooflines are drawn from: "peak.f16" … FLOP a cycle and SM, "mem.l2.bytes_per_cycle" and
  /// "mem.dram.bytes_per_cycle".
  std::vector<MachineNumber> peaks;
};

/// Collects; a Profile beside it does the rest.
class Report {
 public:
  explicit Report(TimelineLimits limits);
  ~Report();
  std::vector<Observer*> observers();
  /// From any thread.
  void add(const Diagnosis& d);
  /// A timeline of the program's own (program_timeline.h). Throws std::invalid_argument.
  void add_program_timeline(std::string_view text);
  /// What the page shows, as read_saved_report() gives it back. `read` gives the CUDA sources.
  nlohmann::ordered_json data(const std::vector<KernelProfile>& profiles, const RunFacts& run,
                              diagnosis::ReadFile read) const;
  /// The page. Throws ReportError if the other report's data are damaged.
  void write(std::ostream& out, const std::vector<KernelProfile>& profiles, const RunFacts& run,
             diagnosis::ReadFile read) const;

 private:
  class Timelines;
  Launches launches_;
  std::unique_ptr<Timelines> timelines_;
  std::mutex mutex_;
  std::vector<Diagnosis> diagnoses_;
  uint64_t diagnoses_left_out_ = 0;
  std::vector<nlohmann::ordered_json> program_timelines_;
};

}  // namespace tinygpu::observe
