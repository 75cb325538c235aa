// Puts the times of runs of instructions (issue_order.h) into ops.
#pragma once
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/lower/touch.h"
#include "common/tinygpu/program/sass/sass_match.h"
#include "common/tinygpu/program/schedule/issue_order.h"

namespace tinygpu {

class RunTimes {
 public:
  RunTimes(Function& f, const CostTable& costs, const std::vector<Touch>& touches,
           const std::vector<uint32_t>& first_op, const SassMatch& sass)
      : f_(f), costs_(costs), touches_(touches), first_op_(first_op), sass_(sass), ready_(f.source->registers.size()) {}

  /// `waits`: by op, the scoreboards of what it reads. `repeats`: the block follows itself.
  void place(const Flow::Block& block, bool repeats, const std::vector<uint32_t>& waits);

 private:
  const ptx::Instruction& instruction(uint32_t place) const { return f_.instruction(f_.ops[first_op_[place + 1] - 1]); }
  bool apart(uint32_t inst) const;
  IssueNode node(uint32_t inst) const;
  /// Instructions [begin, end) as the chip issues them.
  struct Run {
    uint32_t begin = 0, end = 0;
    std::vector<IssueNode> nodes;
    std::vector<uint32_t> order, place_of;  // the instruction at each place, the place of each instruction
    std::vector<uint64_t> times;            // by place; the last: when the run is over
    std::vector<bool> fixed;                // accesses, and instructions that wait for what they read
    // ptxas keeps the order of those: each op keeps its own time. Otherwise the n-th op of PTX takes the time of the
    // n-th op in ptxas's order.
    bool kept = true;
  };
  Run run_of(uint32_t begin, uint32_t end, uint64_t t, const std::vector<uint32_t>& waits);
  void note_registers(const Run& run);
  static std::vector<uint64_t> starts_of(const Run& run);
  void set_stalls(const Run& run, const std::vector<uint64_t>& starts, uint64_t t);
  void wait_for_addresses(const Run& run, const std::vector<uint32_t>& waits);
  void wait_for_results(const Run& run, const std::vector<uint32_t>& waits);
  void move_costs(uint32_t begin, const std::vector<uint32_t>& order, const std::vector<bool>& fixed);
  uint64_t place(uint32_t begin, uint32_t end, uint64_t t, const std::vector<uint32_t>& waits);

  Function& f_;
  const CostTable& costs_;
  const std::vector<Touch>& touches_;
  const std::vector<uint32_t>& first_op_;
  const SassMatch& sass_;
  // Of the block.
  RegisterTimes ready_;
  std::unordered_map<uint32_t, uint64_t> first_read_;  // registers that are read before they are written
  std::unordered_set<uint32_t> written_;
};

}  // namespace tinygpu
