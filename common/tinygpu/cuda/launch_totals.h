// What launches added up to, for --counters, and what turns their cycles into seconds.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/api/machine.h"
#include "common/tinygpu/api/power.h"

namespace tinygpu::cuda {

class LaunchTotals {
 public:
  LaunchTotals(const api::Machine& machine, api::Options::Clock clock);
  /// Launches that ran side by side, by their kernels; `all` is what they took together. Milliseconds of a cycle of it.
  double add(const std::vector<std::pair<std::string, LaunchStats>>& launches, LaunchStats all);
  /// Milliseconds that all launches so far took longer than at the highest clock.
  double slower_ms() const { return slower_ms_; }
  /// On stderr.
  void print() const;
  void clear() { kernels_.clear(); }

 private:
  struct Kernel {
    LaunchStats sum;
    uint64_t launches = 0;
    api::PoweredRun cold, sustained;
    uint64_t longest = 0;  // cycles of the launch whose band this is
    const api::ErrorBand* band = nullptr;
  };
  std::string seconds_of(const Kernel& k) const;

  const api::Machine& machine_;
  const api::Options::Clock clock_;
  const api::PowerTiming power_;
  std::map<std::string, Kernel> kernels_;
  double average_watts_;  // that the board's controller has seen
  double slower_ms_ = 0;
};

}  // namespace tinygpu::cuda
