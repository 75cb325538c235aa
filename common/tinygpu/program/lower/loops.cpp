#include "common/tinygpu/program/lower/loops.h"

#include <algorithm>

namespace tinygpu {
namespace {

/// Blocks in reverse postorder.
std::vector<uint32_t> forward_order(const std::vector<std::vector<uint32_t>>& next) {
  std::vector<uint32_t> order;
  if (next.empty()) return order;
  std::vector<bool> seen(next.size());
  std::vector<std::pair<uint32_t, size_t>> stack{{0, 0}};
  seen[0] = true;
  while (!stack.empty()) {
    auto& [b, k] = stack.back();
    if (k == next[b].size()) {
      order.push_back(b);
      stack.pop_back();
      continue;
    }
    const uint32_t to = next[b][k++];
    if (seen[to]) continue;
    seen[to] = true;
    stack.emplace_back(to, 0);
  }
  std::ranges::reverse(order);
  return order;
}

/// Immediate dominators (Cooper, Harvey, Kennedy); -1: not reached.
std::vector<int32_t> dominators(const std::vector<std::vector<uint32_t>>& previous,
                                const std::vector<uint32_t>& order) {
  std::vector<int32_t> place(previous.size(), -1), of(previous.size(), -1);
  for (uint32_t i = 0; i < order.size(); ++i) place[order[i]] = int32_t(i);
  if (!order.empty()) of[order[0]] = int32_t(order[0]);
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t i = 1; i < order.size(); ++i) {
      int32_t best = -1;
      for (uint32_t p : previous[order[i]]) {
        if (of[p] < 0) continue;
        if (best < 0) {
          best = int32_t(p);
          continue;
        }
        int32_t a = best, b = int32_t(p);
        while (a != b) {
          while (place[a] > place[b]) a = of[a];
          while (place[b] > place[a]) b = of[b];
        }
        best = a;
      }
      if (best == of[order[i]]) continue;
      of[order[i]] = best;
      changed = true;
    }
  }
  return of;
}

}  // namespace

Loops find_loops(const std::vector<std::vector<uint32_t>>& next) {
  Loops out;
  out.loop_of.assign(next.size(), -1);
  out.reached.assign(next.size(), false);
  std::vector<std::vector<uint32_t>> previous(next.size());
  for (uint32_t b = 0; b < next.size(); ++b)
    for (uint32_t to : next[b]) previous[to].push_back(b);
  const std::vector<uint32_t> order = forward_order(next);
  const std::vector<int32_t> dominator = dominators(previous, order);
  for (uint32_t b : order) out.reached[b] = true;
  const auto dominates = [&](uint32_t a, uint32_t b) {
    while (b != a && dominator[b] != int32_t(b)) b = uint32_t(dominator[b]);
    return a == b;
  };
  for (uint32_t header = 0; header < next.size(); ++header) {
    if (!out.reached[header]) continue;
    std::vector<uint32_t> work;
    for (uint32_t p : previous[header])
      if (out.reached[p] && dominates(header, p)) work.push_back(p);
    if (work.empty()) continue;
    std::vector<uint32_t> blocks{header};
    while (!work.empty()) {
      const uint32_t b = work.back();
      work.pop_back();
      if (std::ranges::find(blocks, b) != blocks.end()) continue;
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
