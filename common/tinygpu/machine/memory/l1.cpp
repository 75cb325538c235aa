#include "common/tinygpu/machine/memory/l1.h"

#include <algorithm>

namespace tinygpu {

L1Cache::L1Cache(uint32_t bytes) : count_(std::max(1u, bytes / 128 / kWays)) {}

void L1Cache::resize(uint32_t bytes) { *this = L1Cache(bytes); }

uint32_t L1Cache::load(uint64_t line, uint32_t wanted, Arrival arrival, Arrival& then) {
  used_ = true;
  if (sets_.empty()) sets_.resize(count_);
  Set& set = set_of(line);
  const uint32_t tag = uint32_t(line + 1);
  uint32_t way = 0;
  while (way < kWays && set.tag[way] != tag) ++way;
  if (way == kWays) {
    way = set.next++ % kWays;
    set.tag[way] = tag;
    set.sectors[way] = 0;
  }
  if (set.arrival[way].unknown() && !set.arrival[way].of_same_grid(arrival)) set.sectors[way] = 0;
  const uint32_t missing = wanted & ~set.sectors[way];
  then = missing == wanted ? Arrival{} : set.arrival[way];
  if (missing) {
    set.sectors[way] |= uint8_t(missing);
    set.arrival[way] = arrival;
  }
  return missing;
}

void L1Cache::arrives(uint64_t line, Arrival asked, uint64_t time) {
  Set& set = set_of(line);
  for (uint32_t way = 0; way < kWays; ++way)
    if (set.tag[way] == uint32_t(line + 1) && set.arrival[way].value == asked.value) set.arrival[way].value = time;
}

void L1Cache::empty() {
  if (!used_) return;
  std::fill(sets_.begin(), sets_.end(), Set{});
  used_ = false;
}

}  // namespace tinygpu
