// What is given away of a unit that does one thing at a time: an issue port, a pipe, the ways to memory. Warps come out
// of order, by RunOptions::run_ahead at most: who is behind gets a cycle that those ahead of it have left free.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace tinygpu {

/// Cycles of a unit.
struct TakenCycles {
  int64_t begin, end;  // the first cycle, and behind the last
};

/// Of what takes a cycle or a few: the 64 cycles before the end of what is taken are remembered.
class Bookings {
 public:
  /// The first free cycle from `earliest` on.
  int64_t first(int64_t earliest) const {
    if (earliest >= end_) return earliest;
    const uint64_t open = free_from(earliest);
    return open ? first_of(open) : end_;
  }
  /// Takes the first `cycles` free ones from `earliest` on, which need not be
  /// neighbours.
  [[gnu::always_inline]] TakenCycles take(int64_t earliest, int64_t cycles) {
    if (earliest < end_) return take_left(earliest, cycles);
    append(earliest - end_, cycles);
    return {earliest, end_};
  }

 private:
  static constexpr int64_t kKept = 64;
  int64_t first_of(uint64_t open) const { return end_ - kKept + std::countr_zero(open); }
  /// The free ones from `earliest` on, which is before the end.
  uint64_t free_from(int64_t earliest) const {
    const int64_t back = end_ - earliest;
    return back >= kKept ? free_ : free_ & ~uint64_t(0) << (kKept - back);
  }
  /// take() of cycles of which those further ahead may have left some.
  [[gnu::always_inline]] TakenCycles take_left(int64_t earliest, int64_t cycles) {
    const uint64_t open = free_from(earliest);
    TakenCycles out{open ? first_of(open) : end_, end_};
    uint64_t left = open;
    for (; cycles > 0 && left; --cycles) {
      out.end = first_of(left) + 1;
      left &= left - 1;
    }
    free_ ^= open ^ left;
    if (cycles > 0) {
      append(0, cycles);
      out.end = end_;
    }
    return out;
  }
  /// Behind the end come so many free ones, and then so many that are taken.
  [[gnu::always_inline]] void append(int64_t free, int64_t taken) {
    const int64_t n = free + taken;
    end_ += n;
    if (n < kKept) [[likely]]
      free_ = free_ >> n | ~(~uint64_t(0) >> free) >> taken;
    else
      free_ = taken >= kKept ? 0 : (free >= kKept ? ~uint64_t(0) : ~(~uint64_t(0) >> free)) >> taken;
  }
  int64_t end_ = 0;
  uint64_t free_ = 0;  // bit i: cycle end_ - kKept + i
};

/// Of what lets work queue up: the 128 cycles before the end. Mostly nobody comes behind others here, so it is quick to
/// note what stays free, if not to find it.
class LongBookings {
 public:
  /// As those of Bookings.
  int64_t first(int64_t earliest) const {
    if (earliest >= end_) return earliest;
    earliest = std::max(earliest, end_ - kKept);
    for (uint64_t i = first_behind(earliest); i < count_; ++i)
      if (length(i)) return std::max(earliest, end(i) - length(i));
    return end_;
  }
  [[gnu::always_inline]] TakenCycles take(int64_t earliest, int64_t cycles) {
    if (earliest < end_) return take_left(earliest, cycles);
    const int64_t free = earliest - end_;
    gaps_[free ? count_ % kGaps : kGaps] = gap(earliest, std::min(free, kKept));
    count_ += free != 0;
    end_ = earliest + cycles;
    return {earliest, end_};
  }
  /// Nothing is taken from here on.
  int64_t end() const { return end_; }

 private:
  // As many gaps as there can be in so many cycles: behind each lies one that is taken, since nobody takes none.
  static constexpr int64_t kKept = 128, kGaps = kKept / 2;
  static uint64_t gap(int64_t end, int64_t length) { return uint64_t(end) << 8 | uint64_t(length); }
  int64_t end(uint64_t i) const { return int64_t(gaps_[i % kGaps] >> 8); }
  int64_t length(uint64_t i) const { return int64_t(gaps_[i % kGaps] & 0xff); }
  /// The first gap that ends behind `earliest`; they are in order.
  uint64_t first_behind(int64_t earliest) const {
    uint64_t i = count_;
    const uint64_t oldest = count_ - std::min<uint64_t>(count_, kGaps);
    while (i > oldest && end(i - 1) > earliest) --i;
    return i;
  }
  /// take() of cycles of which those further ahead may have left some.
  [[gnu::noinline]] TakenCycles take_left(int64_t earliest, int64_t cycles) {
    earliest = std::max(earliest, end_ - kKept);
    TakenCycles out{end_, end_};
    for (uint64_t i = first_behind(earliest); i < count_ && cycles > 0; ++i) {
      const int64_t to = end(i), from = to - length(i), begin = std::max(from, earliest);
      const int64_t taken = std::min(cycles, to - begin);
      if (taken <= 0) continue;
      if (out.begin == end_) out.begin = begin;
      out.end = begin + taken;
      cycles -= taken;
      if (begin == from) {
        gaps_[i % kGaps] = gap(to, to - out.end);
        continue;
      }
      gaps_[i % kGaps] = gap(begin, begin - from);
      if (out.end == to) continue;
      for (uint64_t k = count_++; k > i + 1; --k) gaps_[k % kGaps] = gaps_[(k - 1) % kGaps];
      gaps_[++i % kGaps] = gap(to, to - out.end);
    }
    if (cycles > 0) out.end = end_ += cycles;
    return out;
  }
  int64_t end_ = 0;
  uint64_t count_ = 0;  // of gaps
  // The last of them: where one ends, and in the low 8 bits how long it is. Behind them one that nobody reads.
  uint64_t gaps_[kGaps + 1] = {};
};

}  // namespace tinygpu
