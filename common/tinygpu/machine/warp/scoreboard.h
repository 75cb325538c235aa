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
  void result_at(uint8_t board, uint64_t when) { ready_[board] = std::max(ready_[board], when); }
  static constexpr uint64_t kUnknown = ~0ull;
  /// The result of `op` has been asked for; nobody knows yet when it will be there.
  void asked(const Op& op) {
    if (op.set_sb == 0xff) return;
    ++asked_[op.set_sb];
    unknown_ |= 1u << op.set_sb;
  }
  /// The answer to one asked() of `board`.
  void answered(uint8_t board, uint64_t when) {
    result_at(board, when);
    if (--asked_[board] == 0) unknown_ &= ~(1u << board);
  }
  /// When an op that is next at `time` has its operands; kUnknown: that depends on answers to come.
  uint64_t operands_of(const Op& op, uint64_t time) const {
    if (op.wait_sb & unknown_) return kUnknown;
    for (uint32_t m = op.wait_sb; m; m &= m - 1) time = std::max(time, ready_[__builtin_ctz(m)]);
    return time;
  }

 private:
  uint64_t ready_[32] = {};
  uint32_t asked_[32] = {}, unknown_ = 0;
};

}  // namespace tinygpu
