// How the lanes of a shared-memory access lie, relative to lane 0, and what follows from that: bank passes, bounds,
// time. A loop's instruction mostly finds its lanes as they lay the last time, so that is worked out once.
#pragma once
#include <cstddef>
#include <cstdint>

#include "common/tinygpu/program/op.h"
#include "common/tinygpu/timing/memory.h"

namespace tinygpu {

/// Cycles that an access to shared memory takes of a sub-partition's path there: see LoadStoreUnit::shared().
struct SharedCost {
  int32_t collect = 0;            // registers are read first: the address, and a store's words;
  int32_t before_banks = 0;       // the banks begin behind so many of these cycles
  int32_t banks = 0, passes = 0;  // the sub-partition's share of the banks, and the SM's pipe, a pass a cycle
  int32_t result = 0;             // from the first pass to a load's values
  SharedCost() = default;
  /// Of `words` of 32 bits a lane. `latency`: of the first word, without conflicts.
  SharedCost(const MemoryTiming& t, uint32_t passes, uint32_t words, bool writes, uint32_t latency);
};

struct LaneLayout {
  alignas(64) int32_t distance[32] = {};  // bytes from lane 0
  uint32_t key = 0;                       // see key_of()
  uint32_t alignment = 0;                 // lane 0's offset must have none of these bits, or a lane is misaligned
  uint32_t passes = 0, ideal = 0;         // of the banks, and without conflicts
  SharedCost cost;
  bool coalesced = false;     // lane after lane, without gaps
  int64_t low = 0, span = 0;  // least distance, and bytes from there to behind the last lane

  /// What bank passes depend on besides the distances: the bytes of a lane, load or store, and where in its word lane 0
  /// begins. Which word that is does not matter: another one permutes the banks.
  static uint32_t key_of(uint32_t bytes, bool load, uint64_t first) {
    return bytes << 3 | uint32_t(load) << 2 | uint32_t(first & 3);
  }
  /// Lanes with these addresses lie so. T: uint32_t or uint64_t.
  template <class T>
  [[gnu::always_inline]] bool fits(const T* address) const {
    T differ = 0;
    for (int i = 0; i < 32; ++i) differ |= T(address[i] - address[0]) ^ T(distance[i]);
    return differ == 0;
  }
};

/// The layouts met last. Many instructions share a layout; each remembers which it met, so that the few that are in use
/// stay in the host's cache.
class LaneLayouts {
 public:
  LaneLayouts(const MemoryTiming& timing, uint32_t latency) : timing_(timing), latency_(latency) {}
  /// The one that `op` met last, if any.
  const LaneLayout& met_by(const Op& op) const { return layouts_[hint_[slot_of(op)]]; }
  /// The layout of an access of `op`, now remembered; lane 0 is at offset `first`. Null: the lanes are further apart
  /// than any shared memory.
  template <class T>
  const LaneLayout* learn(const Op& op, const T* address, uint32_t first, uint32_t bytes, bool load);

 private:
  static constexpr size_t kLayouts = 64, kHints = 256;
  static size_t slot_of(const Op& op) { return reinterpret_cast<uintptr_t>(&op) / sizeof(Op) % kHints; }
  const MemoryTiming& timing_;
  const uint32_t latency_;  // of a load
  LaneLayout layouts_[kLayouts];
  uint8_t hint_[kHints] = {};
  size_t next_ = 0;
};

}  // namespace tinygpu
