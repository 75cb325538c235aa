// Lines of stores that wait in the SM for the way to L2. A store to a line that waits is merged into it: the line
// leaves once, with all that was added, and without a mask of bytes where its sectors are complete.
//
// Measured on an H200 (2026-11-24; requests at L2 by ncu, and cycles): halves of sectors that 1 to 4 warps write up to
// 16 lines apart cost L2 what whole lines do, those 32 lines apart nothing less than apart. On an SM that has nothing
// else to send, only a store right behind another merges with it: a store, a barrier or a load between them is enough.
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "common/tinygpu/engines/lsu/coalescer.h"

namespace tinygpu {

class StoreQueue {
 public:
  explicit StoreQueue(uint32_t lines) : lines_(lines), waiting_(lines) {}
  /// All that waited has left.
  void clear() {
    next_ = count_ = 0;
    alike_ = {};
  }
  /// A store touches the lines of `t`. `sectors`: those that leave the SM for each line now.
  void add(const TouchedLines& t, uint32_t (&sectors)[32]);

 private:
  struct Line {
    uint8_t sectors;
    uint8_t bytes[4];
  };
  static bool complete(const Line& l);
  uint32_t place_of(uint32_t line) const;
  uint32_t add(const TouchedLines& t, uint32_t k);

  // A ring; the first count_ places are taken. Numbers of lines stand apart, to be compared many at a time.
  std::vector<uint32_t> lines_;
  std::vector<Line> waiting_;
  uint32_t next_ = 0, count_ = 0;
  static constexpr uint32_t kAlike = 64;
  std::array<uint16_t, kAlike> alike_{};  // how many of them have these last bits: mostly, there is nothing to look for
  uint32_t unsent_ = 0;                   // masks that were charged to lines which turned out to be complete
};

}  // namespace tinygpu
