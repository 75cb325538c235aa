#include "common/tinygpu/program/schedule/run_times.h"

#include <algorithm>
#include <cmath>

#include "common/tinygpu/program/schedule/stall.h"

namespace tinygpu {
namespace {

/// Which memory an instruction reads or writes: IssueNode::Memory.
uint8_t memory_of(const ptx::Instruction& inst, const Op& op) {
  enum : uint8_t { none, reads, writes } act = none;
  switch (op.cost) {
    case CostClass::shared_load:
    case CostClass::global_load:
    case CostClass::ldmatrix: act = reads; break;
    case CostClass::local_memory: act = inst.opcode == ptx::Opcode::st ? writes : reads; break;
    case CostClass::shared_store:
    case CostClass::shared_atomic:
    case CostClass::global_store:
    case CostClass::global_atomic:
    case CostClass::stmatrix: act = writes; break;
    default: return 0;
  }
  if (act == reads && inst.has("nc")) return 0;
  const bool shared = inst.has("shared") || inst.has("shared::cta") || inst.has("shared::cluster");
  const bool other = inst.has("global") || inst.has("local");
  const uint8_t in_shared = act == reads ? IssueNode::reads_shared : IssueNode::writes_shared;
  const uint8_t in_other = act == reads ? IssueNode::reads_other : IssueNode::writes_other;
  return uint8_t((other ? 0 : in_shared) | (shared ? 0 : in_other));
}
}  // namespace

void RunTimes::place(const Flow::Block& block, bool repeats, const std::vector<uint32_t>& waits) {
  ready_.clear();
  first_read_.clear();
  written_.clear();
  uint64_t t = 0;
  for (uint32_t begin = block.begin; begin < block.end;) {
    uint32_t end = begin + 1;
    if (!apart(begin))
      while (end < block.end && !apart(end)) ++end;
    t = place(begin, end, t, waits);
    begin = end;
  }
  if (!repeats) return;
  // The next turn starts when its operands from this turn are ready.
  uint64_t next = t;
  for (const auto& [r, at] : first_read_)
    if (written_.contains(r) && ready_.at(r) > at) next = std::max(next, ready_.at(r) - at);
  Op& last = f_.ops[first_op_[block.end] - 1];
  last.stall = stall_of(last.stall + (next - t));
}

/// No other instruction moves across it: it synchronises, orders memory or reads the clock.
bool RunTimes::apart(uint32_t inst) const {
  for (uint32_t k = first_op_[inst]; k < first_op_[inst + 1]; ++k) {
    const Op& op = f_.ops[k];
    switch (op.cost) {
      case CostClass::control:
      case CostClass::barrier:
      case CostClass::mma_sync:
      case CostClass::mbarrier:
      case CostClass::async_issue:
      case CostClass::fence:
      case CostClass::special: return true;
      default:
        if (op.flags & (Op::serial | Op::reads_pending)) return true;
    }
  }
  const ptx::Instruction& i = instruction(inst);
  return i.has("volatile") || i.has("acquire") || i.has("release") || i.has("relaxed") || i.has("acq_rel");
}

IssueNode RunTimes::node(uint32_t inst) const {
  IssueNode n;
  n.uses = touches_[inst].uses;
  n.defs = touches_[inst].defs;
  n.issue = 0;
  const ptx::Instruction& i = instruction(inst);
  for (uint32_t k = first_op_[inst]; k < first_op_[inst + 1]; ++k) {
    const Op& op = f_.ops[k];
    const OpCost& cost = costs_[size_t(op.cost)];
    n.issue += op.issue;
    n.memory |= memory_of(i, op);
    n.in_turn |= op.cost == CostClass::warp_sync;
    if (op.pipe != Pipe::none) {
      n.pipe = op.pipe;
      n.occupies = op.occupies;
    }
    if (cost.variable) {
      n.expected = cost.latency;
      n.words = uint32_t(n.defs.size());
    } else if (op.issue) {
      n.latency += cost.latency;
    }
  }
  if (inst < sass_.shares.size() && sass_.shares[inst].known) {
    const OpCost& cost = costs_[size_t(f_.ops[first_op_[inst + 1] - 1].cost)];
    n.latency = uint32_t(std::lround(sass_.shares[inst].chain * float(cost.latency)));
  }
  return n;
}

/// An op that takes another's issue time also takes its unit: otherwise that time would have the cycles of both.
void RunTimes::move_costs(uint32_t begin, const std::vector<uint32_t>& order, const std::vector<bool>& fixed) {
  struct Cost {
    uint8_t issue, occupies;
    Pipe pipe;
  };
  const auto moves = [&](uint32_t n) { return !fixed[n] && first_op_[begin + n + 1] - first_op_[begin + n] == 1; };
  const auto op = [&](uint32_t n) -> Op& { return f_.ops[first_op_[begin + n]]; };
  std::vector<Cost> costs;  // as the chip has them
  for (uint32_t n : order)
    if (moves(n)) costs.push_back({op(n).issue, op(n).occupies, op(n).pipe});
  auto cost = costs.begin();
  for (uint32_t n = 0; n < order.size(); ++n) {
    if (!moves(n)) continue;
    op(n).issue = cost->issue;
    op(n).occupies = cost->occupies;
    op(n).pipe = cost++->pipe;
  }
}

RunTimes::Run RunTimes::run_of(uint32_t begin, uint32_t end, uint64_t t, const std::vector<uint32_t>& waits) {
  Run run;
  run.begin = begin;
  run.end = end;
  for (uint32_t i = begin; i < end; ++i) run.nodes.push_back(node(i));
  run.order = issue_order(run.nodes);
  run.times = issue_times(run.nodes, run.order, t, ready_);
  run.place_of.resize(run.nodes.size());
  for (uint32_t place = 0; place < run.order.size(); ++place) run.place_of[run.order[place]] = place;
  run.fixed.resize(run.nodes.size());
  for (uint32_t i = begin; i < end; ++i) {
    const IssueNode& n = run.nodes[i - begin];
    run.fixed[i - begin] = n.memory || n.words;
    for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k) run.fixed[i - begin] = run.fixed[i - begin] || waits[k];
  }
  uint32_t last = 0;
  for (uint32_t n = 0; n < run.nodes.size(); ++n) {
    if (!run.fixed[n]) continue;
    run.kept = run.kept && run.place_of[n] >= last;
    last = run.place_of[n];
  }
  return run;
}

void RunTimes::note_registers(const Run& run) {
  for (uint32_t place = 0; place < run.order.size(); ++place)
    for (uint32_t r : run.nodes[run.order[place]].uses)
      if (!written_.contains(r)) first_read_.try_emplace(r, run.times[place]);
  for (const IssueNode& n : run.nodes) written_.insert(n.defs.begin(), n.defs.end());
}

/// When each op begins, in PTX's order, and when the run is over.
std::vector<uint64_t> RunTimes::starts_of(const Run& run) {
  std::vector<uint64_t> starts = run.times;
  if (!run.kept) return starts;
  uint64_t bound = run.times.back();
  for (size_t n = run.nodes.size(); n-- > 0;) {
    starts[n] = run.fixed[n] ? run.times[run.place_of[n]] : std::min(run.times[n], bound);
    bound = starts[n];
  }
  for (size_t n = 1; n < run.nodes.size(); ++n) starts[n] = std::max(starts[n], starts[n - 1]);
  return starts;
}

/// `t`: when the run may begin.
void RunTimes::set_stalls(const Run& run, const std::vector<uint64_t>& starts, uint64_t t) {
  if (starts[0] > t && first_op_[run.begin]) {
    Op& before = f_.ops[first_op_[run.begin] - 1];
    before.stall = stall_of(before.stall + (starts[0] - t));
  }
  for (uint32_t i = run.begin; i < run.end; ++i) {
    for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k) f_.ops[k].stall = 0;
    f_.ops[first_op_[i + 1] - 1].stall = stall_of(starts[i - run.begin + 1] - starts[i - run.begin]);
  }
}

/// A load waits for its address, even where other instructions have moved.
void RunTimes::wait_for_addresses(const Run& run, const std::vector<uint32_t>& waits) {
  std::unordered_map<uint32_t, uint32_t> late;  // by register: scoreboards of what its value was made from
  for (uint32_t i = run.begin; i < run.end; ++i) {
    const IssueNode& n = run.nodes[i - run.begin];
    uint32_t needs = 0;
    for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k) needs |= waits[k];
    for (uint32_t r : n.uses)
      if (const auto it = late.find(r); it != late.end()) needs |= it->second;
    if (n.words) f_.ops[first_op_[i]].wait_sb |= needs;
    for (uint32_t r : n.defs) late[r] = n.words ? 0 : needs;
  }
}

/// An instruction that reads a late result waits at its place in the chip's order, or as soon as the result has been
/// requested. In PTX's order that place may lie before accesses which the chip issues later, but not before those that
/// it issues earlier; nor behind an access that uses the same scoreboard again.
void RunTimes::wait_for_results(const Run& run, const std::vector<uint32_t>& waits) {
  std::vector<uint32_t> asks_before(run.nodes.size());  // by place: behind the accesses made by then, in PTX's order
  for (uint32_t place = 0, behind = run.begin; place < run.order.size(); ++place) {
    asks_before[place] = behind;
    if (run.nodes[run.order[place]].words) behind = std::max(behind, run.begin + run.order[place] + 1);
  }
  std::vector<uint32_t> asks_next(32, run.end - 1);  // by scoreboard: the next access that uses it
  std::vector<std::vector<uint32_t>> bounds(run.nodes.size());
  for (uint32_t i = run.end; i-- > run.begin;) {
    for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k)
      for (uint32_t m = waits[k]; m; m &= m - 1) bounds[i - run.begin].push_back(asks_next[uint32_t(__builtin_ctz(m))]);
    for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k)
      if (f_.ops[k].set_sb != 0xff) asks_next[f_.ops[k].set_sb] = i;
  }
  std::vector<uint32_t> asked(32, run.begin);  // by scoreboard: behind this run's accesses that use it
  for (uint32_t i = run.begin; i < run.end; ++i) {
    const uint32_t place = run.place_of[i - run.begin];
    const uint32_t own = run.kept ? i : std::max(run.begin + place, asks_before[place]);
    auto bound = bounds[i - run.begin].begin();
    for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k)
      for (uint32_t m = waits[k]; m; m &= m - 1) {
        const uint32_t at = std::max(std::min(own, *bound++), asked[uint32_t(__builtin_ctz(m))]);
        f_.ops[first_op_[std::min(at, run.end - 1)]].wait_sb |= m & -m;
      }
    for (uint32_t k = first_op_[i]; k < first_op_[i + 1]; ++k)
      if (f_.ops[k].set_sb != 0xff) asked[f_.ops[k].set_sb] = i + 1;
  }
}

/// Instructions [begin, end), the first at time `t` of the block. When they are over.
uint64_t RunTimes::place(uint32_t begin, uint32_t end, uint64_t t, const std::vector<uint32_t>& waits) {
  const Run run = run_of(begin, end, t, waits);
  note_registers(run);
  const std::vector<uint64_t> starts = starts_of(run);
  move_costs(begin, run.order, run.fixed);
  set_stalls(run, starts, t);
  wait_for_addresses(run, waits);
  wait_for_results(run, waits);
  return run.times.back();
}

}  // namespace tinygpu
