#include "common/tinygpu/cuda/launch_totals.h"

#include <fmt/format.h>

#include "common/tinygpu/cuda/unwritable.h"

namespace tinygpu::cuda {

double LaunchTotals::add(const std::vector<std::pair<std::string, LaunchStats>>& launches, LaunchStats all) {
  if (all.counters.empty())
    for (const auto& [name, stats] : launches)
      for (const auto& [counter, n] : stats.counters) all.counters[counter] += n;
  const double mhz = machine_.governed_mhz(all), highest = machine_.spec().clock_ghz * 1e3;
  for (const auto& [name, stats] : launches) {
    Kernel& k = kernels_[name];
    ++k.launches;
    k.cycles += stats.cycles;
    k.instructions += stats.instructions;
    for (const auto& [counter, n] : stats.counters) k.counters[counter] += n;
    k.governed_ms += double(stats.cycles) / (mhz * 1e3);
  }
  if (clock_ != api::Options::Clock::power) return 1 / (highest * 1e3);
  slower_ms_ += double(all.cycles) * (1 / mhz - 1 / highest) / 1e3;
  return 1 / (mhz * 1e3);
}

void LaunchTotals::print() const {
  for (const auto& [name, k] : kernels_) {
    std::string text = fmt::format("tinygpu counters: {}\n  {:<32} {}\n  {:<32} {}\n  {:<32} {}\n", name, "launches",
                                   k.launches, "cycles", k.cycles, "warp instructions", k.instructions);
    if (k.governed_ms > 0)
      text += fmt::format("  {:<32} {:.0f}\n", "MHz that power leaves", double(k.cycles) / k.governed_ms / 1e3);
    for (const auto& [counter, n] : k.counters) text += fmt::format("  {:<32} {}\n", counter, n);
    print_error(text);
  }
}

}  // namespace tinygpu::cuda
