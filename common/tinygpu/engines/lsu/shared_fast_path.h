// The commonest access to shared memory: a load or store of all 32 lanes in the own CTA's window.
#pragma once
#include "common/tinygpu/engines/lsu/load_store_unit.h"
#include "common/tinygpu/engines/lsu/memory_operand.h"

namespace tinygpu {

/// Such an access: where its lanes are, once it has been checked, shown to observers and charged, as resolve() and
/// charge_access() do with any other.
class SharedFastPath {
 public:
  uint8_t* first;            // the bytes of lane 0
  const LaneLayout* layout;  // and how the other lanes lie
  uint64_t ready;            // when a load's values are there

  /// False if not all lanes take part, or some lane is elsewhere, out of bounds or misaligned: then nothing has
  /// happened.
  template <bool load>
  bool take(Warp& w, const Op& op, uint32_t bytes) {
    const MemoryOperand& operand = memory_operand(op);
    if (!w.full() || op.a == kNoSlot || w.done_before(op) ||
        !(is_shared(operand.space) || (operand.wide && operand.space == ptx::Space::generic)))
      return false;
    if (!operand.wide && as_last_time<load>(w, op, bytes)) return true;
    return operand.wide ? look<load, uint64_t>(w, op, bytes) : look<load, uint32_t>(w, op, bytes);
  }

  /// `op` may ask take_quick().
  static bool may_be_quick(const Op& op) {
    return is_shared(memory_operand(op).space) && !memory_operand(op).wide && op.a != kNoSlot &&
           !memory_operand(op).strong;
  }
  /// As take(), and false too if anything is not as it was when `op` executed last.
  template <bool load>
  [[gnu::always_inline]] bool take_quick(Warp& w, const Op& op, uint32_t bytes) {
    return w.full() && !w.done_before(op) && as_last_time<load>(w, op, bytes);
  }

 private:
  static constexpr uint32_t kObserved = Observer::shared_accesses | Observer::traffic;

  [[gnu::always_inline]] void charge(Warp& w, LoadStoreUnit& unit, const LaneLayout& l, uint32_t offset) {
    first = w.cta().shared.data() + offset;
    layout = &l;
    ready = unit.shared_inline(w, l.cost);
  }
  /// The lanes lie as they did when `op` executed last, far from any mbarrier, and no observer wants to know.
  template <bool load>
  [[gnu::always_inline]] bool as_last_time(Warp& w, const Op& op, uint32_t bytes) {
    LoadStoreUnit* const unit = w.sm().lsu;
    if (!unit || w.told(kObserved)) [[unlikely]]
      return false;
    Cta& cta = w.cta();
    const uint32_t* const address = w.at<uint32_t>(op.a);
    const uint32_t offset = address[0] + uint32_t(op.imm) - (cta.rank << 24);
    const LaneLayout& l = unit->layouts.met_by(op);
    // Where lane 0's word begins only matters to less than words: others are aligned, as the next test sees.
    if (l.key != LaneLayout::key_of(bytes, load, bytes < 4 ? offset : 0) || (offset & l.alignment) || !l.fits(address))
      return false;
    const int64_t low = int64_t(offset) + l.low;
    if (low < int64_t(kSharedBase) || low + l.span > int64_t(cta.shared.size())) return false;
    if (cta.mbarriers.may_overlap(uint32_t(low), uint32_t(l.span))) return false;
    charge(w, *unit, l, offset);
    return true;
  }
  /// Any such access. T: of the register that holds addresses.
  template <bool load, class T>
  bool look(Warp& w, const Op& op, uint32_t bytes);
};

}  // namespace tinygpu
