// When an op of a function may issue: static stalls for results of known latency, scoreboards for the others.
#include <algorithm>
#include <unordered_map>

#include "common/tinygpu/program/lower/dataflow.h"
#include "common/tinygpu/program/schedule/issue_cost.h"
#include "common/tinygpu/program/schedule/placed_blocks.h"
#include "common/tinygpu/program/schedule/run_times.h"
#include "common/tinygpu/program/schedule/sass_loops.h"

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
  /// `op` writes `slot`. Lanes that a guard switches off keep what an earlier producer brings.
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

}  // namespace

void FunctionBuilder::schedule(const Flow& flow) {
  for (Op& op : f_.ops) price(op, f_.source->body[op.inst], f_.entry, program_.costs_[size_t(op.cost)]);
  const SassMatch& sass = *sass_;
  take_shares(f_, first_op_, sass);
  const PlacedBlocks placed(first_op_, sass.blocks);
  BoardFlow boards;
  uint32_t next = 0;
  const uint32_t own = sass.blocks.empty() ? kBoards : kBoards - kSassBoards;
  for (size_t i = 0; i < f_.ops.size(); ++i) {
    Op& op = f_.ops[i];
    if (!program_.costs_[size_t(op.cost)].variable || op_defs_[i].empty()) continue;
    const uint8_t chosen = placed.board_of(i);
    op.set_sb = chosen != 0xff ? chosen : uint8_t(next++ % own);
    for (uint32_t d : op_defs_[i]) boards.add(d);
  }
  const auto define = [&](uint32_t k, BoardFlow::Masks& masks) {
    const Op& op = f_.ops[k];
    for (uint32_t s : op_defs_[k]) boards.define(masks, s, op, program_.costs_[size_t(op.cost)].variable);
  };
  std::vector<BoardFlow::Masks> in = boards.solve(flow, [&](const Flow::Block& block, BoardFlow::Masks& masks) {
    for (uint32_t k = first_op_[block.begin]; k < first_op_[block.end]; ++k) define(k, masks);
  });
  // Readers wait. Writers do not: where two results would meet in a register, ptxas takes another one.
  std::vector<uint32_t> waits(f_.ops.size());
  for (size_t b = 0; b < flow.blocks.size(); ++b) {
    const Flow::Block& block = flow.blocks[b];
    for (uint32_t k = first_op_[block.begin]; k < first_op_[block.end]; ++k) {
      for (uint32_t s : op_uses_[k])
        if (const uint32_t i = boards.index(s); i != BoardFlow::kNone) waits[k] |= in[b][i];
      define(k, in[b]);
    }
  }
  RunTimes times(f_, program_.costs_, touches_, first_op_, sass);
  const uint32_t branch = program_.costs_[size_t(CostClass::control)].latency;
  for (const Flow::Block& block : flow.blocks)
    if (const SassBlock* with = placed.find(block.begin))
      take_places(f_, first_op_, *with, waits, branch);
    else
      times.place(block, std::ranges::count(block.next, flow.block_of[block.begin]), waits);
  SassLoops loops(f_, flow, first_op_, branch);
  for (const SassMatch::LoopShare& loop : sass.loops) loops.apply(loop);
}

}  // namespace tinygpu
