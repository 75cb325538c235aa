#include <algorithm>

#include "common/tinygpu/program/lower/function_builder.h"

namespace tinygpu {
namespace {

constexpr size_t kMostEdges = 1 << 24;

using Kind = ptx::Operand::Kind;

bool leaves(const ptx::Instruction& i) {
  return i.fault.empty() && (i.opcode == "ret" || i.opcode == "exit" || i.opcode == "trap");
}
bool branches(const ptx::Instruction& i) { return i.fault.empty() && (i.opcode == "bra" || i.opcode == "brx.idx"); }

/// Instructions that a branch leads to, each once.
std::vector<uint32_t> targets_of(const ptx::Function& f, const ptx::Instruction& i) {
  const ptx::Operand& o = i.operands.at(i.opcode == "bra" ? 0 : 1);
  if (o.kind != Kind::label) return {};
  std::vector<uint32_t> out;
  if (i.opcode == "bra")
    out.push_back(f.labels.at(o.label).at);
  else
    for (uint32_t l : f.targets.at(o.label).labels) out.push_back(f.labels.at(l).at);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
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
  size_t edges = 0;
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
      if (to < n) block.next.push_back(flow.block_of[to]);
    };
    if (branches(last)) {
      const std::vector<uint32_t> targets = targets_of(f, last);
      for (uint32_t t : targets) edge(t);
      if (guarded && !std::ranges::binary_search(targets, block.end)) edge(block.end);
      block.divergent = block.next.size() > 1;
    } else if (leaves(last)) {
      if (guarded) edge(block.end);
    } else {
      edge(block.end);
    }
    edges += block.next.size();
    if (edges > kMostEdges)
      throw LinkError("function " + f.name + " has more than " + std::to_string(kMostEdges) +
                      " ways from branch to target");
    for (uint32_t t : block.next) flow.blocks[t].previous.push_back(b);
  }
  flow.post_dominator = post_dominators(flow.blocks);
  return flow;
}

}  // namespace tinygpu
