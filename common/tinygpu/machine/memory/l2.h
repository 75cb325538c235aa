// Which lines of device memory lie in L2: that decides between two latencies, and nothing else. The cache is one set,
// first in, first out; on an H200 a line that kernels read takes the place of two, since each half of the chip keeps
// its own (measured: of data read once, half is gone after 25 MiB of reads, 38 MiB of fills; the cache has 50 MiB).
#pragma once
#include <algorithm>
#include <cstdint>
#include <unordered_set>
#include <vector>

#include "common/tinygpu/machine/memory/memory.h"

namespace tinygpu {

class L2Cache {
 public:
  static constexpr uint64_t kLine = 128;  // bytes
  /// `bytes` of cache for `memory`; a line that is read fills `read_copies` of it, one that is written, one.
  L2Cache(const GlobalMemory& memory, uint64_t bytes, uint32_t read_copies);
  ~L2Cache();
  L2Cache(const L2Cache&) = delete;
  L2Cache& operator=(const L2Cache&) = delete;

  /// The host or a copy engine has written [address, address + bytes). Not while a kernel runs.
  void written(uint64_t address, uint64_t bytes);

 private:
  friend class L2View;
  struct Lines {
    uint64_t first, last;  // behind the last one; both 0: no device memory
  };
  Lines lines_of(uint64_t address, uint64_t bytes) const {
    if (!bytes || !memory_.reserved(address)) return {0, 0};
    const uint64_t offset = address - memory_.first_address();
    // A wrong address is reported when the bytes are moved; here it must only do no harm.
    return {offset / kLine, std::min(count_, (offset + bytes - 1) / kLine + 1)};
  }
  bool holds(uint64_t line) const { return filled_at_[line] && filled_ - filled_at_[line] < capacity_; }
  void fill(uint64_t line, uint32_t copies) {
    if (holds(line)) return;
    filled_ += copies;
    filled_at_[line] = filled_;
  }

  const GlobalMemory& memory_;
  const uint64_t capacity_;  // lines
  const uint32_t read_copies_;
  const uint64_t count_;  // lines of memory
  uint64_t filled_ = 0;   // lines that have come in since the beginning
  uint64_t* filled_at_;   // per line of memory, 0: never
};

/// L2 as one domain sees it while domains run side by side: as it was at the last serial phase, and what the domain
/// itself has brought in since. So what is found there does not depend on host threads.
class L2View {
 public:
  explicit L2View(L2Cache& cache) : cache_(cache) {}
  /// How many lines of [address, address + bytes) are not there; now they are. Memory that is not the device's counts
  /// as there.
  uint32_t read(uint64_t address, uint64_t bytes) { return touch(address, bytes, cache_.read_copies_); }
  void write(uint64_t address, uint64_t bytes) { touch(address, bytes, 1); }
  /// Serial phase: others see it.
  void merge();
  /// No other domain runs: what comes in is seen at once.
  void run_alone(bool alone) { alone_ = alone; }

 private:
  struct Fill {
    uint64_t line;
    uint32_t copies;
  };
  uint32_t touch(uint64_t address, uint64_t bytes, uint32_t copies) {
    const auto [first, last] = cache_.lines_of(address, bytes);
    uint32_t absent = 0;
    for (uint64_t line = first; line < last; ++line) {
      if (cache_.holds(line)) continue;
      if (alone_) {
        cache_.fill(line, copies);
      } else {
        if (!own_.insert(line).second) continue;
        fills_.push_back({line, copies});
      }
      ++absent;
    }
    return absent;
  }
  L2Cache& cache_;
  std::vector<Fill> fills_;
  std::unordered_set<uint64_t> own_;
  bool alone_ = false;
};

}  // namespace tinygpu
