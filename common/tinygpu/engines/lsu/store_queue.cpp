#include "common/tinygpu/engines/lsu/store_queue.h"

#include <algorithm>

namespace tinygpu {

bool StoreQueue::complete(const Line& l) {
  for (uint32_t s = 0; s < 4; ++s)
    if ((l.sectors >> s & 1) && l.bytes[s] < 32) return false;
  return true;
}

uint32_t StoreQueue::add(const TouchedLines& t, uint32_t k) {
  // All places are compared, without an early end, indices as wide as lines: compilers make vectors of it.
  const uint32_t line = t.line[k], count = count_;
  const uint32_t* const lines = lines_.data();
  uint32_t known = count;
  for (uint32_t i = 0; i < count; ++i) known = lines[i] == line ? i : known;
  uint32_t sectors;
  if (known < count) {
    Line& l = waiting_[known];
    const bool was_complete = complete(l);
    sectors = uint32_t(__builtin_popcount(t.sectors[k] & ~l.sectors));
    l.sectors |= t.sectors[k];
    for (int s = 0; s < 4; ++s) l.bytes[s] = uint8_t(std::min(255, l.bytes[s] + t.bytes[k][s]));
    if (!was_complete && complete(l)) ++unsent_;
    if (was_complete && !complete(l)) ++sectors;
  } else {
    sectors = t.stored(k);
    lines_[next_] = t.line[k];
    waiting_[next_] = {t.sectors[k], {t.bytes[k][0], t.bytes[k][1], t.bytes[k][2], t.bytes[k][3]}};
    next_ = next_ + 1 < waiting_.size() ? next_ + 1 : 0;
    count_ = std::min(count_ + 1, uint32_t(waiting_.size()));
  }
  const uint32_t less = std::min(unsent_, sectors > 1 ? sectors - 1 : 0);
  unsent_ -= less;
  return sectors - less;
}

}  // namespace tinygpu
