// mbarrier objects (PTX ISA 9.7.13.15). State machine and limits as measured on an H200 (notes/evidence.md).
#pragma once
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/origin.h"

namespace tinygpu {

class Cta;
class Warp;

struct MBarrier {
  uint64_t phase = 0;         // full phase number; hardware keeps its parity
  uint32_t expected = 0;      // arrivals of later phases
  uint32_t pending = 0;       // arrivals missing in this phase
  int64_t tx = 0;             // bytes expected minus bytes landed
  uint64_t completed_at = 0;  // time at which the previous phase completed

  /// The 64-bit word of sm_90+: 63 parity, 62:43 2^20 − pending, 41:21 −tx, 20:1 2^20 − expected.
  uint64_t word() const;
  static MBarrier from_word(uint64_t word);
};

/// The live mbarriers of one CTA's shared memory, by offset in its window.
class MBarrierTable {
 public:
  MBarrier* find(uint32_t offset);
  MBarrier& create(uint32_t offset);
  void erase(uint32_t offset);
  /// mbarrier.inval: ends the object; its place is remembered, so that a later use can be told from one never
  /// initialised.
  void invalidate(uint32_t offset) {
    erase(offset);
    invalidated_.insert(offset);
  }
  /// Who initialised the last mbarrier at each offset.
  const std::unordered_map<uint32_t, Origin>& made() const { return made_; }
  void made_by(uint32_t offset, const Origin& who) { made_[offset] = who; }
  bool invalidated(uint32_t offset) const { return invalidated_.count(offset) != 0; }
  /// True if [offset, offset+size) overlaps a live object. Cheap: a range test first.
  bool overlaps(uint32_t offset, uint32_t size) const {
    return may_overlap(offset, size) && some_overlaps(offset, size);
  }
  /// The range test alone.
  bool may_overlap(uint32_t offset, uint32_t size) const { return offset < high_ && offset + size > low_; }
  const std::unordered_map<uint32_t, MBarrier>& all() const { return live_; }

 private:
  bool some_overlaps(uint32_t offset, uint32_t size) const;

  std::unordered_map<uint32_t, MBarrier> live_;
  std::unordered_map<uint32_t, Origin> made_;
  std::unordered_set<uint32_t> invalidated_;
  uint32_t low_ = ~0u, high_ = 0;
};

}  // namespace tinygpu
