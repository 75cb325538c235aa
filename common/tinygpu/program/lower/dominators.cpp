#include "common/tinygpu/program/lower/dominators.h"

#include <algorithm>

namespace tinygpu {
namespace {

/// The forest of Lengauer and Tarjan ("A Fast Algorithm for Finding Dominators in a Flowgraph", 1979) with path
/// compression: which ancestor of a node has the least semidominator.
class Forest {
 public:
  explicit Forest(const std::vector<uint32_t>& semidominator)
      : semidominator_(semidominator), ancestor_(semidominator.size(), kRoot), best_(semidominator.size()) {
    for (uint32_t i = 0; i < best_.size(); ++i) best_[i] = i;
  }
  void link(uint32_t parent, uint32_t node) { ancestor_[node] = parent; }
  uint32_t best(uint32_t node) {
    if (ancestor_[node] == kRoot) return node;
    path_.clear();
    for (uint32_t n = node; ancestor_[ancestor_[n]] != kRoot; n = ancestor_[n]) path_.push_back(n);
    for (; !path_.empty(); path_.pop_back()) {
      const uint32_t n = path_.back(), above = ancestor_[n];
      if (semidominator_[best_[above]] < semidominator_[best_[n]]) best_[n] = best_[above];
      ancestor_[n] = ancestor_[above];
    }
    return best_[node];
  }

 private:
  static constexpr uint32_t kRoot = ~0u;
  const std::vector<uint32_t>& semidominator_;
  std::vector<uint32_t> ancestor_, best_, path_;
};

}  // namespace

Dominators::Dominators(const std::vector<std::vector<uint32_t>>& next, uint32_t root)
    : number_(next.size(), -1), dominator_(next.size(), -1), enter_(next.size()), leave_(next.size()) {
  walk(next, root);
  // From here on blocks go by their numbers.
  const uint32_t n = uint32_t(preorder_.size());
  std::vector<std::vector<uint32_t>> previous(n), waiting(n);
  for (uint32_t i = 0; i < n; ++i)
    for (uint32_t to : next[preorder_[i]]) previous[uint32_t(number_[to])].push_back(i);
  std::vector<uint32_t> semidominator(n), dominator(n);
  for (uint32_t i = 0; i < n; ++i) semidominator[i] = i;
  Forest forest(semidominator);
  for (uint32_t i = n; i-- > 1;) {
    for (uint32_t p : previous[i]) semidominator[i] = std::min(semidominator[i], semidominator[forest.best(p)]);
    waiting[semidominator[i]].push_back(i);
    forest.link(parent_[i], i);
    for (uint32_t v : waiting[parent_[i]]) {
      const uint32_t u = forest.best(v);
      dominator[v] = semidominator[u] < semidominator[v] ? u : parent_[i];
    }
    waiting[parent_[i]].clear();
  }
  for (uint32_t i = 1; i < n; ++i)
    if (dominator[i] != semidominator[i]) dominator[i] = dominator[dominator[i]];
  for (uint32_t i = 0; i < n; ++i) dominator_[preorder_[i]] = int32_t(preorder_[dominator[i]]);
  number_tree(root);
}

void Dominators::walk(const std::vector<std::vector<uint32_t>>& next, uint32_t root) {
  struct Step {
    uint32_t block;
    size_t next;
  };
  const auto meet = [&](uint32_t block, uint32_t parent) {
    number_[block] = int32_t(preorder_.size());
    preorder_.push_back(block);
    parent_.push_back(parent);
  };
  std::vector<Step> stack{{root, 0}};
  meet(root, 0);
  while (!stack.empty()) {
    auto& [block, k] = stack.back();
    if (k == next[block].size()) {
      stack.pop_back();
      continue;
    }
    const uint32_t to = next[block][k++];
    if (number_[to] >= 0) continue;
    meet(to, uint32_t(number_[block]));
    stack.push_back({to, 0});
  }
}

/// A block's dominator has a smaller number than the block.
void Dominators::number_tree(uint32_t root) {
  std::vector<uint32_t> size(dominator_.size(), 1);
  for (size_t i = preorder_.size(); i-- > 1;) size[uint32_t(dominator_[preorder_[i]])] += size[preorder_[i]];
  std::vector<uint32_t> free(dominator_.size());  // the next number below each block
  for (uint32_t b : preorder_) {
    if (b != root) {
      uint32_t& at = free[uint32_t(dominator_[b])];
      enter_[b] = at;
      at += size[b];
    }
    leave_[b] = enter_[b] + size[b];
    free[b] = enter_[b] + 1;
  }
}

}  // namespace tinygpu
