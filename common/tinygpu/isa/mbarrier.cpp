// mbarrier.* (PTX ISA 9.7.13.15). The object's state machine is machine/sync/mbarrier.cpp; here are the instructions
// over it. A warp's lanes that name the same object act as one operation: their counts and bytes are added, and every
// lane's token is the state before all of them (measured on an H200).
#include <fmt/format.h>

#include "common/tinygpu/engines/remote_mbarriers.h"
#include "common/tinygpu/isa/address_list.h"
#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/machine/memory/fence_wait.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::isa {

namespace {

struct MbarrierDetails {
  bool wide;         // address of 64 bits
  bool any_rank;     // .shared::cluster, or generic: may lie in another CTA
  bool release;      // .release, which is the default
  bool expect;       // .expect_tx: op.b is bytes
  bool no_complete;  // .noComplete
  bool drop;         // arrive_drop
  bool parity;       // of a wait
  bool cluster_scope;
  bool layout_v0;  // of check_layout
};

// A token's upper half is the old state's. Hardware leaves the lower half undefined; here it says which phase was
// meant, under a mark, so that a stale token is recognised.
constexpr uint64_t kUpperHalf = 0xffffffff00000000ull;
constexpr uint64_t kTokenMark = 0xb5000000, kTokenMarkMask = 0xff000000, kTokenPhase = 0x00ffffff;

uint64_t token_of(const MBarrier& b) { return (b.word() & kUpperHalf) | kTokenMark | (b.phase & kTokenPhase); }

/// Phases that have ended since the token's; 0 if the token carries no phase.
uint64_t phases_since(const MBarrier& b, uint64_t token) {
  return (token & kTokenMarkMask) == kTokenMark ? (b.phase - token) & kTokenPhase : 0;
}

/// Shared address of the object that `lane` names.
uint32_t address_of(Warp& w, const Op& op, int lane, const char* what) {
  const bool wide = op.get<MbarrierDetails>().wide;
  const uint64_t address = (op.a == kNoSlot ? 0 : word_at(w, op.a, wide, lane)) + uint64_t(op.imm);
  return to_shared(w, wide ? address : uint32_t(address), wide, lane, what);
}

/// Of operations without a wait, on an mbarrier of a CTA that has exited. An H200 reports 719 when the issuing CTA
/// lives on, and mostly nothing when it ends: kernels whose last act it is do run.
void report_exited(const Origin& who, uint32_t rank) {
  who.report(Severity::warning, "exit-with-remote-access",
             fmt::format("an operation on an mbarrier of CTA rank {} arrives after that CTA has exited", rank),
             "end with barrier.cluster.arrive and .wait so that no CTA exits while other CTAs still access its shared "
             "memory");
}

/// Calls f(owner, offset, lanes) for each distinct object that the executing lanes name and that still exists.
template <class F>
void each_object(Warp& w, const Op& op, const char* what, F&& f) {
  uint32_t left = w.exec();
  while (left) {
    const int first = __builtin_ctz(left);
    const uint32_t address = address_of(w, op, first, what);
    uint32_t lanes = 1u << first;
    for_lanes(left & ~lanes, [&](int i) {
      if (address_of(w, op, i, what) == address) lanes |= 1u << i;
    });
    left &= ~lanes;
    if (op.get<MbarrierDetails>().any_rank)
      if (const Cta* target = w.cluster().cta(address >> 24); target && target->exited) {
        report_exited(origin_of(w, first), target->rank);
        continue;
      }
    uint32_t offset = 0;
    Cta& owner = shared_owner(w, address, offset, first, what);
    if (!op.get<MbarrierDetails>().any_rank && &owner != &w.cta())
      w.fault(FaultKind::illegal_instruction, "mbarrier-not-local",
              fmt::format("{} on an mbarrier of CTA rank {}, from CTA rank {}", what, owner.rank, w.cta().rank),
              "only arrive, arrive_drop, expect_tx and complete_tx reach other CTAs, with a .shared::cluster address "
              "and the sink _",
              first);
    f(owner, offset, lanes);
  }
}

uint64_t sum_of(Warp& w, uint32_t slot, uint32_t lanes) {
  const uint32_t* values = w.at<uint32_t>(slot);
  uint64_t sum = 0;
  for_lanes(lanes, [&](int i) { sum += values[i]; });
  return sum;
}

/// Runs `effect(now)` on the object's CTA. That CTA may have ended before a remote operation lands: it has no effect,
/// unless the cluster has met at its barrier since the issue (the operation then came before the exit; late and seeded
/// orders only show it later).
template <class F>
void deliver(Warp& w, Cta& owner, const Origin& who, F&& effect) {
  RemoteMBarriers::of(w).deliver(
      w, owner, who,
      [target = &owner, who, round = w.cluster().barrier_round, effect = std::forward<F>(effect)](uint64_t now) {
        if (target->exited && target->cluster.barrier_round == round) return report_exited(who, target->rank);
        effect(now);
      });
}

void report_skipped(Warp& w, uint64_t asked, const Cta& owner, uint32_t offset, const MBarrier& b, int lane) {
  w.report(
      Severity::error, "mbarrier-phase-skipped",
      fmt::format(
          "a wait for phase {} of {}, which is in phase {} by now: hardware compares only the parity, as if the "
          "wait were for phase {}",
          asked, mbarrier_name(owner, offset), b.phase, asked + 2),
      "a wait can be for the current phase or the one before it: let every waiting thread see each phase end before "
      "the next can end (let the waiting threads arrive on a second mbarrier), and keep no older tokens",
      lane);
}

/// The state that an arrive returns is there `at` the class's latency, or when the warp goes on.
void state_at(Warp& w, const Op& op, uint64_t issued) {
  w.result_at(op, issued + w.spec().costs[size_t(CostClass::mbarrier)].latency);
}

void exec_init(Warp& w, const Op& op) {
  const MBarrierTiming& timing = w.timing().mbarrier;
  charge_issue(w, op, timing.arrive);
  each_object(w, op, "mbarrier.init", [&](Cta& owner, uint32_t offset, uint32_t lanes) {
    const int lane = __builtin_ctz(lanes);
    if (offset % 8)
      w.fault(FaultKind::misaligned_address, "mbarrier-misaligned",
              fmt::format("mbarrier.init at shared offset {:#x}, which is not a multiple of 8", offset),
              "an mbarrier is 8 bytes, aligned to 8: declare it as uint64_t", lane);
    if (!owner.shared_at(offset, 8))
      w.fault(FaultKind::illegal_address, "shared-out-of-bounds",
              fmt::format("mbarrier.init at shared offset {:#x}; the CTA's shared memory ends at {:#x}", offset,
                          owner.shared.size()),
              "pass the shared-memory address of the mbarrier", lane);
    const uint32_t count = w.at<uint32_t>(op.b)[lane];
    if (count == 0 || count >= (1u << 20))
      w.report(Severity::error, "mbarrier-count-range",
               fmt::format("mbarrier.init with a count of {}: the mbarrier then expects no arrivals", count),
               "initialise with the number of arrivals of a phase, 1 to 1048575", lane);
    if (owner.mbarriers.find(offset))
      w.report(Severity::warning, "mbarrier-reinit",
               fmt::format("mbarrier.init of {}, which is live already", mbarrier_name(owner, offset)),
               "end the live mbarrier with mbarrier.inval first, and let one thread initialise", lane);
    // ptxas's code stores this for any count, even one that does not fit (measured on an H200).
    const uint32_t negative = (1u << 20) - count;
    ++w.partition().progress;
    MBarrier& b = owner.mbarriers.create(offset) = MBarrier::from_word(uint64_t(negative << 11) << 32 | negative << 1);
    b.completed_at = w.time();
    const Origin who = origin_of(w, lane);
    owner.mbarriers.made_by(offset, who);
    tell(owner, Sync::Kind::init, offset, count, w.time(), &who);
  });
}

void exec_inval(Warp& w, const Op& op) {
  charge_issue(w, op, w.timing().mbarrier.arrive);
  const Origin who = origin_of(w);
  each_object(w, op, "mbarrier.inval", [&](Cta& owner, uint32_t offset, uint32_t) {
    const uint64_t word = mbarrier_at(owner, offset, who, "mbarrier.inval").word();
    owner.mbarriers.invalidate(offset);
    ++w.partition().progress;
    tell(owner, Sync::Kind::inval, offset, 0, w.time(), &who);
    std::memcpy(owner.shared_at(offset, 8), &word, 8);  // the state becomes visible to ordinary loads only now
  });
}

void exec_arrive(Warp& w, const Op& op) {
  const MBarrierTiming& timing = w.timing().mbarrier;
  // A release beyond the CTA is a fence of the whole GPU first, in the code of ptxas for sm_90a and sm_100a.
  if (op.get<MbarrierDetails>().release && op.get<MbarrierDetails>().cluster_scope)
    w.charge(release_wait(w, ptx::Scope::cluster));
  state_at(w, op, w.time());
  uint32_t cycles = op.get<MbarrierDetails>().release ? timing.arrive_release : timing.arrive;
  if (op.get<MbarrierDetails>().expect) cycles = std::max(cycles, timing.expect);
  charge_issue(w, op, cycles);
  each_object(w, op, "mbarrier.arrive", [&](Cta& owner, uint32_t offset, uint32_t lanes) {
    const Origin who = origin_of_lanes(w, lanes);
    const bool expect = op.get<MbarrierDetails>().expect, drop = op.get<MbarrierDetails>().drop;
    const uint64_t bytes = expect ? sum_of(w, op.b, lanes) : 0;
    const uint64_t sum = expect || op.b == kNoSlot ? uint64_t(__builtin_popcount(lanes)) : sum_of(w, op.b, lanes);
    const uint32_t count = sum > 0xffffffffu ? 0xffffffffu : uint32_t(sum);
    if (op.dst != kNoSlot) {
      // One addition, one token for all lanes; but .noComplete adds lane by lane.
      uint64_t token = token_of(mbarrier_at(owner, offset, who, "an arrive"));
      for_lanes(lanes, [&](int i) {
        w.at<uint64_t>(op.dst)[i] = token;
        if (op.get<MbarrierDetails>().no_complete) token += uint64_t(w.at<uint32_t>(op.b)[i]) << 43;
      });
    }
    if (op.get<MbarrierDetails>().no_complete) {
      const MBarrier& b = mbarrier_at(owner, offset, who, "an arrive");
      if (count && count == b.pending && b.tx == 0)
        w.report(
            Severity::error, "mbarrier-no-complete",
            fmt::format("an arrive.noComplete of all {} arrivals that {} waits for: it completes phase {}", count,
                        mbarrier_name(owner, offset), b.phase),
            "the manual leaves this undefined (an H200 completes the phase): let the last arrival of a phase be an "
            "arrive without .noComplete",
            __builtin_ctz(lanes));
    }
    Cta* const target = &owner;
    if (target != &w.cta()) tell(owner, Sync::Kind::sent, offset, count, w.time(), &who);
    deliver(w, owner, who, [=](uint64_t now) {
      if (expect) mbarrier_expect_tx(*target, offset, bytes, now, who);
      if (drop)
        mbarrier_arrive_drop(*target, offset, count, now, who);
      else
        mbarrier_arrive(*target, offset, count, now, who);
    });
  });
}

/// Calls `act` on every object that lanes name, with the bytes that these lanes bring, when the operation lands there.
template <auto act>
void transaction(Warp& w, const Op& op, const char* what) {
  each_object(w, op, what, [&](Cta& owner, uint32_t offset, uint32_t lanes) {
    const Origin who = origin_of_lanes(w, lanes);
    deliver(w, owner, who, [target = &owner, offset, bytes = sum_of(w, op.b, lanes), who](uint64_t now) {
      act(*target, offset, bytes, now, who);
    });
  });
}

void exec_expect_tx(Warp& w, const Op& op) {
  charge_issue(w, op, w.timing().mbarrier.expect);
  transaction<mbarrier_expect_tx>(w, op, "mbarrier.expect_tx");
}

void exec_complete_tx(Warp& w, const Op& op) {
  charge_issue(w, op, w.timing().mbarrier.arrive);
  transaction<mbarrier_complete_tx>(w, op, "mbarrier.complete_tx");
}

/// Parity of the phase that a lane asks for. Of a number above 1 only the lowest bit counts, as in ptxas's code.
uint32_t asked_parity(Warp& w, const Op& op, int lane) {
  if (op.get<MbarrierDetails>().parity) {
    const uint32_t parity = w.at<uint32_t>(op.b)[lane];
    if (parity > 1)
      w.report(Severity::warning, "mbarrier-parity-range", fmt::format("a wait for parity {}", parity),
               "pass 0 or 1: reduce the counter (& 1)", lane);
    return parity & 1;
  }
  return uint32_t(w.at<uint64_t>(op.b)[lane] >> 63);
}

/// A token whose phase is not the one in progress or the one before.
void check_tokens(Warp& w, const Op& op, uint32_t lanes, const Cta& owner, uint32_t offset, const MBarrier& b) {
  if (op.get<MbarrierDetails>().parity) return;
  for_lanes(lanes, [&](int i) {
    const uint64_t since = phases_since(b, w.at<uint64_t>(op.b)[i]);
    if (since > 1) report_skipped(w, b.phase - since, owner, offset, b, i);
  });
}

/// The phase with that parity has completed: it is the one before the current.
bool passed(const MBarrier& b, uint32_t parity) { return (b.phase & 1) != parity; }

/// A wait of these lanes has found the phase before the present one complete.
void see(Warp& w, Cta& owner, uint32_t offset, MBarrier& b, uint32_t lanes) {
  const Origin who = origin_of_lanes(w, lanes);
  tell(owner, Sync::Kind::passed, offset, b.phase - 1, w.time(), &who);
}

/// A wait's results. .layout::v0, the only layout here, reports zero (PTX ISA 9.3, 9.7.14.16.19).
void answer(Warp& w, const Op& op, uint32_t done) {
  put_pred(w, op.dst, done);
  if (op.dst2 != kNoSlot) w.pred(op.dst2) &= ~w.exec();
  if (op.d != kNoSlot) each_lane<uint8_t>(w, op.d, [](int) { return uint8_t(0); });
}

void exec_test_wait(Warp& w, const Op& op) {
  const MBarrierTiming& timing = w.timing().mbarrier;
  const bool looked_early = w.take_timeout();
  if (op.spins && !looked_early) w.charge(timing.spin);
  uint32_t done = 0;
  each_object(w, op, "mbarrier.test_wait", [&](Cta& owner, uint32_t offset, uint32_t lanes) {
    MBarrier& b = mbarrier_at(owner, offset, origin_of(w, __builtin_ctz(lanes)), "mbarrier.test_wait");
    check_tokens(w, op, lanes, owner, offset, b);
    for_lanes(lanes, [&](int i) {
      // In simulated time this warp may be earlier than the warp that completed the phase.
      if (passed(b, asked_parity(w, op, i)) && (b.phase == 0 || b.completed_at <= w.time())) done |= 1u << i;
    });
    if (done & lanes) see(w, owner, offset, b, done & lanes);
  });
  // Other warps may be earlier in simulated time and about to arrive: test again when they have reached this time.
  if (done != w.exec() && !looked_early && w.time() > w.partition().now &&
      w.partition().events.order().mode == CompletionOrder::Mode::timed)
    return w.block({.kind = BlockReason::Kind::sleep, .what = "mbarrier.test_wait"}, true, w.time());
  const uint32_t leaves = op.spins && done ? timing.spin_end : 0;
  w.result_at(op, w.time() + timing.answer + leaves);
  charge_issue(w, op, timing.ready);
  answer(w, op, done);
  if (done != w.exec()) ++w.partition().polls;
}

/// How many try_waits of a warp have found their phase incomplete.
struct Looks final : Extension {
  uint64_t in_vain = 0;
};

/// try_wait may return false before the phase ends, whenever it likes (9.7.13.15.16). In time it uses up its limit; in
/// the other orders half of those that find nothing say so at once: every second one, or by chance.
bool gives_up(Warp& w) {
  EventQueue& events = w.partition().events;
  const CompletionOrder& order = events.order();
  if (order.mode == CompletionOrder::Mode::timed || !events.delays(origin_of(w))) return false;
  const uint64_t look = w.extensions.get<Looks>().in_vain++;
  if (order.mode == CompletionOrder::Mode::late) return look % 2 == 0;
  const Dim3& cta = w.cta().key.id;
  uint64_t x =
      order.seed + (look << 32 | uint64_t(w.index()) << 24) + cta.x + (uint64_t(cta.y) << 8) + (uint64_t(cta.z) << 16);
  x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ull;
  return (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull >> 63;
}

void exec_try_wait(Warp& w, const Op& op) {
  const MBarrierTiming& timing = w.timing().mbarrier;
  uint32_t done = 0, objects = 0;
  uint64_t when = w.time() + timing.answer;
  BlockReason why{.kind = BlockReason::Kind::mbarrier, .what = "mbarrier.try_wait"};
  each_object(w, op, "mbarrier.try_wait", [&](Cta& owner, uint32_t offset, uint32_t lanes) {
    ++objects;
    const int first = __builtin_ctz(lanes);
    MBarrier& b = mbarrier_at(owner, offset, origin_of(w, first), "mbarrier.try_wait");
    check_tokens(w, op, lanes, owner, offset, b);
    for_lanes(lanes, [&](int i) {
      if (passed(b, asked_parity(w, op, i))) done |= 1u << i;
    });
    // Woken by the end of the phase that it waits for, and too late to see it.
    const BlockReason& waited = w.group().reason;
    if (!(done & lanes) && waited.kind == BlockReason::Kind::mbarrier && waited.cta == &owner &&
        waited.address == offset && waited.id == asked_parity(w, op, first) && b.phase > waited.phase + 1)
      report_skipped(w, waited.phase, owner, offset, b, first);
    if (done & lanes) {
      see(w, owner, offset, b, done & lanes);
      if (b.phase > 0 && b.completed_at + timing.wake > when) when = b.completed_at + timing.wake;
    }
    why.cta = &owner;
    why.address = offset;
    why.id = asked_parity(w, op, first);
    why.phase = b.phase;
  });
  if (done) w.group().reason.kind = BlockReason::Kind::none;  // the next wait is for another phase
  // Suspends for the machine's own limit, whatever the hint says (measured on an H200 with hints of 1 us to 2 s); and
  // only when nothing could be reported: some lane's phase is over, or the lanes wait on different objects, and the
  // answer is given at once (try_wait may always return false).
  if (!done && objects == 1) {
    const bool looked = w.take_timeout();
    if (!looked && !gives_up(w)) return w.block(why, true, w.time() + timing.wait_limit);
    if (!looked) w.group().reason = why;                 // as if it had waited: a phase that it misses now is reported
    if (looked && op.c != kNoSlot) when += timing.hint;  // ptxas makes a sleep and a second look of the hint
  }
  charge_issue(w, op, timing.ready);
  w.result_at(op, when);
  answer(w, op, done);
  if (!done) ++w.partition().polls;
}

void exec_pending_count(Warp& w, const Op& op) {
  const uint64_t* state = w.at<uint64_t>(op.a);
  each_lane<uint32_t>(w, op.dst, [&](int i) { return (1u << 20) - uint32_t(state[i] >> 43 & 0xfffff); });
}

// ---- decoding

/// `remote_form`: the object may lie in another CTA.
void decode_object(Decoder& d, Op& op, ExecFn fn, bool remote_form = false) {
  MbarrierDetails& details = op.edit<MbarrierDetails>();
  details.wide = decode_base(d, op, d.operand("mbarrier"));
  details.any_rank = remote_form && !d.inst->has("shared") && !d.inst->has("shared::cta");
  finish(d, op, fn, CostClass::mbarrier);
}

void decode_init(Decoder& d, Op& op) {
  if (d.inst->has("layout::v1")) d.not_modelled("its reports come from fabric operations");
  decode_object(d, op, exec_init);
  op.b = d.src(d.operand("count"), ptx::Type::u32);
}

/// .layout::v0 alone: .layout::v1 keeps what operations over a fabric report, which this machine has none of.
void check_layout(Warp& w, const Op& op) {
  each_object(w, op, "mbarrier.check_layout", [&](Cta& owner, uint32_t offset, uint32_t lanes) {
    mbarrier_at(owner, offset, origin_of(w, __builtin_ctz(lanes)), "mbarrier.check_layout");
    put_pred(w, op.dst, op.get<MbarrierDetails>().layout_v0 ? ~0u : 0, lanes);
  });
}

void decode_check_layout(Decoder& d, Op& op) {
  decode_object(d, op, check_layout);
  op.dst = d.dst(d.operand("p"));
  op.edit<MbarrierDetails>().layout_v0 = d.inst->has("layout::v0");
}

void decode_inval(Decoder& d, Op& op) { decode_object(d, op, exec_inval); }

template <bool drop>
void decode_arrive(Decoder& d, Op& op) {
  decode_object(d, op, exec_arrive, true);
  if (const ptx::Operand* state = d.find("state")) op.dst = d.dst(*state);
  MbarrierDetails& details = op.edit<MbarrierDetails>();
  details.drop = drop;
  details.expect = d.inst->has("expect_tx");
  details.no_complete = d.inst->has("noComplete");
  details.release = !d.inst->has("relaxed");
  details.cluster_scope = d.inst->has("cluster");
  if (details.release && details.cluster_scope) op.flags |= Op::serial;  // see fence_wait
  for (const char* count : {"count", "tx_count"})
    if (const ptx::Operand* o = d.find(count)) op.b = d.src(*o, ptx::Type::u32);
}

template <ExecFn fn>
void decode_tx(Decoder& d, Op& op) {
  decode_object(d, op, fn, true);
  op.b = d.src(d.operand("tx_count"), ptx::Type::u32);
}

template <ExecFn fn>
void decode_wait(Decoder& d, Op& op) {
  decode_object(d, op, fn);
  op.dst = d.dst(d.operand("done"));
  MbarrierDetails& details = op.edit<MbarrierDetails>();
  details.parity = d.inst->has("parity");
  if (const ptx::Operand* reported = d.find("reported")) op.dst2 = d.dst(*reported);
  if (const ptx::Operand* report = d.find("report")) op.d = d.dst(*report);
  op.b = details.parity ? d.src(d.operand("parity"), ptx::Type::u32) : d.src(d.operand("state"), ptx::Type::b64);
  // try_wait's hint: read, and without effect (see exec_try_wait).
  if (const ptx::Operand* hint = d.find("time_limit")) op.c = d.src(*hint, ptx::Type::u32);
}

void decode_pending_count(Decoder& d, Op& op) {
  op.dst = d.dst(d.operand("count"));
  op.a = d.src(d.operand("state"), ptx::Type::b64);
  finish(d, op, exec_pending_count, CostClass::alu);
}

constexpr Entry kMbarrierTable[] = {
    {Opcode::mbarrier_init, decode_init},
    {Opcode::mbarrier_inval, decode_inval},
    {Opcode::mbarrier_arrive, decode_arrive<false>},
    {Opcode::mbarrier_arrive_drop, decode_arrive<true>},
    {Opcode::mbarrier_expect_tx, decode_tx<exec_expect_tx>},
    {Opcode::mbarrier_complete_tx, decode_tx<exec_complete_tx>},
    {Opcode::mbarrier_test_wait, decode_wait<exec_test_wait>},
    {Opcode::mbarrier_try_wait, decode_wait<exec_try_wait>},
    {Opcode::mbarrier_pending_count, decode_pending_count},
    {Opcode::mbarrier_check_layout, decode_check_layout},
};

}  // namespace

Table mbarrier_table() { return {kMbarrierTable}; }

}  // namespace tinygpu::isa
