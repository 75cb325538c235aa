// Reservation tables: which cycles of a unit are taken. A unit does one thing at a time: an issue port, a pipe, the
// path to memory. Warps reserve out of order, since one may be simulated ahead of the others (RunOptions::run_ahead): a
// warp that comes later in the simulation but earlier in time back-fills cycles that are still free.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>

namespace tinygpu {

/// Cycles that a reservation has got: [begin, end).
struct TakenCycles {
  int64_t begin, end;
};

/// For units that are reserved for a few cycles at a time. It remembers the 64 cycles before the last reserved one;
/// free cycles before those are lost.
class ReservationTable {
 public:
  /// The first free cycle from `earliest` on.
  int64_t first(int64_t earliest) const {
    if (earliest >= end_) return earliest;
    const uint64_t open = free_from(earliest);
    return open ? first_of(open) : end_;
  }
  /// Reserves the first `cycles` free cycles from `earliest` on. They need not be consecutive.
  [[gnu::always_inline]] TakenCycles take(int64_t earliest, int64_t cycles) {
    if (earliest < end_) return take_left(earliest, cycles);
    append(earliest - end_, cycles);
    return {earliest, end_};
  }

 private:
  static constexpr int64_t kKept = 64;
  int64_t first_of(uint64_t open) const { return end_ - kKept + std::countr_zero(open); }
  /// The remembered free cycles from `earliest` on, which is before the end.
  uint64_t free_from(int64_t earliest) const {
    const int64_t back = end_ - earliest;
    return back >= kKept ? free_ : free_ & ~uint64_t(0) << (kKept - back);
  }
  /// take() where `earliest` is before the end: free cycles there come first.
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
  /// Moves the end: `free` cycles stay free behind it, and then `taken` are reserved.
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

/// For units at which work queues up. It remembers free cycles as gaps, in the 128 cycles before the last reserved one.
/// Back-filling is rare here, so adding a gap is fast and searching is not.
class LongReservationTable {
 public:
  /// As in ReservationTable.
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
  /// No cycle is reserved from here on.
  int64_t end() const { return end_; }

 private:
  // The most gaps that 128 cycles can hold: at least one reserved cycle lies behind each.
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
  /// take() where `earliest` is before the end: gaps there come first.
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
  // A ring of the last gaps: the end of each, and its length in the low 8 bits. The entry behind the ring is
  // write-only: where there is no gap, take() writes there, which saves a branch.
  uint64_t gaps_[kGaps + 1] = {};
};

}  // namespace tinygpu
