// Whether a warp can ever leave the loops it is in. A group of lanes that comes to a backward branch a second time with
// the registers that it had the first time does the same again, and so on without end, as long as nothing else changes:
// no memory, no barrier, no effect in flight, and no clock is read. SmPartition::progress counts those changes; Launch
// starts a watch, ends it when there was one, and otherwise asks which lanes have closed such a circle.
#pragma once
#include <cstdint>
#include <vector>

#include "common/tinygpu/program/op.h"

namespace tinygpu {

class Warp;

class SpinWatch {
 public:
  /// Lanes known to repeat themselves.
  uint32_t closed() const { return closed_; }
  /// It has seen all it was to look at.
  bool spent() const { return left_ == 0; }
  /// Forgets what it saw; `samples` more are taken.
  void restart(uint32_t samples) {
    loops_.clear();
    closed_ = 0;
    left_ = samples;
  }
  /// The lanes `taken` are about to branch back.
  void branches_back(const Warp& w, uint32_t taken);
  /// The op may change something that a loop elsewhere looks at, or reads what changes by itself. Loads, stores and
  /// atomics are not among them: those tell by themselves, since most change nothing.
  static bool disturbs(const Op& op) {
    constexpr auto any_of = [](auto... classes) { return ((uint64_t(1) << int(classes)) | ...); };
    constexpr uint64_t all = any_of(CostClass::barrier, CostClass::stmatrix, CostClass::async_issue);
    constexpr uint64_t some = any_of(CostClass::special, CostClass::control);
    if (!((all | some) >> int(op.cost) & 1)) return false;
    // Of some: reads of clocks, but not nanosleep; printf and malloc.
    const bool clock = op.cost == CostClass::special;
    return (all >> int(op.cost) & 1) || (op.flags & (clock ? Op::injected : Op::serial));
  }

 private:
  /// Brent's search for a cycle: compared with one earlier state, which is replaced after 1, 2, 4 … more.
  struct Loop {
    uint32_t mask;
    uint64_t state;
    uint64_t since = 0, next = 1;
  };
  std::vector<Loop> loops_;  // by the lanes that run together
  uint32_t closed_ = 0, left_ = 0;
};

}  // namespace tinygpu
