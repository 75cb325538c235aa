#include "common/tinygpu/machine/memory/l2.h"

namespace tinygpu {

L2Cache::L2Cache(const GlobalMemory& memory, uint64_t bytes, uint32_t read_copies)
    : memory_(memory),
      capacity_(bytes / kLine),
      read_copies_(read_copies),
      count_(memory.span() / kLine),
      filled_at_(count_) {}

void L2Cache::written(uint64_t address, uint64_t bytes) {
  const auto [first, last] = lines_of(address, bytes);
  for (uint64_t line = first; line < last; ++line) {
    fill(line, 1);
    filled_at_[line] &= ~kCopies;
  }
}

void L2Cache::write(uint64_t line) {
  fill(line, 1);
  filled_at_[line] &= ~kCopies;
  if (filled_at_[line] & kDirty) return;
  filled_at_[line] |= kDirty;
  dirty_.push_back({stamp(line), line});
}

bool L2Cache::next_written_back(uint64_t& line) {
  while (!dirty_.empty()) {
    const Dirty d = dirty_.front();
    if (filled_ - d.filled_at < capacity_) return false;
    dirty_.pop_front();
    if ((filled_at_[d.line] & ~kCopies) != (d.filled_at | kDirty))
      continue;  // read or written anew since it was driven out
    filled_at_[d.line] = 0;
    line = d.line;
    return true;
  }
  return false;
}

}  // namespace tinygpu
