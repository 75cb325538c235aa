// What launches added up to, for --counters, and the time that they took at the clock that power leaves.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/api/machine.h"

namespace tinygpu::cuda {

class LaunchTotals {
 public:
  LaunchTotals(const api::Machine& machine, api::Options::Clock clock) : machine_(machine), clock_(clock) {}
  /// Launches that ran side by side, by their kernels; `all` is what they took together. Milliseconds of a cycle of it.
  double add(const std::vector<std::pair<std::string, LaunchStats>>& launches, LaunchStats all);
  /// Milliseconds that all launches so far took longer than at the highest clock.
  double slower_ms() const { return slower_ms_; }
  /// On stderr.
  void print() const;
  void clear() { kernels_.clear(); }

 private:
  struct Kernel {
    uint64_t launches = 0, cycles = 0, instructions = 0;
    double governed_ms = 0;  // at the clock that power leaves
    std::map<std::string, uint64_t> counters;
  };
  const api::Machine& machine_;
  const api::Options::Clock clock_;
  std::map<std::string, Kernel> kernels_;
  double slower_ms_ = 0;
};

}  // namespace tinygpu::cuda
