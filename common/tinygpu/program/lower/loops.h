// Natural loops of a flow graph.
#pragma once
#include <cstdint>
#include <vector>

namespace tinygpu {

struct Loop {
  uint32_t header = 0;
  std::vector<uint32_t> blocks;  // all of them, those of loops inside too; sorted
  int32_t parent = -1;           // the least loop around it
};

struct Loops {
  std::vector<Loop> all;         // by header, outer before inner
  std::vector<int32_t> loop_of;  // block → the least loop that it is part of, -1: none
  std::vector<bool> reached;     // block: from the first one
};

/// `next`: by block; the first one is where the function begins. Loops with two ways in are not found.
Loops find_loops(const std::vector<std::vector<uint32_t>>& next);

}  // namespace tinygpu
