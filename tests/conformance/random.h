// The generator of every conformance case: the same numbers on every machine and with every compiler.
#pragma once
#include <cstdint>

namespace conformance {

/// splitmix64 (Steele, Lea, Flood 2014).
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Uniform enough in [0, n).
  uint64_t below(uint64_t n) { return next() % n; }
  int64_t between(int64_t low, int64_t high) { return low + int64_t(below(uint64_t(high - low + 1))); }
  bool one_in(uint64_t n) { return below(n) == 0; }
  template <class T, int N>
  T pick(const T (&values)[N]) {
    return values[below(N)];
  }

 private:
  uint64_t state_;
};

}  // namespace conformance
