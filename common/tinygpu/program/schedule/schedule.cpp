#include "common/tinygpu/program/schedule/schedule.h"

#include <algorithm>
#include <unordered_map>

#include "common/tinygpu/program/lower/dataflow.h"
#include "common/tinygpu/program/schedule/issue_cost.h"
#include "common/tinygpu/program/schedule/placed_blocks.h"
#include "common/tinygpu/program/schedule/run_times.h"
#include "common/tinygpu/program/schedule/sass_loops.h"
#include "common/tinygpu/program/schedule/stall.h"

namespace tinygpu {
namespace {

constexpr size_t kMostMasks = size_t(1) << 29;  // of all blocks

/// Which scoreboards a slot's value may come from, for the slots that ops of variable latency write. Slots are shared
/// by registers whose lives do not meet, so only the producers that reach a reader count.
class BoardFlow {
 public:
  using Masks = std::vector<uint32_t>;  // by index(): scoreboards, 0 for a value that needs none
  static constexpr uint32_t kNone = ~0u;

  void add(uint32_t slot) { indices_.try_emplace(slot, uint32_t(indices_.size())); }
  uint32_t index(uint32_t slot) const {
    const auto it = indices_.find(slot);
    return it == indices_.end() ? kNone : it->second;
  }
  /// `op` writes `slot`. Lanes that a guard switches off keep the value of an earlier producer.
  void define(Masks& masks, uint32_t slot, const Op& op, bool variable) const {
    const uint32_t i = index(slot);
    if (i == kNone) return;
    const uint32_t board = variable ? 1u << op.set_sb : 0;
    masks[i] = op.guard == kNoSlot ? board : masks[i] | board;
  }
  /// The masks at the begin of every block; `run` carries them through one.
  template <class Run>
  std::vector<Masks> solve(const Flow& flow, Run run) const {
    if (flow.blocks.size() * indices_.size() > kMostMasks)
      throw LinkError("a function has too many blocks and results of variable latency");
    std::vector<Masks> in(flow.blocks.size(), Masks(indices_.size()));
    solve_forward(flow, in, run, [](uint32_t& boards, uint32_t arriving) {
      const bool more = arriving & ~boards;
      boards |= arriving;
      return more;
    });
    return in;
  }

 private:
  std::unordered_map<uint32_t, uint32_t> indices_;
};

/// Gives scoreboards to ops of variable latency, and finds for each op those that it waits for.
class Scoreboards {
 public:
  Scoreboards(Function& f, const LoweredFunction& code, const Placement& places, const CostTable& costs)
      : f_(f), code_(code), places_(places), costs_(costs) {}

  /// `own`: how many there are for results that the machine code gives none.
  void assign(const PlacedBlocks& placed, uint32_t own) {
    uint32_t next = 0;
    each_op([&](uint32_t place, uint32_t k) {
      Op& op = f_.ops[k];
      if (!is_variable(op) || !has_defs(place, k)) return;
      const uint8_t chosen = placed.board_of(k);
      op.set_sb = chosen != 0xff ? chosen : uint8_t(next++ % own);
      each_def(place, k, [&](uint32_t slot) { boards_.add(slot); });
    });
  }

  /// By op. Readers wait. Writers do not: where two results would meet in a register, ptxas takes another one.
  std::vector<uint32_t> waits() const {
    const Flow& flow = code_.flow;
    std::vector<BoardFlow::Masks> in = boards_.solve(flow, [&](const Flow::Block& block, BoardFlow::Masks& masks) {
      for (uint32_t i = block.begin; i < block.end; ++i)
        for (uint32_t k = places_.first_op[i]; k < places_.first_op[i + 1]; ++k) define(i, k, masks);
    });
    std::vector<uint32_t> waits(f_.ops.size());
    for (size_t b = 0; b < flow.blocks.size(); ++b)
      for (uint32_t i = flow.blocks[b].begin; i < flow.blocks[b].end; ++i)
        for (uint32_t k = places_.first_op[i]; k < places_.first_op[i + 1]; ++k) {
          each_use(i, k, [&](uint32_t slot) {
            if (const uint32_t s = boards_.index(slot); s != BoardFlow::kNone) waits[k] |= in[b][s];
          });
          define(i, k, in[b]);
        }
    return waits;
  }

 private:
  bool is_variable(const Op& op) const { return costs_[size_t(op.cost)].variable; }
  bool is_own(uint32_t place, uint32_t k) const { return k + 1 == places_.first_op[place + 1]; }
  template <class Use>
  void each_op(Use use) const {
    for (uint32_t i = 0; i < code_.code.size(); ++i)
      for (uint32_t k = places_.first_op[i]; k < places_.first_op[i + 1]; ++k) use(i, k);
  }
  bool has_defs(uint32_t place, uint32_t k) const {
    bool any = false;
    each_def(place, k, [&](uint32_t) { any = true; });
    return any;
  }
  template <class Use>
  void each_def(uint32_t place, uint32_t k, Use use) const {
    if (!is_own(place, k)) {
      if (f_.ops[k].dst != kNoSlot) use(f_.ops[k].dst);
    } else if (!code_.code[place].unread) {
      for (uint32_t r : code_.touches[place].defs) use(places_.slot[r]);
    }
  }
  template <class Use>
  void each_use(uint32_t place, uint32_t k, Use use) const {
    if (!is_own(place, k)) {
      if (f_.ops[k].a != kNoSlot) use(f_.ops[k].a);
      return;
    }
    for (uint32_t r : code_.touches[place].uses) use(places_.slot[r]);
    for (uint32_t before = places_.first_op[place]; before < k; ++before)
      if (f_.ops[before].dst != kNoSlot) use(f_.ops[before].dst);
  }
  void define(uint32_t place, uint32_t k, BoardFlow::Masks& masks) const {
    const Op& op = f_.ops[k];
    each_def(place, k, [&](uint32_t slot) { boards_.define(masks, slot, op, is_variable(op)); });
  }

  Function& f_;
  const LoweredFunction& code_;
  const Placement& places_;
  const CostTable& costs_;
  BoardFlow boards_;
};

}  // namespace

void schedule(Function& f, const LoweredFunction& code, const Placement& places, const SassMatch& sass,
              const CostTable& costs) {
  const std::vector<uint32_t>& first_op = places.first_op;
  take_shares(f, first_op, sass);
  const PlacedBlocks placed(first_op, sass.blocks);
  Scoreboards boards(f, code, places, costs);
  boards.assign(placed, sass.blocks.empty() ? kBoards : kBoards - kSassBoards);
  const std::vector<uint32_t> waits = boards.waits();
  RunTimes times(f, costs, code.touches, first_op, sass);
  const uint32_t branch = costs[size_t(CostClass::control)].latency;
  for (const Flow::Block& block : code.flow.blocks)
    if (const SassBlock* with = placed.find(block.begin))
      take_places(f, first_op, *with, waits, branch);
    else
      times.place(block, std::ranges::count(block.next, code.flow.block_of[block.begin]), waits);
  SassLoops loops(f, code.flow, first_op, branch);
  for (const SassMatch::LoopShare& loop : sass.loops) loops.apply(loop);
  for (const SassMatch::Wait& wait : sass.waits) {
    // Behind the instruction before, or, where none leads to it, behind its own.
    const uint32_t block = code.flow.block_of[wait.place];
    const bool first = code.flow.blocks[block].begin == wait.place;
    const bool alone = first && (!block || std::ranges::count(code.flow.blocks[block - 1].next, block) == 0);
    Op& op = f.ops[first_op[wait.place + alone] - 1];
    const uint16_t stall = stall_of(op.stall + wait.cycles);
    op.waits = uint16_t(op.waits + stall - op.stall);
    op.stall = stall;
  }
  for (Op& op : f.ops) op.settle();
}

}  // namespace tinygpu
