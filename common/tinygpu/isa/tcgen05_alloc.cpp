// tcgen05.alloc, tcgen05.dealloc, tcgen05.relinquish_alloc_permit (PTX ISA 9.7.16.7).
// Each is synchronous for its warp: it goes on when the allocator has answered. The columns change hands at that time,
// not at issue, so a co-resident CTA sees them free when hardware's would.
#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/isa/tcgen05.h"

namespace tinygpu::isa {
namespace {

using Request = TensorMemory::Request;
using Kind = Request::Kind;
using Stage = Request::Stage;

constexpr const char* kAllocWaits = "tcgen05.alloc waits for free columns";
constexpr const char* kAllocPeer = "tcgen05.alloc.cta_group::2 waits for the peer CTA";
constexpr const char* kAllocAnswer = "tcgen05.alloc waits for the allocator";
constexpr const char* kDeallocPeer = "tcgen05.dealloc.cta_group::2 waits for the peer CTA";
constexpr const char* kDeallocAnswer = "tcgen05.dealloc waits for the allocator";

/// Blocks the warp in its request; the op runs again when woken and finds the request's stage.
void block_as(Warp& w, const char* what, uint32_t columns) {
  w.block({.kind = BlockReason::Kind::tmem_alloc, .what = what, .cta = &w.cta(), .id = columns}, true);
}

bool in_request(const Group& g) { return g.reason.kind == BlockReason::Kind::tmem_alloc; }

/// Columns have come free on `sm`: warps that wait there try again.
void wake_waiters(Sm& sm, uint64_t now) {
  for (Cta* cta : sm.resident)
    for (auto& warp : cta->warps)
      warp->wake(now, [](const Group& g) {
        return in_request(g) && (g.reason.what == kAllocWaits || g.reason.what == kAllocPeer);
      });
}

/// Whether `w` has nothing to do now: it is not whole; its request `r` has been answered and is taken away, so that the
/// instruction is over; or the answer is on its way.
bool is_over(Warp& w, TensorMemory::CtaState& state, const Request* r, const char* answer) {
  if (!whole_warp(w)) return true;
  if (!r || r->stage == Stage::waiting) return false;
  if (r->stage == Stage::answering)
    block_as(w, answer, r->columns);
  else
    state.requests.remove_if([&](const Request& x) { return &x == r; });
  return true;
}

bool legal_columns(uint32_t n) { return n >= kTmemUnit && n <= kTmemColumns && std::has_single_bit(n); }

uint32_t nearest_legal(uint32_t n) {
  return n <= kTmemUnit ? kTmemUnit : n >= kTmemColumns ? kTmemColumns : std::bit_ceil(n);
}

/// nCols of an alloc after the rules that hold for it alone.
uint32_t checked_columns(TensorMemory::CtaState& state, uint32_t columns, const Origin& who) {
  if (!legal_columns(columns)) {
    tmem_violation(who, "alloc-granularity", fmt::format("tcgen05.alloc asks for {} columns.", columns),
                   "Ask for a power of two from 32 to 512.");
    columns = nearest_legal(columns);
  }
  if (state.relinquished)
    who.fault(FaultKind::trap, "alloc-after-relinquish",
              "tcgen05.alloc in a CTA that has executed tcgen05.relinquish_alloc_permit.",
              "Relinquish the permit after the CTA's last tcgen05.alloc.");
  if (state.last_columns && columns > state.last_columns)
    tmem_violation(
        who, "alloc-size-grew",
        fmt::format("tcgen05.alloc asks for {} columns after an alloc of {} in this CTA.", columns, state.last_columns),
        "Order the allocations of a CTA from the largest to the smallest.");
  return columns;
}

struct AllocDetails {
  uint8_t cta_group;
  bool wide, shared;  // of where the address goes: 64 bits, .shared::cta
};

/// Where the address goes: a word of the CTA's own shared memory, written through the generic proxy as a weak store.
Place address_slot(Warp& w, const Op& op) {
  const bool wide = op.get<AllocDetails>().wide, shared = op.get<AllocDetails>().shared;
  const uint64_t address = uniform(w, op.a, wide, "the address of tcgen05.alloc") + uint64_t(op.imm);
  const int lane = __builtin_ctz(w.exec());
  const Place p = locate(w, shared ? ptx::Space::shared_cta : ptx::Space::generic,
                         shared && !wide ? uint32_t(address) : address, 4, 4, AccessKind::write, lane, "store");
  if (!p.cta || p.cta != &w.cta())
    w.fault(FaultKind::illegal_address, "alloc-destination",
            "tcgen05.alloc writes the address to memory that is not the CTA's own shared memory.",
            "Give it a __shared__ uint32_t of the executing CTA.", lane);
  return p;
}

/// At `when` the address is stored and the warp goes on.
void answer_alloc(Request& r, uint64_t when) {
  r.stage = Stage::answering;
  EventQueue& events = r.warp->partition().events;
  events.schedule(when, events.new_channel(), r.who, [&r](uint64_t now) {
    std::memcpy(r.slot.host, &r.address, 4);
    tell_operation(r.warp->partition(), AccessKind::write, Proxy::generic, r.who, r.slot.cta, now,
                   uint64_t(r.slot.host - r.slot.cta->shared.data()), 4);
    tell(TmemAllocation{
        r.warp->partition(), r.who, r.warp->sm().index, {0, kTmemLanes, r.address, r.columns}, true, now});
    r.stage = Stage::done;
    r.warp->wake(now, in_request);
  });
}

/// When an alloc that was asked for at `since` and finds its columns at `now` is answered. The profile's times are
/// those of the whole instruction, `issue` cycles of which have passed.
uint64_t alloc_done(const TensorMemoryTiming& costs, uint64_t since, uint64_t now, uint32_t issue) {
  const uint64_t quick = std::max(now, since) + uint64_t(costs.alloc) - issue;
  return now <= since ? quick : std::max(quick, since + uint64_t(costs.alloc_contended) - issue);
}

/// cta_group::2: both CTAs must ask, and the same block must be free in both SMs.
void alloc_pair(Warp& w, TensorMemory& mine, Request& r) {
  Cta& peer = tmem_peer(w.cta(), r.who, "tcgen05.alloc");
  TensorMemory& theirs = TensorMemory::of(peer.sm);
  Request* other = theirs.state_of(peer).waiting(Kind::alloc);
  if (!other) return block_as(w, kAllocPeer, r.columns);
  if (other->columns != r.columns)
    r.who.fault(FaultKind::launch_failure, "cta-pair-mismatch",
                fmt::format("The CTAs of a pair ask for {} and {} columns in one tcgen05.alloc.cta_group::2.",
                            r.columns, other->columns),
                "Pass one number of columns in both CTAs.");
  const uint32_t units = r.columns / kTmemUnit;
  const int first = TensorMemory::find_free(mine.taken() | theirs.taken(), units);
  if (first < 0) return block_as(w, kAllocWaits, r.columns);
  mine.take(w.cta(), uint32_t(first), units, 2, r.who);
  theirs.take(peer, uint32_t(first), units, 2, other->who);
  r.address = other->address = uint32_t(first) * kTmemUnit;
  const uint64_t last = std::max(r.since, other->since);  // waiting for the peer is no contention
  const uint64_t when = alloc_done(w.timing().tensor_memory.value(), last, w.time(), w.current_op().issue);
  answer_alloc(r, when);
  answer_alloc(*other, when);
  block_as(w, kAllocAnswer, r.columns);
}

void alloc(Warp& w, const Op& op) {
  Cta& cta = w.cta();
  TensorMemory& memory = TensorMemory::of(w.sm());
  TensorMemory::CtaState& state = memory.state_of(cta);
  Request* r = state.request_of(w);
  if (is_over(w, state, r, kAllocAnswer)) return;
  if (!r) {
    const Origin who = origin_of(w);
    tmem_check_cta_group(cta, op.get<AllocDetails>().cta_group, who);
    const uint32_t asked = uint32_t(uniform(w, op.b, false, "the column count of tcgen05.alloc"));
    const uint32_t columns = checked_columns(state, asked, who);
    const Place slot = address_slot(w, op);
    state.last_columns = columns;
    r = &state.requests.emplace_back();
    *r = {Kind::alloc, Stage::waiting, &w, columns, 0, w.time(), slot, who};
  }
  if (op.get<AllocDetails>().cta_group == 2) return alloc_pair(w, memory, *r);

  const int first = TensorMemory::find_free(memory.taken(), r->columns / kTmemUnit);
  if (first < 0) return block_as(w, kAllocWaits, r->columns);
  memory.take(cta, uint32_t(first), r->columns / kTmemUnit, 1, r->who);
  r->address = uint32_t(first) * kTmemUnit;
  answer_alloc(*r, alloc_done(w.timing().tensor_memory.value(), r->since, w.time(), op.issue));
  block_as(w, kAllocAnswer, r->columns);
}

/// The units that a dealloc frees once its rules are checked: [first, first+count).
struct Units {
  uint32_t first = 0, count = 0;
};

Units checked_block(TensorMemory& memory, Cta& cta, uint32_t taddr, uint32_t columns, const Origin& who) {
  const TmemAddress at = TmemAddress::from(taddr);
  if (!legal_columns(columns)) {
    tmem_violation(who, "alloc-granularity", fmt::format("tcgen05.dealloc frees {} columns.", columns),
                   "Pass the column count of the matching tcgen05.alloc.");
    if (columns == 0 || columns > kTmemColumns) return {};
    columns = (columns + kTmemUnit - 1) / kTmemUnit * kTmemUnit;
  }
  const TmemRect rect = tmem_check(memory, cta, {0, at.column}, kTmemLanes, columns, who, "tcgen05.dealloc", true);
  // ptxas' code traps unless some alloc has returned the first unit; the lane and the block's size it does not look at.
  const TensorMemory::Block* block = memory.block_at(cta, rect.column / kTmemUnit);
  const auto mismatch = [&] {
    return fmt::format("tcgen05.dealloc of 0x{:08x}, which no tcgen05.alloc of this CTA returned.", taddr);
  };
  const char* very_address = "Pass the address that tcgen05.alloc wrote, without lane or column offsets.";
  if (!block) who.fault(FaultKind::trap, "dealloc-mismatch", mismatch(), very_address);
  if (rect.column % kTmemUnit || at.lane)
    tmem_violation(who, "dealloc-mismatch", mismatch(), very_address);
  else if (block->units * kTmemUnit != columns)
    tmem_violation(who, "dealloc-mismatch",
                   fmt::format("tcgen05.dealloc frees {} columns of a block of {}.", columns, block->units * kTmemUnit),
                   "Free a whole block, with the column count of its allocation.");
  return {rect.column / kTmemUnit, columns / kTmemUnit};
}

/// At `when` the columns are free and the warp goes on.
void answer_dealloc(Request& r, uint64_t when) {
  r.stage = Stage::answering;
  EventQueue& events = r.warp->partition().events;
  events.schedule(when, events.new_channel(), r.who, [&r](uint64_t now) {
    TensorMemory::of(r.warp->sm()).release(r.warp->cta(), r.address / kTmemUnit, r.columns / kTmemUnit);
    r.stage = Stage::done;
    r.warp->wake(now, in_request);
    wake_waiters(r.warp->sm(), now);
  });
}

/// cta_group::2: the columns are freed in both SMs when both CTAs have asked.
void dealloc_pair(Warp& w, Request& r, uint64_t when) {
  Cta& peer = tmem_peer(w.cta(), r.who, "tcgen05.dealloc");
  TensorMemory::CtaState& theirs = TensorMemory::of(peer.sm).state_of(peer);
  for (const Request& x : theirs.requests)
    if (x.kind == Kind::alloc && x.stage == Stage::answering && x.address == r.address)
      r.who.fault(FaultKind::launch_failure, "dealloc-before-peer",
                  fmt::format("CTA {} frees columns of the pair while the tcgen05.alloc of CTA {} has not finished.",
                              w.cta().rank, peer.rank),
                  "Put barrier.cluster between the allocation and the first dealloc.");
  Request* other = theirs.waiting(Kind::dealloc);
  if (!other) return block_as(w, kDeallocPeer, r.columns);
  if (other->address != r.address || other->columns != r.columns)
    r.who.fault(FaultKind::launch_failure, "cta-pair-mismatch",
                fmt::format("The CTAs of a pair free different blocks: {} columns from {} on, and {} from {} on.",
                            r.columns, r.address, other->columns, other->address),
                "Free the blocks in one order in both CTAs.");
  answer_dealloc(r, when);
  answer_dealloc(*other, when);
  block_as(w, kDeallocAnswer, r.columns);
}

void dealloc(Warp& w, const Op& op) {
  Cta& cta = w.cta();
  TensorMemory& memory = TensorMemory::of(w.sm());
  TensorMemory::CtaState& state = memory.state_of(cta);
  Request* r = state.request_of(w);
  if (is_over(w, state, r, kDeallocAnswer)) return;
  if (!r) {
    const Origin who = origin_of(w);
    tmem_check_cta_group(cta, op.get<AllocDetails>().cta_group, who);
    const uint32_t taddr = uint32_t(uniform(w, op.a, false, "the address of tcgen05.dealloc"));
    const uint32_t columns = uint32_t(uniform(w, op.b, false, "the column count of tcgen05.dealloc"));
    const Units units = checked_block(memory, cta, taddr, columns, who);
    const TmemRect freed{0, kTmemLanes, units.first * kTmemUnit, units.count * kTmemUnit};
    if (units.count) tell(TmemAllocation{w.partition(), who, w.sm().index, freed, false, w.time()});
    r = &state.requests.emplace_back();
    *r = {Kind::dealloc, Stage::waiting, &w, freed.columns, freed.column, w.time(), {}, who};
  }
  const uint64_t when = w.time() + uint64_t(w.timing().tensor_memory.value().dealloc) - op.issue;
  if (op.get<AllocDetails>().cta_group == 2) return dealloc_pair(w, *r, when);
  answer_dealloc(*r, when);
  block_as(w, kDeallocAnswer, r->columns);
}

void relinquish(Warp& w, const Op& op) {
  if (!whole_warp(w)) return;
  TensorMemory& memory = TensorMemory::of(w.sm());
  tmem_check_cta_group(w.cta(), op.get<AllocDetails>().cta_group, origin_of(w));
  memory.state_of(w.cta()).relinquished = true;
  w.charge(uint64_t(w.timing().tensor_memory.value().relinquish) - op.issue);
}

void decode_alloc(Decoder& d, Op& op) {
  finish(d, op, alloc, CostClass::async_issue);
  op.set(AllocDetails{cta_group_of(d), decode_base(d, op, d.operand("result")), d.inst->has("shared::cta")});
  op.b = d.src(d.operand("columns"), ptx::Type::b32);
}

void decode_dealloc(Decoder& d, Op& op) {
  finish(d, op, dealloc, CostClass::async_issue);
  op.a = d.src(d.operand("address"), ptx::Type::b32);
  op.b = d.src(d.operand("columns"), ptx::Type::b32);
  op.set(AllocDetails{cta_group_of(d), false, false});
}

void decode_relinquish(Decoder& d, Op& op) {
  finish(d, op, relinquish, CostClass::async_issue);
  op.set(AllocDetails{cta_group_of(d), false, false});
}

constexpr Entry kTcgen05AllocTable[] = {
    {Opcode::tcgen05_alloc, decode_alloc},
    {Opcode::tcgen05_dealloc, decode_dealloc},
    {Opcode::tcgen05_relinquish_alloc_permit, decode_relinquish},
};

}  // namespace

Table tcgen05_alloc_table() { return {kTcgen05AllocTable}; }

}  // namespace tinygpu::isa
