// What observers see of an access, and the warning that it meets an mbarrier.
#include <algorithm>
#include <string>

#include "common/tinygpu/base/for_lanes.h"
#include "common/tinygpu/engines/lsu/warp_access.h"

namespace tinygpu {

using ptx::Space;

const char* verb_of(MemoryOp act) {
  constexpr const char* verbs[] = {"load", "store", "atomic", "ldmatrix", "stmatrix", "cp.async"};
  return verbs[int(act)];
}

AccessKind kind_of(MemoryOp act) {
  if (is_load(act)) return AccessKind::read;
  return act == MemoryOp::atomic ? AccessKind::atomic : AccessKind::write;
}

void warn_mbarrier(Warp& w, Cta& cta, const uint32_t* offset, uint32_t mask, uint32_t bytes, MemoryOp act) {
  for_lanes(mask, [&](int i) {
    if (cta.mbarriers.overlaps(offset[i], bytes))
      w.report(Severity::warning, "mbarrier-memory-reused",
               std::string("ordinary ") + verb_of(act) + " of shared memory that holds a live mbarrier",
               "read the state through mbarrier.test_wait or a token, or end the mbarrier with mbarrier.inval first; "
               "hardware keeps the mbarrier elsewhere, and a load returns the bytes from before init",
               i);
  });
}

namespace {

bool in_shared_window(uint64_t address) { return address - kSharedWindow < kWindowSize; }

ptx::MemoryOrder order_of(const Op& op, MemoryOp act) {
  const bool matrix = act == MemoryOp::load_matrix || act == MemoryOp::store_matrix;
  return matrix ? ptx::MemoryOrder{} : memory_operand(op).order;
}

}  // namespace

void tell_shared(Warp& w, const Op& op, MemoryOp act, const Cta& cta, const LaneAccess& lanes) {
  tell(MemoryAccess{w.partition(), kind_of(act), Space::shared, Proxy::generic, order_of(op, act), &cta, w.time(),
                    &lanes});
}

void tell_lanes(Warp& w, const Op& op, Space space, MemoryOp act, uint32_t lanes, const uint64_t* address,
                uint32_t bytes) {
  const auto shared = [&](int lane) {
    return is_shared(space) || (space == Space::generic && in_shared_window(address[lane]));
  };
  while (lanes) {
    // Those that reach the same memory, together.
    const int first = __builtin_ctz(lanes);
    const bool to_shared = shared(first);
    const uint32_t rank = uint32_t(address[first]) >> 24;
    uint32_t offset[32];
    LaneAccess part{w, 0, bytes, to_shared ? offset : nullptr, to_shared ? nullptr : address, ~0ull, 0};
    for_lanes(lanes, [&](int i) {
      if (shared(i) != to_shared || (to_shared && uint32_t(address[i]) >> 24 != rank)) return;
      part.lanes |= 1u << i;
      offset[i] = uint32_t(address[i]) & 0xffffff;
      const uint64_t at = to_shared ? offset[i] : address[i];
      part.low = std::min(part.low, at);
      part.high = std::max(part.high, at + bytes);
    });
    lanes &= ~part.lanes;
    if (to_shared)
      tell_shared(w, op, act, *w.cluster().cta(rank), part);
    else
      tell(MemoryAccess{w.partition(), kind_of(act), Space::global, Proxy::generic, order_of(op, act), nullptr,
                        w.time(), &part});
  }
}

void tell_traffic(Warp& w, const WarpAccess& a) {
  const Origin who = origin_of(w);
  MemoryTraffic t{w.partition(), who, w.sm().index, w.time()};
  if (a.shared) {
    t.shared_bytes = uint64_t(a.bytes) * uint32_t(__builtin_popcount(a.shared));
    t.passes = a.passes;
    t.ideal = a.ideal;
  }
  if (a.global) t.l2_bytes = 32ull * a.lines.all_sectors;
  tell(t);
  if (a.lines.count) w.partition().memory.tell_missed(who);
}

}  // namespace tinygpu
