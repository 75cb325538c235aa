// Copies stalls, scoreboards and units of ptxas's code into the ops of a block whose order is known (sass_order.h).
#pragma once
#include <unordered_map>
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/sass/sass_order.h"

namespace tinygpu {

constexpr uint32_t kBoards = 32;
/// The last ones are the machine code's own, in functions that have blocks of its order.
constexpr uint32_t kSassBoards = 6;

class PlacedBlocks {
 public:
  PlacedBlocks(const std::vector<uint32_t>& first_op, const std::vector<SassBlock>& blocks);
  /// The block that begins at that instruction; null: it has no places.
  const SassBlock* find(uint32_t begin) const;
  /// The scoreboard that op `k` releases by the machine code; 0xff: by none.
  uint8_t board_of(size_t k) const;

 private:
  std::unordered_map<uint32_t, const SassBlock*> blocks_;  // by their first instruction
  std::unordered_map<uint32_t, uint8_t> boards_;           // by op
};

/// `waits`: by op, the scoreboards of what it reads. `branch`: cycles of a branch that is taken.
void take_places(Function& f, const std::vector<uint32_t>& first_op, const SassBlock& block,
                 const std::vector<uint32_t>& waits, uint32_t branch);

}  // namespace tinygpu
