#include "common/tinygpu/engines/lsu/shared_fast_path.h"

#include "common/tinygpu/engines/lsu/warp_access.h"

namespace tinygpu {
namespace {

/// The lanes' offsets in shared memory, lane 0 being at `first`, and what lies around them.
struct Offsets {
  uint32_t at[32], low, end;
  Offsets(const LaneLayout& l, uint32_t first) : low(uint32_t(first + l.low)), end(uint32_t(first + l.low + l.span)) {
    for (int i = 0; i < 32; ++i) at[i] = first + uint32_t(l.distance[i]);
  }
};

void show_observers(Warp& w, const Op& op, const LaneLayout& l, const Offsets& offset, uint32_t bytes, MemoryOp act) {
  if (w.told(Observer::shared_accesses))
    tell_shared(w, op, act, w.cta(),
                {w, 0xffffffffu, bytes, offset.at, nullptr, offset.low, offset.end, l.coalesced && bytes >= 4});
  if (w.told(Observer::traffic)) {
    WarpAccess access;
    access.shared = 0xffffffffu;
    access.bytes = bytes;
    access.passes = l.passes;
    access.ideal = l.ideal;
    tell_traffic(w, access);
  }
}

}  // namespace

template <bool load, class T>
bool SharedFastPath::look(Warp& w, const Op& op, uint32_t bytes) {
  Cta& cta = w.cta();
  const T* address = w.at<T>(op.a);
  const bool generic = memory_operand(op).space == ptx::Space::generic;
  const uint64_t window = (uint64_t(cta.rank) << 24) + (generic ? kSharedWindow : 0);
  const uint64_t offset = T(address[0] + uint64_t(op.imm) - window), size = cta.shared.size();
  if (offset >= size) return false;
  LoadStoreUnit& unit = LoadStoreUnit::of(w);
  const LaneLayout* l = &unit.layouts.met_by(op);
  if (l->key != LaneLayout::key_of(bytes, load, offset) || !l->fits(address)) {
    l = unit.layouts.learn(op, address, uint32_t(offset), bytes, load);
    if (!l) return false;
  }
  const int64_t low = int64_t(offset) + l->low;
  if (low < int64_t(kSharedBase) || low + l->span > int64_t(size) || (offset & l->alignment)) return false;
  constexpr MemoryOp act = load ? MemoryOp::load : MemoryOp::store;
  if (cta.mbarriers.overlaps(uint32_t(low), uint32_t(l->span)))
    warn_mbarrier(w, cta, Offsets(*l, uint32_t(offset)).at, 0xffffffffu, bytes, act);
  if (w.told(kObserved)) show_observers(w, op, *l, Offsets(*l, uint32_t(offset)), bytes, act);
  charge(w, unit, *l, uint32_t(offset));
  return true;
}

template bool SharedFastPath::look<true, uint32_t>(Warp&, const Op&, uint32_t);
template bool SharedFastPath::look<true, uint64_t>(Warp&, const Op&, uint32_t);
template bool SharedFastPath::look<false, uint32_t>(Warp&, const Op&, uint32_t);
template bool SharedFastPath::look<false, uint64_t>(Warp&, const Op&, uint32_t);

}  // namespace tinygpu
