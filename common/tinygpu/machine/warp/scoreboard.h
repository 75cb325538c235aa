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
    if (op.set_sb == 0xff) return;
    ++since_[op.set_sb];
    if (when > ready_[op.set_sb]) ready_[op.set_sb] = when;
  }
  void result_at(uint8_t board, uint64_t when) { ready_[board] = std::max(ready_[board], when); }
  static constexpr uint64_t kUnknown = ~0ull;
  /// The result of `op` has been asked for; when it will be there is not known yet.
  void asked(const Op& op) {
    if (op.set_sb == 0xff) return;
    ++asked_[op.set_sb];
    ++since_[op.set_sb];
    unknown_ |= 1u << op.set_sb;
  }
  /// The answer to one asked() of `board`.
  void answered(uint8_t board, uint64_t when) {
    result_at(board, when);
    if (--asked_[board] == 0) unknown_ &= ~(1u << board);
  }
  /// When an op that is next at `time` has its operands; kUnknown: that depends on answers to come.
  uint64_t operands_of(const Op& op, uint64_t time) {
    if (op.turns > 1) [[unlikely]]
      return operands_in_turn(op, time);
    if (op.wait_sb & unknown_) return kUnknown;
    for (uint32_t m = op.wait_sb; m; m &= m - 1) time = std::max(time, ready_[__builtin_ctz(m)]);
    return time;
  }

 private:
  /// The same of an op that waits in every Op::turns-th turn, when so many results have been asked for.
  uint64_t operands_in_turn(const Op& op, uint64_t time) {
    uint32_t due = 0;
    for (uint32_t m = op.wait_sb; m; m &= m - 1)
      if (since_[__builtin_ctz(m)] >= op.turns) due |= m & -m;
    if (due & unknown_) return kUnknown;
    for (uint32_t m = due; m; m &= m - 1) {
      time = std::max(time, ready_[__builtin_ctz(m)]);
      since_[__builtin_ctz(m)] = 0;
    }
    return time;
  }

  uint64_t ready_[32] = {};
  uint32_t since_[32] = {};  // results asked for since an op waited in its turn
  uint32_t asked_[32] = {}, unknown_ = 0;
};

}  // namespace tinygpu
