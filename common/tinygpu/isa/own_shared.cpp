#include "common/tinygpu/isa/own_shared.h"

#include "common/tinygpu/isa/memory_access.h"
#include "common/tinygpu/isa/memory_unit.h"

TINYGPU_ISA_BEGIN
namespace {

constexpr uint32_t kToldOf = Observer::shared_accesses | Observer::traffic;

/// Offsets of the lanes of an access at `first`, and what lies between them.
struct Offsets {
  uint32_t at[32], low, end;
  Offsets(const LanePattern& p, uint32_t first) : low(uint32_t(first + p.low)), end(uint32_t(first + p.low + p.span)) {
    for (int i = 0; i < 32; ++i) at[i] = first + uint32_t(p.distance[i]);
  }
};

/// The access may meet an mbarrier. True.
bool check(Warp& w, const LanePattern& p, uint32_t first, uint32_t bytes, Act act) {
  const Offsets offset(p, first);
  if (w.cta().mbarriers.overlaps(offset.low, offset.end - offset.low))
    warn_mbarrier(w, w.cta(), offset.at, 0xffffffffu, bytes, act);
  return true;
}

void tell_observers(Warp& w, const Op& op, const LanePattern& p, uint32_t first, uint32_t bytes, Act act) {
  if (w.told(Observer::shared_accesses)) {
    const Offsets offset(p, first);
    tell_shared(w, op, act, w.cta(),
                {w, 0xffffffffu, bytes, offset.at, nullptr, offset.low, offset.end, p.dense && bytes >= 4});
  }
  if (w.told(Observer::traffic)) {
    Access access;
    access.shared = 0xffffffffu;
    access.bytes = bytes;
    access.passes = p.passes;
    access.ideal = p.ideal;
    tell_traffic(w, access);
  }
}

/// T: of the register that holds addresses. First: tried so; it calls nothing but in its last act, which keeps it
/// quick, and leaves what has to be made or learnt to a second try.
template <bool load, class T, bool first_try = true>
bool own_shared(Warp& w, const Op& op, bool generic, uint32_t bytes, OwnShared& out) {
  Cta& cta = w.cta();
  const T* address = w.at<T>(op.a);
  const uint64_t window = (uint64_t(cta.rank) << 24) + (generic ? kSharedWindow : 0);
  const uint64_t first = T(address[0] + uint64_t(op.imm) - window), size = cta.shared.size();
  if (first >= size) return false;
  const auto again = own_shared<load, T, false>;
  MemoryUnit* unit;
  if constexpr (first_try) {
    if (w.told(kToldOf) || !w.sm().extensions.known(unit)) [[unlikely]]
      return again(w, op, generic, bytes, out);
  } else {
    unit = &memory_unit(w);
  }
  const LanePattern* lanes = &unit->patterns.met_by(op);
  if (lanes->key != LanePattern::key_of(bytes, load, first) || !lanes->fits(address)) [[unlikely]] {
    if constexpr (first_try) return again(w, op, generic, bytes, out);
    lanes = unit->patterns.learn(op, address, uint32_t(first), bytes, load);
    if (!lanes) return false;
  }
  const LanePattern& p = *lanes;
  const int64_t low = int64_t(first) + p.low;
  if (low < int64_t(kSharedBase) || low + p.span > int64_t(size) || (first & p.odd)) return false;
  out.first = cta.shared.data() + first;
  out.lanes = &p;
  constexpr Act act = load ? Act::load : Act::store;
  const bool to_check = cta.mbarriers.may_overlap(uint32_t(low), uint32_t(p.span));
  if constexpr (!first_try) {
    if (to_check) check(w, p, uint32_t(first), bytes, act);
    if (w.told(kToldOf)) tell_observers(w, op, p, uint32_t(first), bytes, act);
  }
  out.ready = Turn(w, *unit).shared(p.passes, bytes <= 4 ? 1 : bytes / 4, !load, unit->shared_latency);
  return !first_try || !to_check || check(w, p, uint32_t(first), bytes, act);
}

template <bool load>
bool own_shared(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, OwnShared& out) {
  const bool wide = memory_operand(op).wide, generic = space == ptx::Space::generic;
  if (!w.full() || op.a == kNoSlot || !(is_shared(space) || (generic && wide)) || w.done_before(op)) return false;
  return wide ? own_shared<load, uint64_t>(w, op, generic, bytes, out)
              : own_shared<load, uint32_t>(w, op, false, bytes, out);
}

}  // namespace

bool own_shared_load(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, OwnShared& out) {
  return own_shared<true>(w, op, space, bytes, out);
}
bool own_shared_store(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, OwnShared& out) {
  return own_shared<false>(w, op, space, bytes, out);
}

TINYGPU_ISA_END
