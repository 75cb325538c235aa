// What a grid leaves to one that may begin before it is over (programmatic dependent launch). Its results are there:
// grids of a stream run one after the other here, only their times overlap.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace tinygpu {

struct GridBefore {
  uint64_t start = 0;
  uint64_t lets_start = 0;  // when each of its CTAs had executed griddepcontrol.launch_dependents, or ended
  uint64_t ended = 0;       // its last CTA
  uint64_t over = 0;        // the grid
  uint32_t per_sm = 1;      // of its CTAs fit on an SM
  std::vector<std::vector<uint64_t>> ends;  // by SM: when the CTAs that were there last ended, the latest first

  /// From when on the SM has room for `ctas` CTAs of a kernel of which `fit` fit on an empty one; 0: at once. What both
  /// take of an SM is told by how many fit (inferred: hardware counts each resource by itself, so it may be sooner).
  uint64_t room(uint32_t sm, uint32_t ctas, uint32_t fit) const {
    if (sm >= ends.size() || !fit) return 0;
    const std::vector<uint64_t>& of = ends[sm];
    const size_t beside = ctas >= fit ? 0 : size_t(per_sm) * (fit - ctas) / fit;
    const uint64_t when = of.size() > beside ? of[beside] : 0;
    return when > lets_start ? when : 0;
  }
};

/// Of an SM's CTAs, when those ended that may still be there when the last of them lets dependents start.
class LastEnds {
 public:
  explicit LastEnds(size_t most) : most_(std::max<size_t>(1, most)) {}
  void add(uint64_t time) {
    ends_.insert(std::ranges::upper_bound(ends_, time, std::greater<>()), time);
    if (ends_.size() > most_) ends_.pop_back();
  }
  const std::vector<uint64_t>& latest_first() const { return ends_; }

 private:
  size_t most_;
  std::vector<uint64_t> ends_;
};

}  // namespace tinygpu
