#include "common/tinygpu/engines/lsu/store_queue.h"

#include <algorithm>

namespace tinygpu {

bool StoreQueue::complete(const Line& l) {
  for (uint32_t s = 0; s < 4; ++s)
    if ((l.sectors >> s & 1) && l.bytes[s] < 32) return false;
  return true;
}

/// Counted from 1; 0: it does not wait.
inline uint32_t StoreQueue::place_of(uint32_t line) const {
  if (!alike_[line % kAlike]) return 0;
  // All places are compared, without an early end, and no more than one is equal: compilers make vectors of it.
  const uint32_t* const lines = lines_.data();
  uint32_t place = 0;
  for (uint32_t i = 0, count = count_; i < count; ++i) place |= lines[i] == line ? i + 1 : 0;
  return place;
}

inline uint32_t StoreQueue::add(const TouchedLines& t, uint32_t k) {
  uint32_t sectors;
  if (const uint32_t place = place_of(t.line[k])) {
    Line& l = waiting_[place - 1];
    const bool was_complete = complete(l);
    sectors = uint32_t(__builtin_popcount(t.sectors[k] & ~l.sectors));
    l.sectors |= t.sectors[k];
    for (int s = 0; s < 4; ++s) l.bytes[s] = uint8_t(std::min(255, l.bytes[s] + t.bytes[k][s]));
    if (!was_complete && complete(l)) ++unsent_;
    if (was_complete && !complete(l)) ++sectors;
  } else {
    sectors = t.stored(k);
    const uint32_t places = uint32_t(lines_.size());
    if (count_ < places)
      ++count_;
    else
      --alike_[lines_[next_] % kAlike];
    ++alike_[t.line[k] % kAlike];
    lines_[next_] = t.line[k];
    waiting_[next_] = {t.sectors[k], {t.bytes[k][0], t.bytes[k][1], t.bytes[k][2], t.bytes[k][3]}};
    next_ = next_ + 1 < places ? next_ + 1 : 0;
  }
  const uint32_t less = std::min(unsent_, sectors > 1 ? sectors - 1 : 0);
  unsent_ -= less;
  return sectors - less;
}

void StoreQueue::add(const TouchedLines& t, uint32_t (&sectors)[32]) {
  for (uint32_t k = 0; k < t.count; ++k) sectors[k] = add(t, k);
}

}  // namespace tinygpu
