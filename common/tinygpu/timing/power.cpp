#include "common/tinygpu/timing/power.h"

#include <algorithm>
#include <cmath>

namespace tinygpu {

PowerTiming::PowerTiming(const MachineSpec& s)
    : highest_mhz_(s.clock_ghz * 1e3),
      tensor_mhz_(s.number("power.tensor.clock")),
      tensor_share_(s.number("power.tensor.share")),
      limit_(s.number("power.limit")),
      idle_(s.number("power.idle")),
      tensor_(s.number("power.tensor")),
      operands_(s.number("power.tensor.operands")),
      results_(s.number("power.tensor.results")),
      assumed_(s.number("power.assumed.operands")),
      assumed_results_(s.number("power.assumed.results")),
      l2_byte_(s.number("power.l2.byte") * 1e-12),
      copied_byte_(s.number("power.l2.copied_byte") * 1e-12),
      dram_byte_(s.number("power.dram.byte") * 1e-12),
      instruction_(s.number("power.instruction") * 1e-12),
      flat_mhz_(s.number("power.voltage.flat_clock")),
      flat_voltage_(s.number("power.voltage.flat")),
      time_constant_(s.number("power.controller.time") * 1e-3),
      peak_(s.number("peak.f16") * s.sms) {}

double PowerTiming::voltage(double mhz) const {
  if (mhz >= highest_mhz_) return 1;
  return std::max(flat_voltage_, 1 - (1 - flat_voltage_) * (highest_mhz_ - mhz) / (highest_mhz_ - flat_mhz_));
}

double PowerTiming::dynamic(const Activity& a) const {
  if (a.cycles == 0) return 0;
  const double seconds = double(a.cycles) / (highest_mhz_ * 1e6);
  const double toggle = a.toggle < 0 ? assumed_ : a.toggle,
               results = a.result_toggle < 0 ? assumed_results_ : a.result_toggle;
  return (tensor_ + operands_ * toggle + results_ * results) * double(a.tensor_operations) /
             (peak_ * double(a.cycles)) +
         (l2_byte_ * double(a.l2_bytes) + copied_byte_ * double(a.copied_bytes) + dram_byte_ * double(a.dram_bytes) +
          instruction_ * double(a.instructions)) /
             seconds;
}

double PowerTiming::watts(const Activity& a, double mhz) const {
  const double v = voltage(mhz);
  return idle_ + dynamic(a) * (mhz / highest_mhz_) * v * v;
}

double PowerTiming::cold_mhz(const Activity& a) const {
  if (a.cycles == 0) return highest_mhz_;
  const double share = double(a.tensor_operations) / (peak_ * double(a.cycles));
  return highest_mhz_ - (highest_mhz_ - std::min(tensor_mhz_, highest_mhz_)) * std::min(1.0, share / tensor_share_);
}

double PowerTiming::sustained_mhz(const Activity& a) const {
  double low = 0, high = cold_mhz(a);
  if (watts(a, high) <= limit_) return high;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (watts(a, middle) > limit_ ? high : low) = middle;
  }
  return low;
}

PoweredRun PowerTiming::cold(const Activity& a) const {
  double average = idle_;
  return behind(a, average);
}

PoweredRun PowerTiming::sustained(const Activity& a) const {
  const double mhz = sustained_mhz(a), seconds = double(a.cycles) / (mhz * 1e6);
  return {seconds, seconds * watts(a, mhz), double(a.cycles)};
}

PoweredRun PowerTiming::behind(const Activity& a, double& average) const {
  const double free = cold_mhz(a), free_watts = watts(a, free);
  double left = double(a.cycles), seconds = left / (free * 1e6);
  // The average goes to what is taken now, exponentially.
  const double until = free_watts <= limit_ ? seconds
                       : average >= limit_  ? 0
                                            : time_constant_ * std::log((free_watts - average) / (free_watts - limit_));
  PoweredRun run{std::min(seconds, until), 0, left};
  run.joules = run.seconds * free_watts;
  average = free_watts + (average - free_watts) * std::exp(-run.seconds / time_constant_);
  if (run.seconds >= seconds) return run;
  left -= run.seconds * free * 1e6;
  const double mhz = sustained_mhz(a);
  seconds = left / (mhz * 1e6);
  average = limit_;
  return {run.seconds + seconds, run.joules + seconds * limit_, run.cycles};
}

}  // namespace tinygpu
