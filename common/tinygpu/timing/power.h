// The SM clock that power leaves. Watts, MHz.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

/// A launch's counter: operations that tensor cores could have done in f16 in the time that they took.
inline constexpr const char* kTensorWork = "tensor cores, as f16 operations";
/// And bytes that bulk copies read from L2, once for all that they go to.
inline constexpr const char* kCopiedBytes = "tma.l2.bytes";

/// What a launch did, as far as its power depends on it.
struct Activity {
  uint64_t cycles = 0;
  uint64_t tensor_operations = 0;           // those of kTensorWork
  uint64_t l2_bytes = 0, copied_bytes = 0;  // that L2 gives warps, and bulk copies
  uint64_t dram_bytes = 0;
};

/// Tensor cores lower the clock at once, however short they run; beyond that it falls as far as the board's limit asks
/// for. The energies are those of operands that change from one to the next: zeros take a third.
struct PowerTiming {
  double highest_mhz, tensor_mhz;          // the clock without tensor cores, and with them busy all over the chip
  double tensor_share;                     // of the peak, from which on they count as that
  double limit, idle;                      // of the board; at the highest clock with nothing to do
  double tensor;                           // tensor cores at their peak, at the highest clock
  double l2_byte, copied_byte, dram_byte;  // J
  double peak;                             // of the chip's tensor cores: operations a cycle
  explicit PowerTiming(const MachineSpec& spec);

  /// Power takes the cube of the clock, since the voltage follows it: the clock at which it meets the limit, or the
  /// highest that the tensor cores leave. 0 cycles run at the highest.
  double clock_mhz(const Activity& activity) const;
  /// What it would take at the highest clock.
  double watts(const Activity& activity) const;
};

}  // namespace tinygpu
