// Where the lanes of an access are.
#include <algorithm>
#include <string>

#include "common/tinygpu/base/for_lanes.h"
#include "common/tinygpu/engines/lsu/bank_conflicts.h"
#include "common/tinygpu/engines/lsu/load_store_unit.h"
#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

using ptx::Space;

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

/// The lines of global memory that lanes `mask` touch.
void coalesce(Warp& w, const uint64_t* a, uint32_t mask, MemoryOp act, WarpAccess& out) {
  const L2Cache& l2 = w.gpu().l2;
  if (out.combined) mask &= -mask;  // one lane's
  out.lines.add_lanes(l2, a, mask, out.bytes);
  if (act == MemoryOp::atomic) out.lines.count_repeated(l2, a, mask, out.bytes);
}

void set_passes(const BankPasses& banks, WarpAccess& out) {
  out.passes = banks.passes;
  out.ideal = banks.ideal;
}

bool resolve_global(Warp& w, const uint64_t* a, const Span& s, uint32_t bytes, WarpAccess& out) {
  const uint64_t length = s.high - s.low + bytes;
  if (length < bytes) return false;
  uint8_t* const low = LoadStoreUnit::of(w).global_bytes(w, s.low, length);
  if (!low) return false;
  const uint64_t delta = reinterpret_cast<uint64_t>(low) - s.low;
  for (int i = 0; i < 32; ++i) out.at[i] = reinterpret_cast<uint8_t*>(a[i] + delta);
  out.global = w.exec();
  return true;
}

/// Lane after lane `bytes` apart: the commonest access, one pass per 128 bytes.
bool coalesced(const uint32_t* offset, uint32_t mask, uint32_t bytes) {
  if (mask != 0xffffffffu || bytes < 4) return false;
  uint32_t differ = 0;
  for (uint32_t i = 0; i < 32; ++i) differ |= offset[i] ^ (offset[0] + i * bytes);
  return differ == 0;
}

bool resolve_own_shared(Warp& w, const uint64_t* a, const Span& s, uint32_t bytes, MemoryOp act, WarpAccess& out) {
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
  const uint32_t words = (bytes + 3) / 4;
  set_passes(coalesced(offset, w.exec(), bytes) ? BankPasses{words, words}
                                                : bank_passes(offset, w.exec(), bytes, is_load(act)),
             out);
  if (cta.mbarriers.overlaps(uint32_t(low), uint32_t(high - low) + bytes))
    warn_mbarrier(w, cta, offset, w.exec(), bytes, act);
  return true;
}

void resolve_lanes(Warp& w, Space space, const uint64_t* a, uint32_t bytes, uint32_t align, MemoryOp act,
                   WarpAccess& out) {
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
  if (out.global && !out.constant) coalesce(w, a, out.global, act, out);
  if (!out.shared) return;
  set_passes(bank_passes(offset, out.shared, bytes, is_load(act)), out);
}

void find_places(Warp& w, Space space, const uint64_t* a, uint32_t bytes, uint32_t align, MemoryOp act,
                 WarpAccess& out) {
  const Span s = span_of(a, w.exec());
  if ((s.bits & (align - 1)) == 0) {
    switch (space) {
      case Space::global:
      case Space::constant:
        if (!resolve_global(w, a, s, bytes, out)) break;
        out.constant = space == Space::constant;
        if (!out.constant) coalesce(w, a, w.exec(), act, out);
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
          if (resolve_global(w, a, s, bytes, out)) return coalesce(w, a, w.exec(), act, out);
        }
        break;
      default: break;
    }
  }
  resolve_lanes(w, space, a, bytes, align, act, out);
}

}  // namespace

void resolve(Warp& w, Space space, const uint64_t* a, uint32_t bytes, uint32_t align, MemoryOp act, WarpAccess& out) {
  out.bytes = bytes;
  out.words = std::max(1u, bytes / 4);
  out.writes = is_store(act);
  find_places(w, space, a, bytes, align, act, out);
  // Observers see a copy's lanes when it lands; no instruction writes constants.
  if (act == MemoryOp::copy || space == Space::constant) return;
  const uint32_t lanes = out.shared | out.global;
  if (lanes && w.told(Observer::shared_accesses | Observer::global_accesses)) [[unlikely]]
    tell_lanes(w, w.current_op(), space, act, lanes, a, bytes);
}

uint8_t* coalesced_global(Warp& w, const Op& op, Space space, uint32_t bytes, bool load) {
  if (space != Space::global && space != Space::constant && space != Space::generic) return nullptr;
  if (!w.full() || op.a == kNoSlot || !memory_operand(op).wide || memory_operand(op).strong) return nullptr;
  if (w.told(Observer::global_accesses | Observer::traffic)) return nullptr;
  const uint64_t* address = w.at<uint64_t>(op.a);
  const uint64_t first = address[0] + uint64_t(op.imm), length = 32 * uint64_t(bytes);
  if (first & (bytes - 1)) return nullptr;
  if (space == Space::generic && first + length > kSharedWindow && first < kFunctionWindow + kWindowSize)
    return nullptr;
  const int log = __builtin_ctz(bytes);
  uint64_t gaps = 0;
  for (int i = 0; i < 32; ++i) gaps |= (address[i] - address[0]) ^ uint64_t(i) << log;
  if (gaps) return nullptr;
  LoadStoreUnit& unit = LoadStoreUnit::of(w);
  uint8_t* const host = unit.global_bytes(w, first, length);
  if (!host) return nullptr;
  if (space == Space::constant) {
    w.result_at(op, w.time() + unit.constant_latency);
    return host;
  }
  TouchedLines lines;
  lines.add_range(w.gpu().l2, first, length);
  load ? charge_global_load(w, op, lines) : charge_global_store(w, lines);
  return host;
}

}  // namespace tinygpu
