#include "common/tinygpu/program/schedule/sass_loops.h"

#include <algorithm>

#include "common/tinygpu/program/schedule/stall.h"

namespace tinygpu {
namespace {

// Instruction fetch of a loop's next turn (probe_00_fetch, H200, 2026-11-22; assumed for a B200 too). A sub-partition's
// own cache holds loops of 323 instructions; it does not hold loops of 387, whose first instructions come 11 cycles
// later. When many warps share the issue port, a loop of up to 19 instructions takes 1.2 to 1.6 cycles more of it than
// it has instructions; a loop of 23 or more takes none.
constexpr uint32_t kNear = 355, kFromAfar = 11;
constexpr uint32_t kShort = 20, kShortIssue = 1;

using Role = Op::LoopRole;

bool is_load(const Op& op) { return op.cost == CostClass::shared_load || op.cost == CostClass::global_load; }

}  // namespace

template <class Use>
void SassLoops::each_op(const SassMatch::LoopShare& loop, Use use) {
  for (uint32_t b : loop.own)
    for (uint32_t k = first_op_[flow_.blocks[b].begin]; k < first_op_[flow_.blocks[b].end]; ++k) use(f_.ops[k]);
}

uint64_t SassLoops::stalls(const SassMatch::LoopShare& loop) {
  uint64_t cycles = 0;
  each_op(loop, [&](const Op& op) { cycles += op.stall; });
  return cycles;
}

void SassLoops::apply(const SassMatch::LoopShare& loop) {
  const auto outside = [&](uint32_t b) { return !std::ranges::binary_search(loop.blocks, b); };
  std::vector<uint32_t> entries;
  for (uint32_t b : flow_.blocks[loop.header].previous)
    if (outside(b)) entries.push_back(b);
  if (loop.cycles) pace(loop);
  if (const uint64_t all = stalls(loop); loop.least > all) {
    Op& end = last_of(loop.own.back());
    end.stall = stall_of(end.stall + loop.least - all);
  }
  // The cost of a taken branch to a warp that is alone: once for all turns of PTX in one turn of the machine code.
  const uint32_t back = branch_ + (loop.instructions > kNear ? kFromAfar : 0);
  for (uint32_t b : flow_.blocks[loop.header].previous)
    if (!outside(b)) {
      Op& last = last_of(b);
      last.stall = stall_of(last.stall + back / loop.unrolled);
      if (loop.instructions < kShort && loop.unrolled == 1) last.issue = uint8_t(last.issue + kShortIssue);
    }
  // Time must pass in every turn.
  if (!stalls(loop)) last_of(loop.own.back()).stall = 1;
  if (loop.no_loads)
    take_loads_out(loop, entries);
  else if (loop.turns > 1)
    join_turns(loop, entries);
}

/// Stretches or shortens the stalls of a turn so that it takes the cycles that ptxas's stalls add up to.
void SassLoops::pace(const SassMatch::LoopShare& loop) {
  const uint64_t all = stalls(loop);
  if (!all) return;
  uint64_t begun = 0, given = 0;
  each_op(loop, [&](Op& op) {
    begun += op.stall;
    const uint64_t until = begun * loop.cycles / all;
    op.stall = stall_of(until - given);
    given = until;
  });
}

void SassLoops::join_turns(const SassMatch::LoopShare& loop, const std::vector<uint32_t>& entries) {
  uint32_t inside = 0, before = 0;
  each_op(loop, [&](const Op& op) {
    if (op.set_sb != 0xff) inside |= 1u << op.set_sb;
  });
  each_op(loop, [&](Op& op) {
    if (!(op.wait_sb & inside)) return;
    // Results of loads before the loop are waited for before the loop.
    before |= op.wait_sb & ~inside;
    op.wait_sb &= inside;
    op.turns = uint8_t(std::min(loop.turns, 255u));
  });
  for (uint32_t b : entries) last_of(b).wait_sb |= before;
}

void SassLoops::take_loads_out(const SassMatch::LoopShare& loop, const std::vector<uint32_t>& entries) {
  if (hoisted_ == Op::kMostLoops) return;
  std::vector<uint32_t> latches;
  for (uint32_t b : flow_.blocks[loop.header].previous)
    if (std::ranges::binary_search(loop.blocks, b)) latches.push_back(b);
  // An op has one role.
  const auto taken = [&](uint32_t b) { return last_of(b).loop_role != Role::none || is_load(last_of(b)); };
  if (std::ranges::any_of(entries, taken) || std::ranges::any_of(latches, taken)) return;
  const uint8_t number = hoisted_++;
  const auto give = [&](Op& op, Role role) {
    op.loop_role = role;
    op.loop = number;
  };
  each_op(loop, [&](Op& op) {
    if (is_load(op)) give(op, Role::load);
  });
  for (uint32_t b : entries) give(last_of(b), Role::before);
  for (uint32_t b : latches) give(last_of(b), Role::end_of_turn);
}

}  // namespace tinygpu
