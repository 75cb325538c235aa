// Coalescing: a warp's access to global memory moves each sector of 32 bytes that its lanes touch once, line by line.
#pragma once
#include <cstdint>

#include "common/tinygpu/machine/memory/l2.h"

namespace tinygpu {

/// Lines of 128 bytes of device memory that an access touches: a lane's bytes lie in one.
struct TouchedLines {
  uint32_t count = 0;
  uint32_t line[32];         // L2Cache::lines_of
  uint8_t sectors[32];       // bit i: the i-th 32 bytes
  uint8_t repeated[32];      // of an atomic: see LineUse
  uint8_t bytes[32][4];      // that lanes name in each sector, those named twice too; up to 255
  uint32_t all_sectors = 0;  // touched, in memory of the host too, which has no lines

  /// A lane's `bytes` at `address`.
  void add_lane(const L2Cache& l2, uint64_t address, uint32_t bytes);
  /// Lanes `mask`, `bytes` each.
  void add_lanes(const L2Cache& l2, const uint64_t* address, uint32_t mask, uint32_t bytes);
  /// Bytes that lanes name one behind the other.
  void add_range(const L2Cache& l2, uint64_t first, uint64_t length);
  /// Of an atomic whose lanes are there: counts those that meet another at a word.
  void count_repeated(const L2Cache& l2, const uint64_t* address, uint32_t mask, uint32_t bytes);
  /// Sectors that a store sends: those of line k, and one that says which bytes, if it writes a part of any. (ncu's
  /// cycles of an H200's SM on the way to L2: 4 for a whole line, 5 for parts of four sectors, 2 for a part of one.)
  uint32_t stored(uint32_t k) const {
    uint32_t whole = 0;
    for (uint32_t s = 0; s < 4; ++s) whole |= uint32_t(bytes[k][s] >= 32) << s;
    return uint32_t(__builtin_popcount(sectors[k])) + ((sectors[k] & ~whole) != 0);
  }
};

}  // namespace tinygpu
