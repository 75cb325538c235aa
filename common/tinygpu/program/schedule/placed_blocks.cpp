#include "common/tinygpu/program/schedule/placed_blocks.h"

#include <algorithm>

namespace tinygpu {
namespace {

constexpr uint32_t kFirstSassBoard = kBoards - kSassBoards;

uint8_t board(uint8_t of_sass) { return of_sass < kSassBoards ? uint8_t(kFirstSassBoard + of_sass) : uint8_t(0xff); }

}  // namespace

PlacedBlocks::PlacedBlocks(const std::vector<uint32_t>& first_op, const std::vector<SassBlock>& blocks) {
  for (const SassBlock& b : blocks) {
    blocks_.emplace(b.begin, &b);
    for (uint32_t i = 0; i < b.places.size(); ++i) {
      const uint8_t sets = board(b.places[i].sets);
      if (sets != 0xff) boards_.emplace(first_op[b.begin + i + 1] - 1, sets);
    }
  }
}

const SassBlock* PlacedBlocks::find(uint32_t begin) const {
  const auto it = blocks_.find(begin);
  return it == blocks_.end() ? nullptr : it->second;
}

uint8_t PlacedBlocks::board_of(size_t k) const {
  const auto it = boards_.find(uint32_t(k));
  return it == boards_.end() ? 0xff : it->second;
}

void take_places(Function& f, const std::vector<uint32_t>& first_op, const SassBlock& block,
                 const std::vector<uint32_t>& waits, uint32_t branch) {
  for (uint32_t i = 0; i < block.places.size(); ++i) {
    const SassBlock::Place& place = block.places[i];
    const uint32_t first = first_op[block.begin + i], last = first_op[block.begin + i + 1] - 1;
    for (uint32_t k = first; k <= last; ++k) {
      Op& op = f.ops[k];
      op.stall = 0;
      // The machine code's scoreboards cover this block's loads alone; other results keep the ones assigned here.
      op.wait_sb = waits[k] & ((1u << kFirstSassBoard) - 1);
      if (k - first >= place.before.size()) continue;
      const SassStep& step = place.before[k - first];
      op.issue = step.issue;
      op.pipe = step.pipe;
      op.occupies = step.occupies;
      op.stall = step.stall;
      op.wait_sb |= uint32_t(step.waits) << kFirstSassBoard;
      op.set_sb = board(step.sets);
      op.imm = step.latency;
    }
    Op& op = f.ops[last];
    op.stall = place.stall;
    op.wait_sb |= uint32_t(place.waits) << kFirstSassBoard;
    if (op.cost == CostClass::async_issue) op.set_sb = board(place.reads);
    // An op without a stall stands for no machine instruction.
    if (!place.stall) {
      op.issue = 0;
      op.pipe = Pipe::none;
    }
  }
  if (!block.of_loop) return;
  Op& back = f.ops[first_op[block.begin + block.places.size()] - 1];
  back.stall = uint16_t(back.stall + branch);
}

}  // namespace tinygpu
