// The L1 cache of an SM: tags of lines of 128 bytes with their sectors of 32. It takes what shared memory leaves.
// Stores go through it and leave no line behind; an acquire empties it. Which values a load gets does not depend on it.
#pragma once
#include <cstdint>
#include <vector>

namespace tinygpu {

class L1Cache {
 public:
  explicit L1Cache(uint32_t bytes);

  /// When a line's sectors come that were asked for last: a time, or the number of a request without an answer yet.
  struct Arrival {
    static constexpr uint64_t kAsked = uint64_t(1) << 63;
    uint64_t value = 0;
    static Arrival asked(uint32_t request) { return {kAsked | request}; }
    bool unknown() const { return value & kAsked; }
    uint32_t request() const { return uint32_t(value); }
  };
  /// Sectors `wanted` (bit i: sector i) of a line are loaded. Those that are not there will be, at `arrival`, and are
  /// returned; `then`: when the others come.
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
  const uint32_t count_;   // sets
  std::vector<Set> sets_;  // made when something is loaded: a launch makes all SMs, and many never load
  bool used_ = false;
};

}  // namespace tinygpu
