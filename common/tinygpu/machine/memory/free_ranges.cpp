#include "common/tinygpu/machine/memory/free_ranges.h"

#include <algorithm>

namespace tinygpu {
namespace {

/// Spreads addresses, whose low bits are 0, over 64 bits (the finaliser of splitmix64).
uint64_t scrambled(uint64_t v) {
  v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9;
  v = (v ^ v >> 27) * 0x94d049bb133111eb;
  return v ^ v >> 31;
}

}  // namespace

void FreeRanges::update(uint32_t n) {
  Node& node = nodes_[n];
  node.largest = node.size;
  node.largest_paged = usable(node.begin, node.size, kPage);
  for (const uint32_t child : {node.left, node.right}) {
    if (child == kNone) continue;
    node.largest = std::max(node.largest, nodes_[child].largest);
    node.largest_paged = std::max(node.largest_paged, nodes_[child].largest_paged);
  }
}

void FreeRanges::split(uint32_t tree, uint64_t begin, uint32_t& below, uint32_t& rest) {
  if (tree == kNone) {
    below = rest = kNone;
  } else if (nodes_[tree].begin < begin) {
    uint32_t right;
    split(nodes_[tree].right, begin, right, rest);
    nodes_[tree].right = right;
    below = tree;
    update(tree);
  } else {
    uint32_t left;
    split(nodes_[tree].left, begin, below, left);
    nodes_[tree].left = left;
    rest = tree;
    update(tree);
  }
}

uint32_t FreeRanges::merge(uint32_t below, uint32_t above) {
  if (below == kNone) return above;
  if (above == kNone) return below;
  if (nodes_[below].priority > nodes_[above].priority) {
    const uint32_t right = merge(nodes_[below].right, above);
    nodes_[below].right = right;
    update(below);
    return below;
  }
  const uint32_t left = merge(below, nodes_[above].left);
  nodes_[above].left = left;
  update(above);
  return above;
}

uint32_t FreeRanges::find(uint32_t tree, uint64_t size, uint64_t align) const {
  if (tree == kNone) return kNone;
  const Node& node = nodes_[tree];
  if ((align >= kPage ? node.largest_paged : node.largest) < size) return kNone;
  if (const uint32_t lower = find(node.left, size, align); lower != kNone) return lower;
  if (usable(node.begin, node.size, align) >= size) return tree;
  return find(node.right, size, align);
}

std::optional<uint64_t> FreeRanges::take(uint64_t size, uint64_t align) {
  const uint32_t n = find(root_, size, align);
  if (n == kNone) return std::nullopt;
  const uint64_t begin = nodes_[n].begin, end = begin + nodes_[n].size;
  const uint64_t at = (begin + (align - 1)) & ~(align - 1);
  erase(begin);
  if (at > begin) insert(begin, at - begin);
  if (end > at + size) insert(at + size, end - at - size);
  return at;
}

bool FreeRanges::take_at(uint64_t begin, uint64_t size) {
  uint32_t before, after;
  neighbours(begin, before, after);
  if (before == kNone) return false;
  const uint64_t first = nodes_[before].begin, end = first + nodes_[before].size;
  if (begin >= end || end - begin < size) return false;
  erase(first);
  if (begin > first) insert(first, begin - first);
  if (end > begin + size) insert(begin + size, end - begin - size);
  return true;
}

void FreeRanges::insert(uint64_t begin, uint64_t size) {
  uint32_t n = uint32_t(nodes_.size());
  if (unused_.empty()) {
    nodes_.emplace_back();
  } else {
    n = unused_.back();
    unused_.pop_back();
  }
  nodes_[n] = {begin, size, scrambled(begin), 0, 0, kNone, kNone};
  update(n);
  uint32_t below, above;
  split(root_, begin, below, above);
  root_ = merge(merge(below, n), above);
}

void FreeRanges::erase(uint64_t begin) {
  uint32_t below, rest, gone, above;
  split(root_, begin, below, rest);
  split(rest, begin + 1, gone, above);
  if (gone != kNone) unused_.push_back(gone);
  root_ = merge(below, above);
}

void FreeRanges::neighbours(uint64_t begin, uint32_t& before, uint32_t& after) const {
  before = after = kNone;
  for (uint32_t n = root_; n != kNone;) {
    if (nodes_[n].begin <= begin) {
      before = n;
      n = nodes_[n].right;
    } else {
      after = n;
      n = nodes_[n].left;
    }
  }
}

void FreeRanges::add(uint64_t begin, uint64_t size) {
  uint32_t before, after;
  neighbours(begin, before, after);
  uint64_t end = begin + size;
  if (after != kNone && nodes_[after].begin == end) {
    end += nodes_[after].size;
    erase(nodes_[after].begin);
  }
  if (before != kNone && nodes_[before].begin + nodes_[before].size == begin) {
    begin = nodes_[before].begin;
    erase(begin);
  }
  insert(begin, end - begin);
}

}  // namespace tinygpu
