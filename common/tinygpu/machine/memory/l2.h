// Which lines of device memory lie in L2, and in which of the chip's two halves. The cache is one set, first in, first
// out; on an H200 a line that kernels read takes the place of two, since each half keeps its own (measured: of data
// read once, half is gone after 25 MiB of reads, 38 MiB of fills). A line lives in one half, by its address; the other
// one has a copy from when one of its SMs reads the line until a write.
#pragma once
#include <algorithm>
#include <cstdint>
#include <deque>

#include "common/tinygpu/machine/memory/address_space.h"
#include "common/tinygpu/machine/memory/memory.h"
#include "common/tinygpu/machine/memory/mixed.h"

namespace tinygpu {

class L2Cache {
 public:
  static constexpr uint64_t kLine = 128;  // bytes
  /// `bytes` of cache for `memory`; a line that is read fills `read_copies` of it, one that is written, one.
  L2Cache(const GlobalMemory& memory, uint64_t bytes, uint32_t read_copies);
  L2Cache(const L2Cache&) = delete;
  L2Cache& operator=(const L2Cache&) = delete;

  /// Lines of memory, by number; both 0: no device memory.
  struct Lines {
    uint64_t first, last;  // behind the last one
  };
  /// Those of [address, address + bytes). A wrong address is reported when the bytes are moved; here it does no harm.
  Lines lines_of(uint64_t address, uint64_t bytes) const {
    if (!bytes || !memory_.reserved(address)) return {0, 0};
    const uint64_t offset = address - memory_.first_address();
    return {offset / kLine, std::min(count_, (offset + bytes - 1) / kLine + 1)};
  }
  /// The host or a copy engine has written [address, address + bytes). Not while a kernel runs.
  void written(uint64_t address, uint64_t bytes);
  enum class Found : uint8_t { here, in_other_half, nowhere };
  /// An SM of `half` reads the line: where it was. Now it is here.
  Found read(uint64_t line, uint32_t half) {
    if (!fill(line, read_copies_)) {
      filled_at_[line] |= copy_in(half);
      return Found::nowhere;
    }
    if (half == home(line) || filled_at_[line] & copy_in(half)) return Found::here;
    filled_at_[line] |= copy_in(half);
    return Found::in_other_half;
  }
  /// The line will be read soon; only for the host's caches.
  void prefetch(uint64_t line) { __builtin_prefetch(&filled_at_[line], 1); }
  /// The half in which a line lives. (An H200: 32 lines side by side, from a multiple of 4 KiB on, are as near as one,
  /// or as far; which stretch lies where is not known, and any mix of its address does.)
  static uint32_t home(uint64_t line) { return uint32_t(mixed(line >> 5) >> 40 & 1); }
  /// A kernel writes it: what is driven out later has to go to device memory.
  void write(uint64_t line);
  /// A line that was driven out after a kernel wrote it; each is given once. False: no more.
  bool next_written_back(uint64_t& line);

 private:
  static constexpr uint64_t kDirty = uint64_t(1) << 63, kCopies = uint64_t(3) << 61;
  static uint64_t copy_in(uint32_t half) { return uint64_t(1) << (61 + half); }
  struct Dirty {
    uint64_t filled_at, line;
  };
  uint64_t stamp(uint64_t line) const { return filled_at_[line] & ~(kDirty | kCopies); }
  bool holds(uint64_t line) const { return stamp(line) && filled_ - stamp(line) < capacity_; }
  bool fill(uint64_t line, uint32_t copies) {
    if (holds(line)) return true;
    filled_ += copies;
    filled_at_[line] = filled_;
    return false;
  }

  const GlobalMemory& memory_;
  const uint64_t capacity_;  // lines
  const uint32_t read_copies_;
  const uint64_t count_;     // lines of memory
  uint64_t filled_ = 0;      // lines that have come in since the beginning
  ZeroWords filled_at_;      // per line of memory, 0: never; kDirty and copy_in besides
  std::deque<Dirty> dirty_;  // in the order in which they came in, but for lines that were read before
};

}  // namespace tinygpu
