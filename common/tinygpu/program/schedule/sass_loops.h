// Applies to a loop's ops what ptxas did to the loop: unrolled turns whose loads go together, loads hoisted out of it.
#pragma once
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/sass/sass_match.h"

namespace tinygpu {

class SassLoops {
 public:
  /// `branch`: cycles of a branch that is taken.
  SassLoops(Function& f, const Flow& flow, const std::vector<uint32_t>& first_op, uint32_t branch)
      : f_(f), flow_(flow), first_op_(first_op), branch_(branch) {}
  /// After the times of runs are known.
  void apply(const SassMatch::LoopShare& loop);

 private:
  Op& last_of(uint32_t block) { return f_.ops[first_op_[flow_.blocks[block].end] - 1]; }
  template <class Use>
  void each_op(const SassMatch::LoopShare& loop, Use use);
  /// Of a turn.
  uint64_t stalls(const SassMatch::LoopShare& loop);
  void pace(const SassMatch::LoopShare& loop);
  void join_turns(const SassMatch::LoopShare& loop, const std::vector<uint32_t>& entries);
  void take_loads_out(const SassMatch::LoopShare& loop, const std::vector<uint32_t>& entries);

  Function& f_;
  const Flow& flow_;
  const std::vector<uint32_t>& first_op_;
  const uint32_t branch_;
  uint8_t hoisted_ = 0;  // loops whose loads were taken out
};

}  // namespace tinygpu
