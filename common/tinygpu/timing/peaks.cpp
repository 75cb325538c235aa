#include "common/tinygpu/timing/peaks.h"

namespace tinygpu {

Peaks::Peaks(const MachineSpec& s)
    : shared_bytes(s.number("mem.shared.bytes_per_cycle")),
      l2_bytes(s.number("mem.l2.bytes_per_cycle")),
      dram_bytes(s.number("mem.dram.bytes_per_cycle")),
      f16(s.number("peak.f16")),
      tf32(s.number("peak.tf32")),
      f8(s.number("peak.f8")) {
  if (s.has_tmem) f4 = s.number("peak.f4");
}

}  // namespace tinygpu
