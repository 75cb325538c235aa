#include "common/tinygpu/isa/memory_access.h"

#include <algorithm>
#include <cstring>

#include "common/tinygpu/isa/bank_passes.h"
#include "common/tinygpu/isa/memory_unit.h"
#include "common/tinygpu/machine/memory/fence_wait.h"

namespace tinygpu::isa {

using ptx::Space;

Space space_of(const ptx::Instruction& inst) {
  for (const auto& m : inst.mods) {
    if (m == "global") return Space::global;
    if (m == "shared") return Space::shared;
    if (m == "shared::cta") return Space::shared_cta;
    if (m == "shared::cluster") return Space::shared_cluster;
    if (m == "local") return Space::local;
    if (m == "param") return Space::param;
    if (m == "param::entry") return Space::param_entry;
    if (m == "param::func") return Space::param_func;
    if (m == "const") return Space::constant;
  }
  return Space::generic;
}

const char* verb_of(Act act) {
  constexpr const char* verbs[] = {"load", "store", "atomic", "ldmatrix", "stmatrix", "cp.async"};
  return verbs[int(act)];
}

AccessKind kind_of(Act act) {
  if (is_load(act)) return AccessKind::read;
  return act == Act::atomic ? AccessKind::atomic : AccessKind::write;
}

void decode_address(Decoder& d, Op& op, const ptx::Operand& o) {
  const AddressOperand a = d.address(o);
  op.a = a.base;
  op.imm = a.offset;
  op.edit<MemoryOperand>().wide = a.wide;
}

namespace {

bool in_window(uint64_t address, uint64_t window) { return address - window < kWindowSize; }

/// Least and greatest address of the executing lanes, and the OR of all low bits.
struct Span {
  uint64_t low, high, bits;
};

Span span_of(const uint64_t* a, uint32_t mask) {
  Span s{~0ull, 0, 0};
  if (mask == 0xffffffffu) {
    for (int i = 0; i < 32; ++i) {
      s.low = a[i] < s.low ? a[i] : s.low;
      s.high = a[i] > s.high ? a[i] : s.high;
      s.bits |= a[i];
    }
  } else {
    for_lanes(mask, [&](int i) {
      s.low = std::min(s.low, a[i]);
      s.high = std::max(s.high, a[i]);
      s.bits |= a[i];
    });
  }
  return s;
}

/// Adds the lane at `address` to the lines that an access touches.
void touch(const L2Cache& l2, uint64_t address, uint32_t bytes, Access& out) {
  const auto [first, last] = l2.lines_of(address, bytes);
  if (first == last) {  // not the device's memory
    ++out.sectors;
    return;
  }
  TouchedLines& t = out.lines;
  const uint32_t begin = uint32_t(address % L2Cache::kLine / 32), end = begin + (bytes + 31) / 32;
  const uint8_t sectors = uint8_t((1u << end) - (1u << begin));
  uint32_t k = t.count;
  while (k && t.line[k - 1] != first) --k;
  if (!k) {
    k = ++t.count;
    t.line[k - 1] = uint32_t(first);
    t.sectors[k - 1] = t.repeated[k - 1] = 0;
    std::memset(t.bytes[k - 1], 0, 4);
  }
  // Lanes of more than a sector are not aligned to less.
  for (uint32_t s = begin, left = bytes; s < end && s < 4; ++s, left -= std::min(left, 32u))
    t.bytes[k - 1][s] = uint8_t(std::min(255u, t.bytes[k - 1][s] + std::min(left, 32u)));
  out.sectors += uint32_t(__builtin_popcount(sectors & ~t.sectors[k - 1]));
  t.sectors[k - 1] |= sectors;
}

/// Lines of global memory of lanes `mask`, `bytes` each.
void touch_lanes(Warp& w, const uint64_t* a, uint32_t mask, uint32_t bytes, Act act, Access& out) {
  const L2Cache& l2 = w.gpu().l2;
  for_lanes(mask, [&](int i) { touch(l2, a[i], bytes, out); });
  if (act != Act::atomic) return;
  for_lanes(mask, [&](int i) {
    uint32_t same = 0;
    for_lanes(mask & ((1u << i) - 1), [&](int k) { same |= a[k] == a[i]; });
    if (!same) return;
    const uint64_t line = l2.lines_of(a[i], bytes).first;
    for (uint32_t k = 0; k < out.lines.count; ++k) out.lines.repeated[k] += out.lines.line[k] == line;
  });
}

bool resolve_global(Warp& w, const uint64_t* a, const Span& s, uint32_t bytes, Access& out) {
  const uint64_t length = s.high - s.low + bytes;
  if (length < bytes) return false;
  uint8_t* const low = global_bytes(w, s.low, length);
  if (!low) return false;
  const uint64_t delta = reinterpret_cast<uint64_t>(low) - s.low;
  for (int i = 0; i < 32; ++i) out.at[i] = reinterpret_cast<uint8_t*>(a[i] + delta);
  out.global = w.exec();
  return true;
}

/// Lane after lane `bytes` apart: the commonest access, one pass per 128 bytes.
bool dense(const uint32_t* offset, uint32_t mask, uint32_t bytes) {
  if (mask != 0xffffffffu || bytes < 4) return false;
  uint32_t differ = 0;
  for (uint32_t i = 0; i < 32; ++i) differ |= offset[i] ^ (offset[0] + i * bytes);
  return differ == 0;
}

bool resolve_own_shared(Warp& w, const uint64_t* a, const Span& s, uint32_t bytes, Act act, Access& out) {
  Cta& cta = w.cta();
  const uint64_t window = uint64_t(cta.rank) << 24;
  const uint64_t low = s.low - window, high = s.high - window;
  if (s.low < window + kSharedBase || !inside(0, cta.shared.size(), high, bytes)) return false;
  uint8_t* const base = cta.shared.data();
  uint32_t offset[32];
  for (int i = 0; i < 32; ++i) {
    offset[i] = uint32_t(a[i] - window);
    out.at[i] = base + offset[i];
  }
  out.shared = w.exec();
  const bool is_dense = dense(offset, w.exec(), bytes);
  const Passes passes =
      is_dense ? Passes{(bytes + 3) / 4, (bytes + 3) / 4} : passes_of(offset, w.exec(), bytes, is_load(act));
  out.passes = passes.passes;
  out.ideal = passes.ideal;
  if (cta.mbarriers.overlaps(uint32_t(low), uint32_t(high - low) + bytes))
    warn_mbarrier(w, cta, offset, w.exec(), bytes, act);
  return true;
}

void resolve_lanes(Warp& w, Space space, const uint64_t* a, uint32_t bytes, uint32_t align, Act act, Access& out) {
  uint32_t offset[32] = {};
  for_lanes(w.exec(), [&](int i) {
    const Place p = locate(w, space, a[i], bytes, align, kind_of(act), i, verb_of(act));
    if (p.space == Space::param && !is_load(act))
      w.fault(FaultKind::illegal_address, "store-to-parameter", std::string(verb_of(act)) + " to a kernel's parameters",
              "kernel parameters are read-only: copy the value to a register, local or shared memory first", i);
    out.at[i] = p.host;
    if (p.space == Space::global || p.space == Space::constant) {
      out.global |= 1u << i;
      out.constant = p.space == Space::constant;
    } else if (is_shared(p.space)) {
      out.shared |= 1u << i;
      offset[i] = uint32_t(p.address) & 0xffffffu;
      if (p.cta != &w.cta()) out.remote |= 1u << i;
      if (p.cta->mbarriers.overlaps(offset[i], bytes)) warn_mbarrier(w, *p.cta, offset, 1u << i, bytes, act);
    }
  });
  if (out.global && !out.constant) touch_lanes(w, a, out.global, bytes, act, out);
  if (!out.shared) return;
  const Passes passes = passes_of(offset, out.shared, bytes, is_load(act));
  out.passes = passes.passes;
  out.ideal = passes.ideal;
}

}  // namespace

void touch_global(Warp& w, const uint64_t* address, uint32_t mask, uint32_t bytes, Access& out) {
  out.global = mask;
  touch_lanes(w, address, mask, bytes, Act::copy, out);
}

void warn_mbarrier(Warp& w, Cta& cta, const uint32_t* offset, uint32_t mask, uint32_t bytes, Act act) {
  for_lanes(mask, [&](int i) {
    if (cta.mbarriers.overlaps(offset[i], bytes))
      w.report(Severity::warning, "mbarrier-memory-reused",
               std::string("ordinary ") + verb_of(act) + " of shared memory that holds a live mbarrier",
               "read the state through mbarrier.test_wait or a token, or end the object with mbarrier.inval first; "
               "hardware keeps the object outside memory and gives the bytes that lay there before init",
               i);
  });
}

namespace {

void find_places(Warp& w, Space space, const uint64_t* a, uint32_t bytes, uint32_t align, Act act, Access& out) {
  const Span s = span_of(a, w.exec());
  if ((s.bits & (align - 1)) == 0) {
    switch (space) {
      case Space::global:
      case Space::constant:
        if (!resolve_global(w, a, s, bytes, out)) break;
        out.constant = space == Space::constant;
        if (!out.constant) touch_lanes(w, a, w.exec(), bytes, act, out);
        return;
      case Space::shared:
      case Space::shared_cta:
      case Space::shared_cluster:
        if (resolve_own_shared(w, a, s, bytes, act, out)) return;
        break;
      case Space::local: {
        const uint32_t mask = w.exec();
        if (inside(0, 0x80000, s.high, bytes)) {
          for_lanes(mask, [&](int i) { out.at[i] = w.local(uint32_t(i), uint32_t(a[i]), bytes); });
          return;
        }
        break;
      }
      case Space::generic:
        if (in_window(s.low, kSharedWindow) && in_window(s.high, kSharedWindow)) {
          uint64_t offset[32];
          for (int i = 0; i < 32; ++i) offset[i] = a[i] - kSharedWindow;
          const Span shifted{s.low - kSharedWindow, s.high - kSharedWindow, s.bits};
          if (resolve_own_shared(w, offset, shifted, bytes, act, out)) return;
        } else if (s.low >= kFunctionWindow + kWindowSize || s.high < kSharedWindow) {
          if (resolve_global(w, a, s, bytes, out)) return touch_lanes(w, a, w.exec(), bytes, act, out);
        }
        break;
      default: break;
    }
  }
  resolve_lanes(w, space, a, bytes, align, act, out);
}

}  // namespace

void resolve(Warp& w, Space space, const uint64_t* a, uint32_t bytes, uint32_t align, Act act, Access& out) {
  out.bytes = bytes;
  out.words = std::max(1u, bytes / 4);
  out.writes = is_store(act);
  find_places(w, space, a, bytes, align, act, out);
  // A copy's lanes are told when it lands; constants are nobody's to write.
  if (act == Act::copy || space == Space::constant) return;
  const uint32_t lanes = out.shared | out.global;
  if (lanes && w.told(Observer::shared_accesses | Observer::global_accesses)) [[unlikely]]
    tell_lanes(w, w.current_op(), space, act, lanes, a, bytes);
}

ptx::MemoryOrder order_of(const Op& op, Act act) {
  const bool matrix = act == Act::load_matrix || act == Act::store_matrix;
  return matrix ? ptx::MemoryOrder{} : memory_operand(op).order;
}

void tell_shared(Warp& w, const Op& op, Act act, const Cta& cta, const LaneAccess& lanes) {
  tell(MemoryAccess{w.partition(), kind_of(act), Space::shared, Proxy::generic, order_of(op, act), &cta, w.time(),
                    &lanes});
}

void tell_lanes(Warp& w, const Op& op, Space space, Act act, uint32_t lanes, const uint64_t* address, uint32_t bytes) {
  const auto shared = [&](int lane) {
    return is_shared(space) || (space == Space::generic && in_window(address[lane], kSharedWindow));
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

void tell_traffic(Warp& w, const Access& a) {
  const Origin who = origin_of(w);
  MemoryTraffic t{w.partition(), who, w.sm().index, w.time()};
  if (a.shared) {
    t.shared_bytes = uint64_t(a.bytes) * uint32_t(__builtin_popcount(a.shared));
    t.passes = a.passes;
    t.ideal = a.ideal;
  }
  if (a.global) t.l2_bytes = 32ull * a.sectors;
  tell(t);
  if (a.lines.count) w.partition().memory.tell_missed(who);
}

namespace {

/// The lines of a load or an atomic are those of the request that is made next; `atomic`: with the words that meet.
void add_lines(MemoryRequests& memory, const TouchedLines& t, bool atomic) {
  for (uint32_t k = 0; k < t.count; ++k)
    memory.add_line({t.line[k], uint8_t(__builtin_popcount(t.sectors[k])), atomic ? t.repeated[k] : uint8_t(0), 0});
}

}  // namespace

void finish_global_load(Warp& w, const Op& op, const TouchedLines& t, uint32_t sectors) {
  if (w.done_before(op)) return w.result_at(op, w.time());
  MemoryUnit& unit = memory_unit(w);
  MemoryRequests& memory = w.partition().memory;
  const bool cached = memory_operand(op).cached;
  const L1Cache::Arrival asked = memory.next_arrival();
  L1Cache::Arrival follows;
  uint32_t moved = t.count ? 0 : sectors;
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
  const Turn::Passage way = Turn(w, unit).global(t.count, moved, false);
  const uint64_t ready =
      way.end + (moved ? unit.global_latency : unit.timing.l1_latency) + w.sm().translation.wait(way.begin);
  if (!t.count || (!moved && !follows.unknown()))
    w.result_at(op, std::max(ready, follows.value));
  else
    memory.load(w, op, way.begin, ready, follows, cached);
}

void finish_global_store(Warp& w, const TouchedLines& t, uint32_t sectors) {
  uint32_t moved = t.count ? 0 : sectors;
  for (uint32_t k = 0; k < t.count; ++k) {
    const uint32_t stored = t.stored(k);
    moved += stored;
    w.partition().memory.add_line({t.line[k], uint8_t(stored), 0, 0});
  }
  const Turn::Passage way = Turn(w, memory_unit(w)).global(t.count, moved, true);
  if (!t.count) return;
  w.partition().memory.store(w.sm(), way.begin, MemoryRequests::Kind::write);
}

namespace {

/// Atomics on global memory happen in their turn, so they are answered at once.
void finish_global_atomic(Warp& w, const Op& op, const Access& access) {
  MemoryUnit& unit = memory_unit(w);
  MemoryRequests& memory = w.partition().memory;
  const Turn::Passage way = Turn(w, unit).global(access.lines.count, access.sectors, true);
  add_lines(memory, access.lines, true);
  const MemoryReply reply = memory.answer_now(
      access.floating ? MemoryRequests::Kind::float_update : MemoryRequests::Kind::update, w.sm(), way.begin);
  w.result_at(op, way.end + unit.global_atomic_latency + reply.delay + (reply.missed ? unit.timing.miss_latency : 0));
  if (reply.delay > unit.timing.store_queue)
    w.sm().stores_held = std::max(w.sm().stores_held, way.begin + reply.delay - unit.timing.store_queue);
}

}  // namespace

void finish_access(Warp& w, const Op& op, const Access& access, Act act) {
  if (w.told(Observer::traffic)) [[unlikely]]
    tell_traffic(w, access);
  MemoryUnit& unit = memory_unit(w);
  if ((!access.shared && !access.global) || w.done_before(op)) return w.result_at(op, w.time());
  if (access.shared) {
    const uint32_t own_latency = act == Act::atomic ? unit.shared_atomic_latency : unit.shared_latency;
    const uint32_t latency = access.remote ? unit.timing.remote_latency : own_latency;
    w.result_at(op,
                Turn::shared(w, unit, SharedCharge(unit.timing, access.passes, access.words, access.writes, latency)));
  }
  if (!access.global) return;
  if (access.constant) return w.result_at(op, w.time() + unit.constant_latency);
  if (act == Act::atomic) return finish_global_atomic(w, op, access);
  if (access.writes) return finish_global_store(w, access.lines, access.sectors);
  finish_global_load(w, op, access.lines, access.sectors);
}

void read_for_copy(Warp& w, const Access& access, uint32_t passes, std::function<void(uint64_t when)> then) {
  if (w.told(Observer::traffic)) [[unlikely]]
    tell_traffic(w, access);
  if (!access.global) return then(w.time());
  MemoryUnit& unit = memory_unit(w);
  const Turn::Passage way = Turn(w, unit).copy(passes, access.sectors);
  if (!access.lines.count) return then(way.end);
  add_lines(w.partition().memory, access.lines, false);
  w.partition().memory.ask(
      MemoryRequests::Kind::read, w.sm(), way.begin,
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

void release_before(Warp& w, const Op& op, Space space, const uint64_t* address) {
  const ptx::MemoryOrder order = memory_operand(op).order;
  if (order.releases() && any_global(w, space, address)) w.charge(release_wait(w, order.scope));
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

}  // namespace tinygpu::isa
