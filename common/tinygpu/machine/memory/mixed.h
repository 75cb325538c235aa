// A number from which nothing of a pattern in addresses can be seen.
#pragma once
#include <cstdint>

namespace tinygpu {

/// Neighbours and powers of two apart come out anywhere; the high bits are the best. (The finalizer of MurmurHash3.)
constexpr uint64_t mixed(uint64_t n) {
  n = (n ^ n >> 33) * 0xff51afd7ed558ccdull;
  n = (n ^ n >> 33) * 0xc4ceb9fe1a85ec53ull;
  return n ^ n >> 33;
}
/// One of `count` places for it.
constexpr uint32_t place_of(uint64_t n, uint32_t count) { return uint32_t((mixed(n) >> 32) * count >> 32); }

}  // namespace tinygpu
