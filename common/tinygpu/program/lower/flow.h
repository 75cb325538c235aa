// The control flow of a function: its basic blocks and where lanes that branch apart meet again.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/ptx/module.h"

namespace tinygpu {

/// Basic blocks of a body, by instruction index.
struct Flow {
  struct Block {
    uint32_t begin = 0, end = 0;
    std::vector<uint32_t> next, previous;
    bool divergent = false;  // ends in a branch that lanes may take differently
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of;       // instruction → block
  std::vector<int32_t> post_dominator;  // block → immediate post-dominator, -1: the exit
};

/// Edges come from labels, guards and the target lists of brx.idx; ret and exit leave the function.
Flow analyse_flow(const ptx::Function& f);

}  // namespace tinygpu
