// What an SM has written, as far as the end of its grid, or a fence, has to wait for it.
#pragma once
#include <algorithm>
#include <cstdint>

#include "common/tinygpu/machine/extension.h"

namespace tinygpu {

struct StoresOnTheirWay final : Extension {
  uint64_t written = 0;       // when the last of it is in L2
  uint64_t written_bulk = 0;  // and the last of what bulk copies write
  uint64_t updated = 0;       // and the last of its atomics without a result
  uint64_t translated = 0;    // when its first store has its address translated, in a launch that begins cold

  /// A grid's end begins with a look at whether all stores are answered for, a way to L2 and back: only one that
  /// arrives later than that look puts the end off (inferred: on an H200, stores behind a load end a grid no later than
  /// the load does, until they wait for each other).
  static uint64_t seen_by_the_end(uint64_t arrives, uint64_t way) { return std::max(arrives, way) - way; }
};

}  // namespace tinygpu
