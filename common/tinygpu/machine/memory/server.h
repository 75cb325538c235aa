// A part of the chip that takes requests one after the other: a way, a slice of L2, a group of banks.
#pragma once
#include <algorithm>

namespace tinygpu {

/// Takes work one piece after the other. What comes up to kDisorder cycles after something later has been served does
/// not wait for that: warps of an SM run ahead of each other by as much.
struct Server {
  static constexpr double kDisorder = 64;
  double free = 0;
  /// When it begins with a piece of `cycles` that comes at `time`.
  double take(double time, double cycles) {
    free = std::max(free, time - kDisorder);
    const double start = std::max(free, time);
    free += cycles;
    return start;
  }
};

}  // namespace tinygpu
