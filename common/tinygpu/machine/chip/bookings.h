// What is given away of a unit that does one thing at a time: an issue port, a pipe, the ways to memory.
#pragma once
#include <bit>
#include <cstdint>
#include <type_traits>

namespace tinygpu {

/// Cycles of a unit that are taken. Warps come out of order, by RunOptions::run_ahead at most: who is behind gets a
/// cycle that those ahead of it have left free, and no other. Time in which nobody came is not made up for.
/// `Words`: so many times 64 cycles behind the last one taken are remembered.
template <int Words>
class BookingsOf {
 public:
  struct Taken {
    int64_t begin, end;  // the first cycle, and behind the last
  };
  /// The first free cycle from `earliest` on.
  int64_t first(int64_t earliest) const {
    if (earliest >= end_) return earliest;
    const Bits open = free_from(earliest);
    return open ? end_ - width(open) : end_;
  }
  /// Takes the first `cycles` free ones from `earliest` on, which need not be neighbours.
  Taken take(int64_t earliest, int64_t cycles) {
    if (earliest >= end_) {
      pass(earliest - end_, true);
      pass(cycles, false);
      return {earliest, end_};
    }
    if constexpr (Words > 1)
      if (Taken out; take_late(earliest, cycles, out)) return out;
    Bits open = free_from(earliest);
    Taken out{open ? end_ - width(open) : end_, end_};
    for (; cycles > 0 && open; --cycles) {
      const int at = width(open) - 1;
      out.end = end_ - at;
      open ^= Bits(1) << at;
      free_ ^= Bits(1) << at;
    }
    if (cycles > 0) {
      pass(cycles, false);
      out.end = end_;
    }
    return out;
  }
  /// Nothing is taken from here on.
  int64_t end() const { return end_; }

 private:
  __extension__ using Long = unsigned __int128;
  using Bits = std::conditional_t<Words == 1, uint64_t, Long>;
  static_assert(Words == 1 || Words == 2);
  static constexpr int64_t kBits = 64 * Words;

  static int width(Bits bits) {
    if constexpr (Words == 1) {
      return std::bit_width(bits);
    } else {
      const uint64_t high = uint64_t(bits >> 64);
      return high ? 64 + std::bit_width(high) : std::bit_width(uint64_t(bits));
    }
  }
  Bits free_from(int64_t earliest) const {
    const int64_t back = end_ - earliest;
    return back >= kBits ? free_ : free_ & ((Bits(1) << back) - 1);
  }
  /// take() of cycles that are all among the last 64: mostly so, and quicker. False: they are not.
  bool take_late(int64_t earliest, int64_t cycles, Taken& out) {
    const int64_t back = end_ - earliest;
    if (back >= 64) return false;
    const uint64_t all = uint64_t(free_);
    uint64_t open = all & ((uint64_t(1) << back) - 1), taken = 0;
    if (std::popcount(open) < cycles || cycles <= 0) return false;
    out.begin = end_ - std::bit_width(open);
    for (; cycles > 0; --cycles) {
      const uint64_t first = std::bit_floor(open);
      out.end = end_ - std::bit_width(open) + 1;
      open ^= first;
      taken ^= first;
    }
    free_ ^= taken;
    return true;
  }
  void pass(int64_t cycles, bool free) {
    end_ += cycles;
    if (Words > 1 && cycles < 64) {  // so that the compiler need not shift by any number
      const uint64_t low = uint64_t(free_), high = uint64_t(free_ >> 32 >> 32);
      const uint64_t come = free ? (uint64_t(1) << cycles) - 1 : 0;
      free_ = Bits(high << cycles | low >> 1 >> (63 - cycles)) << 32 << 32 | (low << cycles | come);
      return;
    }
    if (cycles >= kBits) {
      free_ = free ? ~Bits(0) : 0;
      return;
    }
    free_ <<= cycles;
    if (free) free_ |= (Bits(1) << cycles) - 1;
  }
  int64_t end_ = 0;
  Bits free_ = 0;  // bit i: cycle end_ - 1 - i
};

/// Of what takes a cycle or a few, and of what lets work queue up.
using Bookings = BookingsOf<1>;
using LongBookings = BookingsOf<2>;

}  // namespace tinygpu
