// Elements of less than a byte as shared memory holds them, 16 bytes at a time (PTX ISA 9.7.16.10.6; the bit positions
// rest on CuTe and on a third-party emulator, which agree: notes/evidence.md).
#pragma once
#include <cstdint>

namespace tinygpu {

/// Sixteen 6-bit patterns out of a little-endian stream of 12 bytes.
inline void unpack_b6x16(const uint8_t* from, uint8_t* to) {
  for (int group = 0; group < 4; ++group, from += 3, to += 4) {
    const uint32_t bits = uint32_t(from[0]) | uint32_t(from[1]) << 8 | uint32_t(from[2]) << 16;
    for (int i = 0; i < 4; ++i) to[i] = uint8_t(bits >> 6 * i & 63);
  }
}

/// 4-bit patterns, two in each of `bytes` bytes, the first in the low half.
inline void unpack_b4(const uint8_t* from, int bytes, uint8_t* to) {
  for (int i = 0; i < bytes; ++i) {
    to[2 * i] = from[i] & 15;
    to[2 * i + 1] = from[i] >> 4;
  }
}

}  // namespace tinygpu
