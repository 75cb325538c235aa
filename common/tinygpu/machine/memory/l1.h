// The L1 cache of an SM: tags of lines of 128 bytes with their sectors of 32. It takes what shared memory leaves.
// Stores go through it and leave no line behind; an acquire empties it. Which values a load gets does not depend on it.
#pragma once
#include <cstdint>
#include <vector>

namespace tinygpu {

class L1Cache {
 public:
  explicit L1Cache(uint32_t bytes = 0);
  /// It is empty, and so large, from here on.
  void resize(uint32_t bytes);

  /// When a line's sectors come that were asked for last: a time, or the number of a request without an answer yet.
  /// Grids that share an SM count their requests by themselves: `grid` tells them apart.
  struct Arrival {
    static constexpr uint64_t kAsked = uint64_t(1) << 63;
    uint64_t value = 0;
    static Arrival asked(uint32_t request, uint32_t grid) { return {kAsked | uint64_t(grid) << 32 | request}; }
    bool unknown() const { return value & kAsked; }
    uint32_t request() const { return uint32_t(value); }
    bool of_same_grid(Arrival other) const { return value >> 32 == other.value >> 32; }
  };
  /// Sectors `wanted` (bit i: sector i) of a line are loaded. Those that are not there will be, at `arrival`, and are
  /// returned; `then`: when the others come. What another grid has asked for without an answer yet is as good as not
  /// there: it is asked for again.
  uint32_t load(uint64_t line, uint32_t wanted, Arrival arrival, Arrival& then);
  /// The line's sectors that request `asked` was for come at `time`.
  void arrives(uint64_t line, Arrival asked, uint64_t time);
  void empty();

 private:
  static constexpr uint32_t kWays = 16;
  struct Set {
    uint32_t tag[kWays];     // line + 1; 0: nothing
    uint8_t sectors[kWays];  // that are there or on the way
    uint8_t next = 0;        // way that is given up next
    Arrival arrival[kWays];
  };
  Set& set_of(uint64_t line) { return sets_[(line ^ line >> 7 ^ line >> 14) % count_]; }
  uint32_t count_;         // sets
  std::vector<Set> sets_;  // made when something is loaded: a launch makes all SMs, and many never load
  bool used_ = false;
};

}  // namespace tinygpu
