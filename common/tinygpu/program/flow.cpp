#include <algorithm>

#include "common/tinygpu/program/function_builder.h"

namespace tinygpu {
namespace {

bool leaves(const ptx::Instruction& i) { return i.opcode == "ret" || i.opcode == "exit" || i.opcode == "trap"; }
bool branches(const ptx::Instruction& i) { return i.opcode == "bra" || i.opcode == "brx.idx"; }

std::vector<uint32_t> targets_of(const ptx::Function& f, const ptx::Instruction& i) {
  std::vector<uint32_t> out;
  if (i.opcode == "bra") {
    out.push_back(f.labels.at(i.operands.at(0).label).at);
  } else {
    const std::string& list = i.operands.at(1).name;
    for (const auto& t : f.targets)
      if (t.name == list)
        for (uint32_t l : t.labels) out.push_back(f.labels.at(l).at);
  }
  return out;
}

/// Immediate post-dominators by the iterative algorithm of Cooper, Harvey and Kennedy on the reversed graph.
std::vector<int32_t> post_dominators(const std::vector<Flow::Block>& blocks) {
  const int n = int(blocks.size());
  const int exit = n;
  std::vector<std::vector<int>> preds(n + 1), succs(n + 1);  // of the reversed graph: succs = flow predecessors
  for (int b = 0; b < n; ++b) {
    for (uint32_t s : blocks[b].next) preds[b].push_back(int(s));
    if (blocks[b].next.empty()) preds[b].push_back(exit);
  }
  for (int b = 0; b < n; ++b)
    for (int p : preds[b]) succs[p].push_back(b);
  std::vector<int> order, number(n + 1, -1);
  std::vector<std::pair<int, size_t>> stack{{exit, 0}};
  std::vector<bool> seen(n + 1);
  seen[exit] = true;
  while (!stack.empty()) {
    auto& [b, k] = stack.back();
    if (k < succs[b].size()) {
      const int s = succs[b][k++];
      if (!seen[s]) {
        seen[s] = true;
        stack.push_back({s, 0});
      }
    } else {
      number[b] = int(order.size());
      order.push_back(b);
      stack.pop_back();
    }
  }
  std::vector<int> idom(n + 1, -1);
  idom[exit] = exit;
  auto intersect = [&](int a, int b) {
    while (a != b) {
      while (number[a] < number[b]) a = idom[a];
      while (number[b] < number[a]) b = idom[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const int b = *it;
      if (b == exit) continue;
      int best = -1;
      for (int p : preds[b]) {
        if (number[p] < 0 || idom[p] < 0) continue;
        best = best < 0 ? p : intersect(p, best);
      }
      if (best >= 0 && idom[b] != best) {
        idom[b] = best;
        changed = true;
      }
    }
  }
  std::vector<int32_t> out(n, -1);
  for (int b = 0; b < n; ++b) out[b] = idom[b] == exit || idom[b] < 0 ? -1 : idom[b];
  return out;
}

}  // namespace

Flow analyse_flow(const ptx::Function& f) {
  Flow flow;
  const uint32_t n = uint32_t(f.body.size());
  std::vector<bool> leader(n + 1, false);
  if (n) leader[0] = true;
  for (const auto& l : f.labels)
    if (l.at <= n) leader[l.at] = true;
  for (uint32_t i = 0; i < n; ++i)
    if (branches(f.body[i]) || leaves(f.body[i])) leader[i + 1] = true;
  flow.block_of.resize(n);
  for (uint32_t i = 0; i < n; ++i) {
    if (leader[i]) flow.blocks.push_back({i, i, {}, {}, false});
    flow.blocks.back().end = i + 1;
    flow.block_of[i] = uint32_t(flow.blocks.size() - 1);
  }
  for (uint32_t b = 0; b < flow.blocks.size(); ++b) {
    auto& block = flow.blocks[b];
    const ptx::Instruction& last = f.body[block.end - 1];
    const bool guarded = last.guard >= 0;
    auto edge = [&](uint32_t to) {
      if (to >= n) return;
      const uint32_t t = flow.block_of[to];
      if (std::find(block.next.begin(), block.next.end(), t) == block.next.end()) block.next.push_back(t);
    };
    if (branches(last)) {
      for (uint32_t t : targets_of(f, last)) edge(t);
      if (guarded) edge(block.end);
      block.divergent = block.next.size() > 1;
    } else if (leaves(last)) {
      if (guarded) edge(block.end);
    } else {
      edge(block.end);
    }
    for (uint32_t t : block.next) flow.blocks[t].previous.push_back(b);
  }
  flow.post_dominator = post_dominators(flow.blocks);
  return flow;
}

}  // namespace tinygpu
