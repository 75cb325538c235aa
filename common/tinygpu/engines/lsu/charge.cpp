// What an access takes of the SM's pipes and of the chip's memory, and when its values are there.
#include <algorithm>

#include "common/tinygpu/engines/lsu/load_store_unit.h"
#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/machine/memory/fence_wait.h"
#include "common/tinygpu/machine/memory/loads_on_their_way.h"
#include "common/tinygpu/machine/memory/stores_on_their_way.h"

namespace tinygpu {

using ptx::Space;

namespace {

/// The lines of a load or an atomic are those of the request that is made next; `atomic`: with the words that meet.
void add_lines(MemoryRequests& memory, const TouchedLines& t, bool atomic) {
  for (uint32_t k = 0; k < t.count; ++k)
    memory.add_line({t.line[k], uint8_t(__builtin_popcount(t.sectors[k])), atomic ? t.repeated[k] : uint8_t(0), 0});
}

/// A load of the GPU's scope looks where all SMs see the same. One that acquires empties L1, too. A volatile one, whose
/// scope is the system's, takes no longer than a weak one that misses L1 (probe_16_handover).
uint64_t strong_wait(Warp& w, const Op& op) {
  const MemoryOperand& m = memory_operand(op);
  if (!m.strong || m.order.scope != ptx::Scope::gpu) return 0;
  return w.timing().memory.strong_latency + (m.order.acquires() ? w.timing().fences.acquire : 0);
}

}  // namespace

void charge_global_load(Warp& w, const Op& op, const TouchedLines& t) {
  LoadStoreUnit& unit = LoadStoreUnit::of(w);
  if (w.done_before(op) || unit.free_loads) return w.result_at(op, w.time());
  MemoryRequests& memory = w.partition().memory;
  const bool cached = memory_operand(op).cached;
  const L1Cache::Arrival asked = memory.next_arrival();
  L1Cache::Arrival follows;
  uint32_t moved = t.count ? 0 : t.all_sectors;
  for (uint32_t k = 0; k < t.count; ++k) {
    uint32_t missing = t.sectors[k];
    if (cached) {
      L1Cache::Arrival then;
      missing = w.sm().l1.load(t.line[k], missing, asked, then);
      follows.value = std::max(follows.value, then.value);
    }
    if (!missing) continue;
    moved += uint32_t(__builtin_popcount(missing));
    memory.add_line({t.line[k], uint8_t(__builtin_popcount(missing)), 0, 0});
  }
  const LoadStoreUnit::Passage way = unit.global(w, t.count, moved, false);
  const uint64_t ready = way.end + (moved ? unit.global_latency : unit.timing.l1_latency) +
                         w.sm().translation.wait(way.begin) + strong_wait(w, op);
  if (!t.count || (!moved && !follows.unknown()))
    w.result_at(op, std::max(ready, follows.value));
  else
    memory.load(w, op, way.begin, ready, follows, cached);
}

void charge_global_store(Warp& w, const TouchedLines& t) {
  LoadStoreUnit& unit = LoadStoreUnit::of(w);
  uint32_t stored[32], lines = 0, moved = t.count ? 0 : t.all_sectors;
  unit.waiting_stores(w).add(t, stored);
  for (uint32_t k = 0; k < t.count; ++k) {
    if (!stored[k]) continue;
    ++lines;
    moved += stored[k];
    w.partition().memory.add_line({t.line[k], uint8_t(stored[k]), 0, 0});
  }
  if (t.count && !moved) return;  // merged into stores that have yet to leave
  const LoadStoreUnit::Passage way = unit.global(w, lines, moved, true);
  if (!t.count) return;
  w.partition().memory.store(w.sm(), way.begin, MemoryRequests::Kind::write);
}

namespace {

/// Atomics on global memory happen in their turn, so they are answered at once.
void charge_global_atomic(Warp& w, const Op& op, const WarpAccess& access) {
  LoadStoreUnit& unit = LoadStoreUnit::of(w);
  MemoryRequests& memory = w.partition().memory;
  const LoadStoreUnit::Passage way = unit.global(w, access.lines.count, access.lines.all_sectors, true);
  add_lines(memory, access.lines, true);
  const MemoryReply reply = memory.answer_now(
      access.floating ? MemoryRequests::Kind::float_update : MemoryRequests::Kind::update, w.sm(), way.begin);
  if (op.dst == kNoSlot) {  // a fence behind it has to wait until it is answered; a result would have been waited for
    uint64_t& updated = w.sm().extensions.get<StoresOnTheirWay>().updated;
    updated = std::max(updated, way.begin + reply.delay);
  }
  w.result_at(op, way.end + unit.global_atomic_latency + reply.delay + (reply.missed ? unit.timing.miss_latency : 0));
  if (reply.delay > unit.timing.store_queue)
    w.sm().stores_held = std::max(w.sm().stores_held, way.begin + reply.delay - unit.timing.store_queue);
}

}  // namespace

void charge_access(Warp& w, const Op& op, const WarpAccess& access, MemoryOp act) {
  if (w.told(Observer::traffic)) [[unlikely]]
    tell_traffic(w, access);
  LoadStoreUnit& unit = LoadStoreUnit::of(w);
  if ((!access.shared && !access.global) || w.done_before(op)) return w.result_at(op, w.time());
  if (access.shared) {
    const uint32_t own_latency = act == MemoryOp::atomic ? unit.shared_atomic_latency : unit.shared_latency;
    const uint32_t latency = access.remote ? unit.timing.remote_latency : own_latency;
    // Passes of an atomic have its own cost in them, with or without conflicts.
    const uint32_t passes = unit.timing.conflicts_free && act != MemoryOp::atomic ? access.ideal : access.passes;
    w.result_at(op, unit.shared(w, SharedCost(unit.timing, passes, access.words, access.writes, latency)));
  }
  if (!access.global) return;
  if (access.constant) return w.result_at(op, w.time() + unit.constant_latency);
  if (act == MemoryOp::atomic) return charge_global_atomic(w, op, access);
  if (access.writes) return charge_global_store(w, access.lines);
  charge_global_load(w, op, access.lines);
}

void charge_copy(Warp& w, const WarpAccess& access, uint32_t passes, std::function<void(uint64_t when)> then) {
  if (w.told(Observer::traffic)) [[unlikely]]
    tell_traffic(w, access);
  LoadStoreUnit& unit = LoadStoreUnit::of(w);
  if (!access.global || unit.free_loads) return then(w.time());
  const LoadStoreUnit::Passage way = unit.copy(w, passes, access.lines.all_sectors);
  if (!access.lines.count) return then(way.end);
  add_lines(w.partition().memory, access.lines, false);
  w.partition().memory.ask(
      MemoryRequests::Kind::load, w.sm(), way.begin,
      [then = std::move(then), end = way.end + w.sm().translation.wait(way.begin),
       miss = unit.timing.miss_least](const MemoryReply& r) { then(end + r.delay + r.late + (r.missed ? miss : 0)); });
}

namespace {

/// Some lane's access is one of global memory.
bool any_global(Warp& w, Space space, const uint64_t* address) {
  if (is_shared(space) || space == Space::local) return false;
  if (space != Space::generic) return true;
  uint32_t global = 0;
  for (int i = 0; i < 32; ++i)
    global |= uint32_t(address[i] < kSharedWindow || address[i] >= kFunctionWindow + kWindowSize) << i;
  return global & w.exec();
}

}  // namespace

bool wait_to_release(Warp& w, const Op& op, Space space, const uint64_t* address) {
  const ptx::MemoryOrder order = memory_operand(op).order;
  if (!order.releases() || !any_global(w, space, address) || w.take_timeout()) return false;
  const uint64_t cycles = release_wait(w, order.scope);
  if (cycles) w.block({.kind = BlockReason::Kind::sleep, .what = "the fence of a release"}, true, w.time() + cycles);
  return cycles != 0;
}

bool wait_to_pass(Warp& w, Space space, const uint64_t* address) {
  const LoadsOnTheirWay* loads = w.sm().extensions.find<LoadsOnTheirWay>();
  if (!loads || !any_global(w, space, address) || w.take_timeout()) return false;
  const uint64_t cycles = loads->wait(w.time());
  if (cycles) w.block({.kind = BlockReason::Kind::sleep, .what = "the way to L2"}, true, w.time() + cycles);
  return cycles != 0;
}

bool wait_serial(Warp& w, Space space, const uint64_t* address) {
  SmPartition& partition = w.partition();
  if (partition.serial || !any_global(w, space, address)) return false;
  partition.defer(w);
  BlockReason why;
  why.kind = BlockReason::Kind::serial;
  why.what = "strong global access";
  w.block(why, true);
  return true;
}

}  // namespace tinygpu
