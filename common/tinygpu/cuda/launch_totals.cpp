#include "common/tinygpu/cuda/launch_totals.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/cuda/unwritable.h"

namespace tinygpu::cuda {
namespace {

using Clock = api::Options::Clock;

void add_to(LaunchStats& sum, const LaunchStats& stats) {
  sum.cycles += stats.cycles;
  sum.instructions += stats.instructions;
  for (const auto& [counter, n] : stats.counters) sum.counters[counter] += n;
}

std::string line(const char* what, const std::string& value) { return fmt::format("  {:<32} {}\n", what, value); }

uint64_t operations(const LaunchStats& stats) {
  uint64_t n = 0;
  for (const auto& [name, count] : stats.counters)
    if (name.ends_with(" operations") && name != kTensorWork) n += count;
  return n;
}

}  // namespace

LaunchTotals::LaunchTotals(const api::Machine& machine, Clock clock)
    : machine_(machine), clock_(clock), power_(machine.spec()), average_watts_(power_.idle()) {}

double LaunchTotals::add(const std::vector<std::pair<std::string, LaunchStats>>& launches, LaunchStats all) {
  LaunchStats sum;
  for (const auto& [name, stats] : launches) add_to(sum, stats);
  all.instructions = sum.instructions;
  all.counters = sum.counters;
  const Activity activity = api::activity_of(all);
  const api::PoweredRun cold = power_.cold(activity), sustained = power_.sustained(activity),
                        now = power_.behind(activity, average_watts_);
  for (const auto& [name, stats] : launches) {
    Kernel& k = kernels_[name];
    ++k.launches;
    add_to(k.sum, stats);
    const double share = sum.cycles ? double(stats.cycles) / double(sum.cycles) : 0;
    k.cold += cold.share(share);
    k.sustained += sustained.share(share);
    if (stats.cycles < k.longest) continue;
    k.longest = stats.cycles;
    k.band = &api::error_band_of(stats, machine_.spec());
  }
  const double highest = 1 / (machine_.spec().clock_ghz * 1e6);
  if (all.cycles == 0 || clock_ == Clock::highest || clock_ == Clock::pinned) return highest;
  const api::PoweredRun& run = clock_ == Clock::sustained ? sustained : now;
  const double each = run.seconds * 1e3 / double(all.cycles);
  slower_ms_ += double(all.cycles) * (each - highest);
  return each;
}

std::string LaunchTotals::seconds_of(const Kernel& k) const {
  if (k.sum.cycles == 0) return {};
  std::string text;
  if (clock_ == Clock::pinned) {
    text += line("microseconds", fmt::format("{:.2f}", double(k.sum.cycles) / (machine_.spec().clock_ghz * 1e3)));
  } else {
    const auto both = [&](const char* what, const char* form, auto value) {
      text += line(what, fmt::format(fmt::runtime(form), value(k.cold), value(k.sustained)));
    };
    both("MHz, cold and sustained", "{:.0f} {:.0f}", [](const api::PoweredRun& r) { return r.mhz(); });
    both("microseconds, the same", "{:.2f} {:.2f}", [](const api::PoweredRun& r) { return r.seconds * 1e6; });
    if (const uint64_t n = operations(k.sum))
      both("TFLOP/s, the same", "{:.1f} {:.1f}",
           [n](const api::PoweredRun& r) { return double(n) / r.seconds * 1e-12; });
    both("joules, the same", "{:.4g} {:.4g}", [](const api::PoweredRun& r) { return r.joules; });
    if (k.sum.counters.contains(kTensorWork) && !k.sum.counters.contains(kOperandBits.all))
      text += line("operands", "no values under --timing-only: power is that of normally distributed ones");
  }
  if (k.band && k.band->rows)
    text += line("cycles' error",
                 fmt::format("± {:.0f} %, nine in ten within {:.0f} %: mean of {} held-out rows on an H200 ({}){}",
                             k.band->mean * 100, k.band->ninetieth * 100, k.band->rows, k.band->kernels,
                             machine_.spec().name == "h200" ? "" : "; no " + machine_.spec().name + " was measured"));
  return text;
}

void LaunchTotals::print() const {
  for (const auto& [name, k] : kernels_) {
    std::string text = fmt::format("tinygpu counters: {}\n", name);
    text += line("launches", std::to_string(k.launches)) + line("cycles", std::to_string(k.sum.cycles)) +
            line("warp instructions", std::to_string(k.sum.instructions)) + seconds_of(k);
    for (const auto& [counter, n] : k.sum.counters) text += line(counter.c_str(), std::to_string(n));
    print_error(text);
  }
}

}  // namespace tinygpu::cuda
