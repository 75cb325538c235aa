#include "common/tinygpu/engines/lsu/store_queue.h"

#include <algorithm>

namespace tinygpu {

bool StoreQueue::complete(const Line& l) {
  for (uint32_t s = 0; s < 4; ++s)
    if ((l.sectors >> s & 1) && l.bytes[s] < 32) return false;
  return true;
}

uint32_t StoreQueue::add(const TouchedLines& t, uint32_t k) {
  // All places are compared, without an early end: compilers make vectors of it.
  size_t known = count_;
  for (size_t i = 0; i < count_; ++i) known = lines_[i] == t.line[k] ? i : known;
  uint32_t sectors;
  if (known < count_) {
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
    count_ = std::min(count_ + 1, waiting_.size());
  }
  const uint32_t less = std::min(unsent_, sectors > 1 ? sectors - 1 : 0);
  unsent_ -= less;
  return sectors - less;
}

}  // namespace tinygpu
