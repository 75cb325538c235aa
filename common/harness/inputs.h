// Deterministic operands.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "common/harness/numbers.h"

namespace gen5::harness {

/// SplitMix64: the same numbers on every machine, unlike the standard library's distributions.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, n).
  uint32_t below(uint32_t n) { return uint32_t((bits() >> 32) * n >> 32); }
  /// In [−1, 1).
  double unit() { return double(int64_t(bits())) * 0x1p-63; }

 private:
  uint64_t state_;
};

enum class Pattern : uint8_t {
  uniform,     // [−1, 1)
  wide,        // exponents spread over the format: terms are cut at the window's end
  cancelling,  // large terms of both signs that nearly cancel
  subnormal,   // subnormals and zeros
  special,     // with infinities and NaNs
};
const char* name_of(Pattern p);

/// `count` words of a 16-bit format.
std::vector<uint16_t> make_inputs(Format format, Pattern pattern, size_t count, uint64_t seed);

}  // namespace gen5::harness
