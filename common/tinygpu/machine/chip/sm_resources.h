// Resources of an SM that CTAs occupy: CTA slots, warp slots, shared memory, registers. Of each free part it is known
// since when it has been free, because a CTA that takes another's place starts cta_refill cycles behind that one's end.
#pragma once
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace tinygpu {

/// What a CTA needs of each: CTA slots, warp slots, bytes of shared memory, registers.
using CtaResources = std::array<uint32_t, 4>;

class SmResources {
 public:
  explicit SmResources(const CtaResources& all) {
    for (size_t k = 0; k < all.size(); ++k) {
      free_[k] = all[k];
      parts_[k].push_back({0, all[k]});
    }
  }
  bool fits(const CtaResources& need) const {
    for (size_t k = 0; k < need.size(); ++k)
      if (free_[k] < need[k]) return false;
    return true;
  }
  /// Since when that much has been free; 0: since the beginning. A CTA takes what has been free for longest. It fits.
  uint64_t since(const CtaResources& need) const {
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
  void take(const CtaResources& need) {
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
  void give(const CtaResources& what, uint64_t time) {
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
  /// Counts changes: a cached answer is valid while this is the same.
  uint64_t changes() const { return changes_; }

 private:
  struct Part {
    uint64_t since;
    uint32_t amount;
  };
  CtaResources free_;
  std::array<std::vector<Part>, 4> parts_;  // the oldest first
  uint64_t changes_ = 1;
};

}  // namespace tinygpu
