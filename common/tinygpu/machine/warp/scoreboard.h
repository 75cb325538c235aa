// When results that come late are there.
#pragma once
#include <algorithm>
#include <cstdint>

#include "common/tinygpu/program/op.h"

namespace tinygpu {

class Scoreboard {
 public:
  /// The result of `op` is there at `when`.
  void result_at(const Op& op, uint64_t when) {
    if (op.set_sb != 0xff && when > ready_[op.set_sb]) ready_[op.set_sb] = when;
  }
  /// When an op that is next at `time` has its operands.
  uint64_t operands_of(const Op& op, uint64_t time) const {
    for (uint32_t m = op.wait_sb; m; m &= m - 1) time = std::max(time, ready_[__builtin_ctz(m)]);
    return time;
  }

 private:
  uint64_t ready_[32] = {};
};

}  // namespace tinygpu
