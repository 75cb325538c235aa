// The SM clock that power leaves, and the energy of a launch. Watts, MHz, joules.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

/// A launch's counter: operations that tensor cores could have done in f16 in the time that they took.
inline constexpr const char* kTensorWork = "tensor cores, as f16 operations";
/// Bytes that bulk copies read from L2, once for all that they go to.
inline constexpr const char* kCopiedBytes = "tma.l2.bytes";
/// Of MMAs that were looked at: bits of operands, and those that differ from the same bit of the next row; bits of
/// results, and those that differ from the same bit of the next column.
struct BitCounters {
  const char *all, *toggled;
};
inline constexpr BitCounters kOperandBits = {"operand bits looked at", "operand bits that toggle"};
inline constexpr BitCounters kResultBits = {"result bits looked at", "result bits that toggle"};

/// What a launch did, as far as its power depends on it.
struct Activity {
  uint64_t cycles = 0;
  uint64_t tensor_operations = 0;           // those of kTensorWork
  uint64_t l2_bytes = 0, copied_bytes = 0;  // that L2 gives warps, and bulk copies
  uint64_t dram_bytes = 0;
  uint64_t instructions = 0;               // of warps
  double toggle = -1, result_toggle = -1;  // shares of those bits that toggle; -1: not known
};

/// Launches in seconds.
struct PoweredRun {
  double seconds = 0, joules = 0, cycles = 0;
  double mhz() const { return seconds > 0 ? cycles / seconds * 1e-6 : 0; }
  /// A part of another.
  PoweredRun share(double part) const { return {seconds * part, joules * part, cycles * part}; }
  PoweredRun& operator+=(const PoweredRun& other) {
    seconds += other.seconds, joules += other.joules, cycles += other.cycles;
    return *this;
  }
};

/// Power is the idle board's, and the energies of what a launch does, which follow the square of the voltage. That is
/// flat up to a clock and rises linearly from there. The board's controller looks at power's average over its time
/// constant and lowers the clock where that average is at the limit. Tensor cores take the clock down at once, however
/// short they run and whatever they multiply.
class PowerTiming {
 public:
  explicit PowerTiming(const MachineSpec& spec);

  /// What it would take at that clock.
  double watts(const Activity& activity, double mhz) const;
  /// The clock that a launch begins with: the highest, or what tensor cores leave of it. 0 cycles run at the highest.
  double cold_mhz(const Activity& activity) const;
  /// The clock at which a launch that is repeated without a pause stays at the limit.
  double sustained_mhz(const Activity& activity) const;
  /// One launch out of idleness, and one of a long loop.
  PoweredRun cold(const Activity& activity) const;
  PoweredRun sustained(const Activity& activity) const;
  /// One launch behind others: `average` is the power that the controller has seen so far (idle() at first).
  PoweredRun behind(const Activity& activity, double& average) const;
  double idle() const { return idle_; }
  double limit() const { return limit_; }

 private:
  /// Watts that depend on what is done, at the highest clock.
  double dynamic(const Activity& activity) const;
  double voltage(double mhz) const;  // of that at the highest clock

  double highest_mhz_, tensor_mhz_;           // the clock without tensor cores, and with them busy all over the chip
  double tensor_share_;                       // of the peak, from which on they count as that
  double limit_, idle_;                       // of the board; at the highest clock with nothing to do
  double tensor_;                             // tensor cores at their peak: operands of one value
  double operands_, results_;                 // added if all of their bits toggled
  double assumed_, assumed_results_;          // shares of bits that toggle where that is not known
  double l2_byte_, copied_byte_, dram_byte_;  // J, of data that change
  double instruction_;                        // J, a warp's
  double flat_mhz_, flat_voltage_;            // up to that clock the voltage is that
  double time_constant_;                      // s
  double peak_;                               // of the chip's tensor cores: operations a cycle
};

}  // namespace tinygpu
