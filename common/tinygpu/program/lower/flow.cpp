#include "common/tinygpu/program/lower/flow.h"

#include <algorithm>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/dominators.h"

namespace tinygpu {
namespace {

constexpr size_t kMostEdges = 1 << 24;

using Kind = ptx::Operand::Kind;

bool leaves(const ptx::Instruction& i) { return i.fault.empty() && i.traits().control == ptx::Control::leave; }
bool branches(const ptx::Instruction& i) {
  const ptx::Control control = i.traits().control;
  return i.fault.empty() && (control == ptx::Control::branch || control == ptx::Control::branch_table);
}

/// Instructions that a branch leads to, each once.
std::vector<uint32_t> targets_of(const ptx::Function& f, const ptx::Instruction& i) {
  const bool table = i.traits().control == ptx::Control::branch_table;
  const ptx::Operand& o = i.operands.at(table ? 1 : 0);
  if (o.kind != Kind::label) return {};
  std::vector<uint32_t> out;
  if (!table)
    out.push_back(f.labels.at(o.label).at);
  else
    for (uint32_t l : f.targets.at(o.label).labels) out.push_back(f.labels.at(l).at);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// A block's immediate post-dominator is its dominator in the reversed graph, whose root is the exit.
std::vector<int32_t> post_dominators(const std::vector<Flow::Block>& blocks) {
  const uint32_t n = uint32_t(blocks.size()), exit = n;
  std::vector<std::vector<uint32_t>> reversed(n + 1);
  for (uint32_t b = 0; b < n; ++b) {
    reversed[b] = blocks[b].previous;
    if (blocks[b].next.empty()) reversed[exit].push_back(b);
  }
  const Dominators dominators(reversed, exit);
  std::vector<int32_t> out(n);
  for (uint32_t b = 0; b < n; ++b) out[b] = dominators.of(b) == int32_t(exit) ? -1 : dominators.of(b);
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
