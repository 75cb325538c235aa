// The free parts of a range of addresses: the lowest place that fits is found in logarithmic time.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

namespace tinygpu {

/// Free ranges, none touching another: a search tree over their first addresses (a treap) that also knows the largest
/// range below each node. Addresses and sizes are multiples of kUnit.
class FreeRanges {
 public:
  static constexpr uint64_t kUnit = 512;

  /// Takes `size` bytes at the lowest free multiple of `align` (a power of two); nothing if there is no such place.
  /// Alignments of up to kUnit and of a page take logarithmic time; others may look at ranges that fit but for them.
  std::optional<uint64_t> take(uint64_t size, uint64_t align);
  /// Takes [begin, begin + size) if all of it is free.
  bool take_at(uint64_t begin, uint64_t size);
  /// Gives [begin, begin + size) back; none of it may be free.
  void add(uint64_t begin, uint64_t size);
  /// How many ranges there are.
  uint64_t count() const { return nodes_.size() - unused_.size(); }

 private:
  static constexpr uint32_t kNone = ~0u;
  static constexpr uint64_t kPage = 4096;
  struct Node {
    uint64_t begin, size;
    uint64_t priority;
    uint64_t largest, largest_paged;  // of the subtree: bytes from a range's beginning, from its first whole page
    uint32_t left, right;
  };
  /// Bytes of [begin, begin + size) from the first multiple of `align` on.
  static uint64_t usable(uint64_t begin, uint64_t size, uint64_t align) {
    const uint64_t skipped = (0 - begin) & (align - 1);
    return skipped < size ? size - skipped : 0;
  }
  void update(uint32_t n);
  void split(uint32_t tree, uint64_t begin, uint32_t& below, uint32_t& rest);
  uint32_t merge(uint32_t below, uint32_t above);
  uint32_t find(uint32_t tree, uint64_t size, uint64_t align) const;
  void insert(uint64_t begin, uint64_t size);
  void erase(uint64_t begin);
  /// The last range that begins at or below `begin`, and the first behind it.
  void neighbours(uint64_t begin, uint32_t& before, uint32_t& after) const;

  std::vector<Node> nodes_;
  std::vector<uint32_t> unused_;
  uint32_t root_ = kNone;
};

}  // namespace tinygpu
