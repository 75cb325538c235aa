#include "common/tinygpu/engines/lsu/coalescer.h"

#include <algorithm>
#include <cstring>

#include "common/tinygpu/base/for_lanes.h"

namespace tinygpu {

void TouchedLines::add_lane(const L2Cache& l2, uint64_t address, uint32_t size) {
  const auto [first, last] = l2.lines_of(address, size);
  if (first == last) {  // not the device's memory
    ++all_sectors;
    return;
  }
  const uint32_t begin = uint32_t(address % L2Cache::kLine / 32), end = begin + (size + 31) / 32;
  const uint8_t touched = uint8_t((1u << end) - (1u << begin));
  uint32_t k = count;
  while (k && line[k - 1] != first) --k;
  if (!k) {
    k = ++count;
    line[k - 1] = uint32_t(first);
    sectors[k - 1] = repeated[k - 1] = 0;
    std::memset(bytes[k - 1], 0, 4);
  }
  // Lanes of more than a sector are not aligned to less.
  for (uint32_t s = begin, left = size; s < end && s < 4; ++s, left -= std::min(left, 32u))
    bytes[k - 1][s] = uint8_t(std::min(255u, bytes[k - 1][s] + std::min(left, 32u)));
  all_sectors += uint32_t(__builtin_popcount(touched & ~sectors[k - 1]));
  sectors[k - 1] |= touched;
}

void TouchedLines::add_lanes(const L2Cache& l2, const uint64_t* address, uint32_t mask, uint32_t size) {
  for_lanes(mask, [&](int i) { add_lane(l2, address[i], size); });
}

void TouchedLines::add_range(const L2Cache& l2, uint64_t first, uint64_t length) {
  const auto [begin, end] = l2.lines_of(first, length);
  all_sectors += uint32_t(((first + length - 1) >> 5) - (first >> 5) + 1);
  uint64_t at = first;
  for (uint64_t l = begin; l < end; ++l) {
    const uint64_t next = std::min(first + length, (at / L2Cache::kLine + 1) * L2Cache::kLine);
    const uint32_t low = uint32_t(at % L2Cache::kLine / 32), high = uint32_t((next - 1) % L2Cache::kLine / 32);
    line[count] = uint32_t(l);
    sectors[count] = uint8_t((2u << high) - (1u << low));
    std::memset(bytes[count], 32, 4);
    if (at % 32) bytes[count][low] = 1;
    if (next % 32) bytes[count][high] = 1;
    ++count;
    at = next;
  }
}

void TouchedLines::count_repeated(const L2Cache& l2, const uint64_t* address, uint32_t mask, uint32_t size) {
  for_lanes(mask, [&](int i) {
    uint32_t same = 0;
    for_lanes(mask & ((1u << i) - 1), [&](int k) { same |= address[k] == address[i]; });
    if (!same) return;
    const uint64_t at = l2.lines_of(address[i], size).first;
    for (uint32_t k = 0; k < count; ++k) repeated[k] += line[k] == at;
  });
}

}  // namespace tinygpu
