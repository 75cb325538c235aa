#include "common/tinygpu/engines/mma/register_metadata.h"

namespace tinygpu {
namespace {

/// The metadata of a row, 4 bits for each group of four elements (two of 32 bits, eight of 4), the first lowest.
uint64_t row_bits(const uint32_t* words, uint32_t selector, uint32_t bits, uint32_t groups, uint32_t row) {
  const uint32_t* quad = words + row % 8 * 4;
  const uint32_t lower = row / 8;  // of the two rows that a quad has
  if (groups == 4) return quad[selector] >> (16 * lower) & 0xffff;
  if (groups == 16) return quad[lower] | uint64_t(quad[2 + lower]) << 32;
  if (bits <= 8) return quad[2 * selector + lower];
  // 16 bits of both rows in a thread, the next 16 in its neighbour.
  return (quad[2 * selector] >> (16 * lower) & 0xffff) | (quad[2 * selector + 1] >> (16 * lower) & 0xffff) << 16;
}

}  // namespace

void sparse_places(const uint32_t* words, uint32_t selector, uint32_t bits, uint32_t k, uint8_t (*place)[kMostSparse]) {
  const uint32_t group = bits == 32 ? 2 : bits == 4 ? 8 : 4, groups = k / group;
  for (uint32_t row = 0; row < 16; ++row) {
    const uint64_t metadata = row_bits(words, selector, bits, groups, row);
    for (uint32_t i = 0; i < k / 2; ++i) {
      const uint32_t g = i / (group / 2), half = uint32_t(metadata >> (4 * g)) & 15;
      const uint32_t first = half & 3, second = half >> 2;
      switch (bits) {
        case 32: place[row][i] = uint8_t(2 * g + first / 2); break;
        case 4: place[row][i] = uint8_t(8 * g + 2 * (i / 2 % 2 ? second : first) + i % 2); break;
        default: place[row][i] = uint8_t(4 * g + (i % 2 ? second : first));
      }
    }
  }
}

void sparse_halves(const uint32_t* words, uint32_t selector, uint32_t k, uint8_t (*half)[kMostSparse]) {
  for (uint32_t row = 0; row < 16; ++row) {
    const uint64_t metadata = row_bits(words, selector, 32, k / 2, row);
    for (uint32_t g = 0; g < k / 2; ++g) {
      half[row][2 * g] = uint8_t(4 * g + (metadata >> (4 * g) & 3));
      half[row][2 * g + 1] = uint8_t(4 * g + (metadata >> (4 * g + 2) & 3));
    }
  }
}

}  // namespace tinygpu
