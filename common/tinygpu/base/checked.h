// Sizes computed from numbers that somebody else chose: a caller's, a file's.
#pragma once
#include <cstdint>
#include <limits>

namespace tinygpu {

/// A 64-bit size whose sums and products remember that they have left 64 bits, instead of wrapping.
class CheckedSize {
 public:
  constexpr CheckedSize(uint64_t value) : value_(value) {}

  constexpr bool overflowed() const { return overflowed_; }
  /// The size, or the largest number if it has overflowed: no memory has as many bytes.
  constexpr uint64_t value() const { return overflowed_ ? std::numeric_limits<uint64_t>::max() : value_; }

  friend constexpr CheckedSize operator+(CheckedSize a, CheckedSize b) {
    CheckedSize out(0);
    out.overflowed_ = __builtin_add_overflow(a.value_, b.value_, &out.value_) || a.overflowed_ || b.overflowed_;
    return out;
  }
  friend constexpr CheckedSize operator*(CheckedSize a, CheckedSize b) {
    CheckedSize out(0);
    out.overflowed_ = __builtin_mul_overflow(a.value_, b.value_, &out.value_) || a.overflowed_ || b.overflowed_;
    return out;
  }
  /// The next multiple of `unit`, which is not 0.
  constexpr CheckedSize rounded_up(uint64_t unit) const {
    const uint64_t rest = value_ % unit;
    return rest ? *this + (unit - rest) : *this;
  }

 private:
  uint64_t value_;
  bool overflowed_ = false;
};

}  // namespace tinygpu
