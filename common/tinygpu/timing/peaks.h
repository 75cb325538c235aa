// The highest rates of a chip, for rooflines. Per cycle of the SM clock.
#pragma once
#include <optional>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct Peaks {
  // Bytes: of shared memory, one SM; of L2 and of device memory, the whole chip.
  double shared_bytes, l2_bytes, dram_bytes;
  // Dense operations of one SM's tensor cores, a multiplication and an addition each counted.
  double f16, tf32, f8;
  std::optional<double> f4;  // of machines that have such formats
  explicit Peaks(const MachineSpec& spec);
};

}  // namespace tinygpu
