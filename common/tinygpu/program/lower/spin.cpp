#include <algorithm>
#include <set>

#include "common/tinygpu/program/lower/flow.h"
#include "common/tinygpu/program/lower/touch.h"

namespace tinygpu {

std::vector<bool> find_spins(const Flow& flow, const std::vector<Touch>& touches) {
  std::vector<bool> spins(flow.blocks.size());
  for (uint32_t b = 0; b < flow.blocks.size(); ++b) {
    const Flow::Block& block = flow.blocks[b];
    if (std::ranges::find(block.next, b) == block.next.end()) continue;
    std::set<uint32_t> brought, defined;  // read before anything in the block writes them; written
    for (uint32_t i = block.begin; i < block.end; ++i) {
      for (uint32_t r : touches[i].uses)
        if (!defined.count(r)) brought.insert(r);
      defined.insert(touches[i].defs.begin(), touches[i].defs.end());
      defined.insert(touches[i].async_defs.begin(), touches[i].async_defs.end());
    }
    spins[b] = std::ranges::none_of(brought, [&](uint32_t r) { return defined.count(r) > 0; });
  }
  return spins;
}

}  // namespace tinygpu
