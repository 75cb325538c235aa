#include "common/tinygpu/program/lower/loops.h"

#include <algorithm>

#include "common/tinygpu/program/lower/dominators.h"

namespace tinygpu {
Loops find_loops(const std::vector<std::vector<uint32_t>>& next) {
  Loops out;
  out.loop_of.assign(next.size(), -1);
  out.reached.assign(next.size(), false);
  if (next.empty()) return out;
  const Dominators dominators(next, 0);
  std::vector<std::vector<uint32_t>> previous(next.size());
  for (uint32_t b = 0; b < next.size(); ++b) {
    out.reached[b] = dominators.reached(b);
    for (uint32_t to : next[b]) previous[to].push_back(b);
  }
  std::vector<uint32_t> inside(next.size(), ~0u);  // the header whose loop a block was last found in
  for (uint32_t header = 0; header < next.size(); ++header) {
    if (!out.reached[header]) continue;
    std::vector<uint32_t> work;
    for (uint32_t p : previous[header])
      if (out.reached[p] && dominators.dominates(header, p)) work.push_back(p);
    if (work.empty()) continue;
    std::vector<uint32_t> blocks{header};
    inside[header] = header;
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      if (inside[b] == header) continue;
      inside[b] = header;
      blocks.push_back(b);
      for (uint32_t p : previous[b])
        if (out.reached[p]) work.push_back(p);
    }
    std::ranges::sort(blocks);
    out.all.push_back({header, std::move(blocks), -1});
  }
  std::ranges::sort(out.all, [](const Loop& a, const Loop& b) {
    return a.blocks.size() != b.blocks.size() ? a.blocks.size() > b.blocks.size() : a.header < b.header;
  });
  for (size_t i = 0; i < out.all.size(); ++i) {
    out.all[i].parent = out.loop_of[out.all[i].header];
    for (uint32_t b : out.all[i].blocks) out.loop_of[b] = int32_t(i);
  }
  return out;
}

}  // namespace tinygpu
