#include "common/tinygpu/timing/power.h"

#include <algorithm>
#include <cmath>

namespace tinygpu {

PowerTiming::PowerTiming(const MachineSpec& s)
    : highest_mhz(s.clock_ghz * 1e3),
      tensor_mhz(s.number("power.tensor.clock")),
      tensor_share(s.number("power.tensor.share")),
      limit(s.number("power.limit")),
      idle(s.number("power.idle")),
      tensor(s.number("power.tensor")),
      l2_byte(s.number("power.l2.byte") * 1e-12),
      copied_byte(s.number("power.l2.copied_byte") * 1e-12),
      dram_byte(s.number("power.dram.byte") * 1e-12),
      peak(s.number("peak.f16") * s.sms) {}

double PowerTiming::watts(const Activity& a) const {
  if (a.cycles == 0) return idle;
  const double seconds = double(a.cycles) / (highest_mhz * 1e6);
  return idle + tensor * double(a.tensor_operations) / (peak * double(a.cycles)) +
         (l2_byte * double(a.l2_bytes) + copied_byte * double(a.copied_bytes) + dram_byte * double(a.dram_bytes)) /
             seconds;
}

double PowerTiming::clock_mhz(const Activity& a) const {
  if (a.cycles == 0) return highest_mhz;
  const double share = double(a.tensor_operations) / (peak * double(a.cycles));
  const double free = highest_mhz - (highest_mhz - tensor_mhz) * std::min(1.0, share / tensor_share);
  const double wanted = watts(a) - idle;
  if (wanted <= limit - idle) return free;
  return std::min(free, highest_mhz * std::cbrt((limit - idle) / wanted));
}

}  // namespace tinygpu
