// The commonest access to shared memory: a load or store of all 32 lanes, in the own CTA's window.
#pragma once
#include "common/tinygpu/isa/lane_pattern.h"
#include "common/tinygpu/isa/memory_access.h"
#include "common/tinygpu/isa/memory_unit.h"

namespace tinygpu::isa {

struct OwnShared {
  uint8_t* first;  // what lane 0 names
  const LanePattern* lanes;
  uint64_t ready;  // when a load's values are there
};

/// True: all lanes take part, and name shared memory of their own CTA, in bounds and aligned; the access has been
/// checked, watched and charged as resolve() and finish_access() do. False: nothing has happened, and they must look.
/// own_shared() is the one to ask.
bool own_shared_load(Warp& w, const Op& op, uint32_t bytes, OwnShared& out);
bool own_shared_store(Warp& w, const Op& op, uint32_t bytes, OwnShared& out);

namespace own_shared_detail {

constexpr uint32_t kToldOf = Observer::shared_accesses | Observer::traffic;

/// Charges an access whose lanes lie as `p` says.
[[gnu::always_inline]] inline void take(Warp& w, MemoryUnit& unit, const LanePattern& p, uint32_t first,
                                        OwnShared& out) {
  out.first = w.cta().shared.data() + first;
  out.lanes = &p;
  out.ready = Turn::shared_here(w, unit, p.charge);
}

/// An access of .shared by a register of 32 bits, of all lanes, that lies as this instruction's did last time, far from
/// any mbarrier, and of which nobody wants to hear.
template <bool load>
[[gnu::always_inline]] inline bool as_last_time(Warp& w, const Op& op, uint32_t bytes, OwnShared& out) {
  MemoryUnit* const unit = known_memory_unit(w);
  if (!unit || w.told(kToldOf)) [[unlikely]]
    return false;
  Cta& cta = w.cta();
  const uint32_t* const address = w.at<uint32_t>(op.a);
  const uint32_t first = address[0] + uint32_t(op.imm) - (cta.rank << 24);
  const LanePattern& p = unit->patterns.met_by(op);
  // Where lane 0's word begins is only asked of less than words: others are aligned, as the next test sees.
  if (p.key != LanePattern::key_of(bytes, load, bytes < 4 ? first : 0) || (first & p.odd) || !p.fits(address))
    return false;
  const int64_t low = int64_t(first) + p.low;
  if (low < int64_t(kSharedBase) || low + p.span > int64_t(cta.shared.size())) return false;
  if (cta.mbarriers.may_overlap(uint32_t(low), uint32_t(p.span))) return false;
  take(w, *unit, p, first, out);
  return true;
}

}  // namespace own_shared_detail

/// The same of an instruction that names any space.
template <bool load>
inline bool own_shared(Warp& w, const Op& op, uint32_t bytes, OwnShared& out) {
  const MemoryOperand& operand = memory_operand(op);
  if (!w.full() || op.a == kNoSlot || w.done_before(op) ||
      !(is_shared(operand.space) || (operand.wide && operand.space == ptx::Space::generic)))
    return false;
  if (!operand.wide && own_shared_detail::as_last_time<load>(w, op, bytes, out)) return true;
  return load ? own_shared_load(w, op, bytes, out) : own_shared_store(w, op, bytes, out);
}

/// True: `op` may ask own_shared_quick().
inline bool asks_own_shared_quick(const Op& op) {
  return is_shared(memory_operand(op).space) && !memory_operand(op).wide && op.a != kNoSlot &&
         !memory_operand(op).strong;
}
/// The same as own_shared(), which it leaves whatever isn't as it was last time to.
template <bool load>
[[gnu::always_inline]] inline bool own_shared_quick(Warp& w, const Op& op, uint32_t bytes, OwnShared& out) {
  return w.full() && !w.done_before(op) && own_shared_detail::as_last_time<load>(w, op, bytes, out);
}

}  // namespace tinygpu::isa
