// The minimum of some times, of which one changes between two queries: a tournament tree. A change replays only the
// matches on the way from its leaf to the root.
#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tinygpu {

class TournamentTree {
 public:
  static constexpr uint64_t kNever = ~0ull;
  /// Sets `count` times; of_place(i) is the one at place i.
  template <class F>
  void assign(size_t count, F&& of_place) {
    count_ = count;
    leaves_ = std::bit_ceil(count);
    times_.assign(2 * leaves_, kNever);
    places_.assign(2 * leaves_, 0);
    for (size_t i = 0; i < count; ++i) times_[leaves_ + i] = of_place(i), places_[leaves_ + i] = uint32_t(i);
    for (size_t n = leaves_ - 1; n; --n) {
      const size_t winner = 2 * n + (times_[2 * n + 1] < times_[2 * n]);
      times_[n] = times_[winner], places_[n] = places_[winner];
    }
  }
  /// Adds a time at the next place.
  void add(uint64_t time) {
    if (count_ < leaves_) return set(uint32_t(count_++), time);
    const std::vector<uint64_t> old(times_.begin() + ptrdiff_t(leaves_), times_.end());
    assign(count_ + 1, [&](size_t i) { return i < old.size() ? old[i] : time; });
  }
  /// Changes the time at `place`.
  void set(uint32_t place, uint64_t time) {
    size_t n = leaves_ + place;
    times_[n] = time, places_[n] = place;
    while (n > 1) {
      // Without a branch, which a processor could not predict. Of equal times the one at the lower place wins.
      const uint64_t other = times_[n ^ 1];
      const uint64_t loses = -uint64_t((other < time) | ((n & 1) & (other == time)));
      time ^= (time ^ other) & loses;
      place ^= (place ^ places_[n ^ 1]) & uint32_t(loses);
      n /= 2;
      times_[n] = time, places_[n] = place;
    }
  }
  /// The earliest time; kNever if there are none.
  uint64_t time() const { return times_[1]; }
  /// The place of the earliest time; of several the first.
  size_t place() const { return places_[1]; }
  /// The earliest time but one: the winner has beaten it on its way to the root.
  uint64_t next_time() const {
    uint64_t t = kNever;
    for (size_t n = leaves_ + place(); n > 1; n /= 2) t = std::min(t, times_[n ^ 1]);
    return t;
  }

 private:
  size_t count_ = 0, leaves_ = 1;  // leaves: a power of two
  // Time and place of the winner at each node. Node 1 is the root; node n has the children 2 n and 2 n + 1; the last
  // `leaves_` nodes are the leaves.
  std::vector<uint64_t> times_ = std::vector<uint64_t>(2, kNever);
  std::vector<uint32_t> places_ = std::vector<uint32_t>(2, 0);
};

}  // namespace tinygpu
