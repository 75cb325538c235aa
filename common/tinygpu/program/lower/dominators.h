// Dominators of a graph: block a dominates block b if every way from the root to b leads through a.
#pragma once
#include <cstdint>
#include <vector>

namespace tinygpu {

class Dominators {
 public:
  /// `next`: by block.
  Dominators(const std::vector<std::vector<uint32_t>>& next, uint32_t root);

  bool reached(uint32_t block) const { return number_[block] >= 0; }
  /// The immediate dominator; the root's own is the root; -1: not reached.
  int32_t of(uint32_t block) const { return dominator_[block]; }
  /// Both are reached.
  bool dominates(uint32_t a, uint32_t b) const { return enter_[a] <= enter_[b] && leave_[b] <= leave_[a]; }

 private:
  void walk(const std::vector<std::vector<uint32_t>>& next, uint32_t root);
  void number_tree(uint32_t root);

  std::vector<uint32_t> preorder_;
  std::vector<int32_t> number_;          // block → place in preorder_, -1: not reached
  std::vector<uint32_t> parent_;         // by number, in the depth-first tree
  std::vector<int32_t> dominator_;       // by block
  std::vector<uint32_t> enter_, leave_;  // by block: when a walk of the dominator tree enters and leaves it
};

}  // namespace tinygpu
