#include "common/tinygpu/isa/own_shared.h"

namespace tinygpu::isa {
namespace {

using own_shared_detail::kToldOf;

/// Offsets of the lanes of an access at `first`, and what lies between them.
struct Offsets {
  uint32_t at[32], low, end;
  Offsets(const LanePattern& p, uint32_t first) : low(uint32_t(first + p.low)), end(uint32_t(first + p.low + p.span)) {
    for (int i = 0; i < 32; ++i) at[i] = first + uint32_t(p.distance[i]);
  }
};

/// The access may meet an mbarrier.
void check(Warp& w, const LanePattern& p, uint32_t first, uint32_t bytes, Act act) {
  const Offsets offset(p, first);
  if (w.cta().mbarriers.overlaps(offset.low, offset.end - offset.low))
    warn_mbarrier(w, w.cta(), offset.at, 0xffffffffu, bytes, act);
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

/// T: of the register that holds addresses.
template <bool load, class T>
bool look(Warp& w, const Op& op, uint32_t bytes, OwnShared& out) {
  Cta& cta = w.cta();
  const T* address = w.at<T>(op.a);
  const bool generic = memory_operand(op).space == ptx::Space::generic;
  const uint64_t window = (uint64_t(cta.rank) << 24) + (generic ? kSharedWindow : 0);
  const uint64_t first = T(address[0] + uint64_t(op.imm) - window), size = cta.shared.size();
  if (first >= size) return false;
  MemoryUnit& unit = memory_unit(w);
  const LanePattern* lanes = &unit.patterns.met_by(op);
  if (lanes->key != LanePattern::key_of(bytes, load, first) || !lanes->fits(address)) {
    lanes = unit.patterns.learn(op, address, uint32_t(first), bytes, load);
    if (!lanes) return false;
  }
  const LanePattern& p = *lanes;
  const int64_t low = int64_t(first) + p.low;
  if (low < int64_t(kSharedBase) || low + p.span > int64_t(size) || (first & p.odd)) return false;
  constexpr Act act = load ? Act::load : Act::store;
  if (cta.mbarriers.may_overlap(uint32_t(low), uint32_t(p.span))) check(w, p, uint32_t(first), bytes, act);
  if (w.told(kToldOf)) tell_observers(w, op, p, uint32_t(first), bytes, act);
  own_shared_detail::take(w, unit, p, uint32_t(first), out);
  return true;
}

}  // namespace

bool own_shared_load(Warp& w, const Op& op, uint32_t bytes, OwnShared& out) {
  return memory_operand(op).wide ? look<true, uint64_t>(w, op, bytes, out) : look<true, uint32_t>(w, op, bytes, out);
}
bool own_shared_store(Warp& w, const Op& op, uint32_t bytes, OwnShared& out) {
  return memory_operand(op).wide ? look<false, uint64_t>(w, op, bytes, out) : look<false, uint32_t>(w, op, bytes, out);
}

}  // namespace tinygpu::isa
