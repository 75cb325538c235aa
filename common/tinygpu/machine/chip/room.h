// What CTAs take of an SM, and what is left of it: places, warps, shared memory, registers. Of each it is known since
// when it has been free.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tinygpu {

/// Of each resource: places for CTAs, warps, bytes of shared memory, registers.
using SmShare = std::array<uint32_t, 4>;

class SmRoom {
 public:
  explicit SmRoom(const SmShare& all) {
    for (size_t k = 0; k < all.size(); ++k) {
      free_[k] = all[k];
      parts_[k].push_back({0, all[k]});
    }
  }
  bool fits(const SmShare& need) const {
    for (size_t k = 0; k < need.size(); ++k)
      if (free_[k] < need[k]) return false;
    return true;
  }
  /// Since when: 0 if nobody has had it yet. Who comes takes what has been free for longest. It fits.
  uint64_t since(const SmShare& need) const {
    uint64_t when = 0;
    for (size_t k = 0; k < need.size(); ++k) {
      uint64_t found = 0;
      for (const Part& p : parts_[k]) {
        if (found >= need[k]) break;
        found += p.amount;
        when = std::max(when, p.since);
      }
    }
    return when;
  }
  void take(const SmShare& need) {
    ++changes_;
    for (size_t k = 0; k < need.size(); ++k) {
      uint32_t left = need[k];
      free_[k] -= left;
      auto p = parts_[k].begin();
      for (; left && p != parts_[k].end(); ++p) {
        const uint32_t taken = std::min(left, p->amount);
        p->amount -= taken;
        left -= taken;
        if (p->amount) break;
      }
      parts_[k].erase(parts_[k].begin(), p);
    }
  }
  void give(const SmShare& what, uint64_t time) {
    ++changes_;
    for (size_t k = 0; k < what.size(); ++k) {
      if (!what[k]) continue;
      free_[k] += what[k];
      const auto at = std::ranges::upper_bound(parts_[k], time, {}, &Part::since);
      parts_[k].insert(at, {time, what[k]});
    }
  }
  uint32_t free_shared() const { return free_[2]; }
  /// Since when all of it has been free.
  uint64_t since_all() const {
    uint64_t when = 0;
    for (const auto& parts : parts_)
      if (!parts.empty()) when = std::max(when, parts.back().since);
    return when;
  }
  /// Another number after each change.
  uint64_t changes() const { return changes_; }

 private:
  struct Part {
    uint64_t since;
    uint32_t amount;
  };
  SmShare free_;
  std::array<std::vector<Part>, 4> parts_;  // the oldest first
  uint64_t changes_ = 1;
};

}  // namespace tinygpu
