// bar, barrier, bar.warp.sync (PTX ISA 9.7.13.1, .2) and barrier.cluster (9.7.13.3). machine/sync/barrier.cpp
// ends a round.
#include <string>

#include "common/tinygpu/isa/families.h"
#include "common/tinygpu/machine/memory/fence_wait.h"

namespace tinygpu::isa {

using ptx::Type;

namespace {

// ---- bar / barrier.cta
// Op: a barrier number, b thread count or kNoSlot, c predicate of red, dst its result.
enum Action : uint8_t { kArrive = 0, kSync = 1, kPopc = 2, kAnd = 3, kOr = 4 };
struct CtaDetails {
  Action action;
  bool aligned;
};
struct ClusterDetails {
  bool aligned, release;
};

std::string number(uint64_t n) { return std::to_string(n); }

void cta_barrier(Warp& w, const Op& op) {
  const auto [action, aligned] = op.get<CtaDetails>();
  const int first = __builtin_ctz(w.exec());
  const uint32_t named = w.at<uint32_t>(op.a)[first];
  for_lanes(w.exec(), [&](int i) {
    if (w.at<uint32_t>(op.a)[i] != named || (op.b != kNoSlot && w.at<uint32_t>(op.b)[i] != w.at<uint32_t>(op.b)[first]))
      w.fault(FaultKind::launch_failure, "barrier-divergent",
              "lanes of one warp name different barriers or thread counts",
              "barrier number and thread count must be the same in all lanes of a warp", i);
  });
  if (named >= 16)
    w.report(Severity::error, "barrier-number", "barrier " + number(named) + " does not exist",
             "a CTA has barriers 0 to 15; an H200 takes the number modulo 16");
  const uint32_t id = named & 15;

  Cta& cta = w.cta();
  NamedBarrier& b = cta.barriers[id];
  if (b.parts.empty()) b.parts.resize(cta.warps.size());
  const uint32_t total = uint32_t(cta.warps.size()) * 32;
  const bool whole = op.b == kNoSlot;
  const uint32_t expected = whole ? total : w.at<uint32_t>(op.b)[first];
  if (expected % 32 || (expected == 0 && action == kArrive))
    w.fault(FaultKind::illegal_instruction, "barrier-count-mismatch",
            "thread count " + number(expected) + " of barrier " + number(id) + " is not a multiple of 32 above 0",
            "barriers count whole warps: pass 32 times the number of warps that take part");
  const uint32_t threads = expected ? expected : total;
  if (b.expected && b.expected != threads)
    w.fault(
        FaultKind::illegal_instruction, "barrier-count-mismatch",
        "barrier " + number(id) + " has " + number(b.arrived) + " of " + number(b.expected) +
            " threads in this round, and this warp expects " + number(threads),
        "all warps of a round must name the same thread count; use another barrier number for another set of warps");
  const uint8_t operation = action >= kPopc ? action : 1;
  if (b.operation && b.operation != operation)
    w.fault(FaultKind::illegal_instruction, "barrier-red-mixed",
            "barrier " + number(id) + " is used by barrier.red and by another barrier operation in one round",
            "give reductions a barrier number of their own");
  if (threads > total)
    w.report(Severity::warning, "barrier-count-mismatch",
             "barrier " + number(id) + " waits for " + number(threads) + " threads, the CTA has " + number(total),
             "count the warps that arrive in one round; count a warp twice if it arrives twice");

  NamedBarrier::Part& part = b.parts[w.index()];
  const uint32_t lanes = w.exec();
  // Lanes of one warp may meet from different places only at a barrier without .aligned. Hardware counts them all the
  // same.
  if (aligned && part.here && part.op != &op)
    w.report(Severity::error, "barrier-divergent", "lanes of one warp are at different aligned barrier instructions",
             "call __syncthreads where the warp is converged, or use barrier.sync without .aligned; the manual leaves "
             "this undefined, an H200 lets it pass");
  part.op = &op;
  b.expected = threads;
  b.whole |= whole;
  b.operation = operation;
  part.here |= lanes;
  if (action != kArrive) part.sync |= lanes;
  if (op.c != kNoSlot) part.truth |= w.pred(op.c) & lanes;
  if (op.dst != kNoSlot) b.results.push_back({w.index(), lanes, w.register_base() + op.dst, action});
  const uint64_t round = b.round;
  cta.barrier_check(id, w.time());
  if (b.round != round) {
    // This was the last arrival: the round's end is this warp's time too.
    if (b.ended > w.time() && action != kArrive) w.charge(b.ended - w.time());
    return;
  }
  if (action == kArrive && !(part.here & lanes)) return;
  const char* what = action == kArrive ? "the other lanes of its warp" : "bar.sync";
  w.block({.kind = BlockReason::Kind::cta_barrier, .what = what, .cta = &cta, .id = id, .phase = round}, false);
}

/// `bar` is barrier{.cta} with .aligned.
template <Action action, bool bar>
void decode_barrier(Decoder& d, Op& op) {
  const ptx::Instruction& i = *d.inst;
  constexpr bool red = action == kPopc;
  finish(d, op, cta_barrier, CostClass::barrier);
  if (red) op.dst = d.dst(d.operand("d"));
  op.a = d.src(d.operand("barrier"), Type::u32);
  if (const ptx::Operand* threads = d.find("threads")) op.b = d.src(*threads, Type::u32);
  if (red) op.c = d.pred(d.operand("p"));
  op.set(CtaDetails{!red || i.has("popc") ? action : i.has("and") ? kAnd : kOr, bar || i.has("aligned")});
}

// ---- bar.warp.sync

/// Each set of executing lanes with the same mask has met.
void tell_met(Warp& w, const uint32_t* masks) {
  if (!w.told(Observer::synchronisation)) return;
  for (uint32_t left = w.exec(); left;) {
    const uint32_t same = lanes_like_first(masks, left);
    left &= ~same;
    const Origin who = origin_of_lanes(w, same);
    tell(w.cta(), Sync::Kind::warp_sync, 0, 0, w.time(), &who);
  }
}

void warp_sync(Warp& w, const Op& op) {
  const uint32_t* masks = w.at<uint32_t>(op.a);
  if (w.full()) {
    uint32_t all = ~0u;
    for (int i = 0; i < 32; ++i) all &= masks[i];
    if (all == ~0u) {  // the whole warp is here, each lane for all
      if (w.told(Observer::synchronisation)) tell(w, Sync::Kind::warp_sync);
      return;
    }
  }
  bool complete = true;
  for_lanes(w.exec(), [&](int i) {
    if (!(masks[i] >> i & 1))
      w.report(Severity::error, "warp-mask-without-self",
               "bar.warp.sync in lane " + number(uint32_t(i)) + ", which its member mask leaves out",
               "every lane that executes __syncwarp(mask) must be in mask; the manual leaves this undefined, an H200 "
               "goes on",
               i);
    uint32_t same = 0;
    for_lanes(w.exec(), [&](int k) { same |= uint32_t(masks[k] == masks[i]) << k; });
    complete &= (same & masks[i] & w.live()) == (masks[i] & w.live());
  });
  if (complete) return tell_met(w, masks);
  // Lanes with the same mask wait together. The last set also checks whether a set is complete.
  for (;;) {
    const uint32_t members = masks[__builtin_ctz(w.exec())], same = lanes_like_first(masks, w.exec());
    if (same == w.exec()) return w.warp_barrier(members);
    w.block_lanes(same, {.kind = BlockReason::Kind::warp_barrier, .what = "bar.warp.sync", .id = members}, false);
  }
}

void decode_warp_sync(Decoder& d, Op& op) {
  finish(d, op, warp_sync, CostClass::warp_sync);
  op.a = d.src(d.operand(0), Type::b32);
}

// ---- barrier.cluster

void cluster_arrive(Warp& w, const Op& op) {
  if (op.get<ClusterDetails>().aligned && !w.converged(w.live())) return;
  const uint32_t twice = w.exec() & (w.cluster_arrived | w.cluster_released);
  if (twice)
    w.report(
        Severity::error, "cluster-double-arrive",
        "barrier.cluster.arrive by a thread that has arrived already and has not waited",
        "follow every barrier.cluster.arrive by one barrier.cluster.wait in the thread that arrived; the manual leaves "
        "this undefined, in tinygpu the second arrival does not count",
        __builtin_ctz(twice));
  Cluster& cluster = w.cluster();
  // Release is a fence first; .relaxed is none.
  if (op.get<ClusterDetails>().release) w.charge(release_wait(w, ptx::Scope::cluster));
  const uint32_t lanes = w.exec() & ~twice;
  if (lanes && w.told(Observer::synchronisation)) {
    const Origin who = origin_of_lanes(w, lanes);
    tell(w.cta(), Sync::Kind::cluster_arrive, 0, 0, w.time(), &who);
  }
  w.cluster_arrived |= lanes;
  cluster.barrier_arrived += uint32_t(__builtin_popcount(lanes));
  cluster.barrier_last = w.time() > cluster.barrier_last ? w.time() : cluster.barrier_last;
  cluster.barrier_check(w.time());
}

void cluster_wait(Warp& w, const Op& op) {
  if (op.get<ClusterDetails>().aligned && !w.converged(w.live())) return;
  const uint32_t lanes = w.exec();
  const uint32_t never = lanes & ~(w.cluster_arrived | w.cluster_released);
  if (never)
    w.report(Severity::error, "cluster-wait-without-arrive", "barrier.cluster.wait by a thread that has not arrived",
             "execute barrier.cluster.arrive before barrier.cluster.wait, in every thread; the manual leaves this "
             "undefined, on an H200 the wait does not wait",
             __builtin_ctz(never));
  tell(w, Sync::Kind::cluster_wait);
  const uint32_t over = lanes & (w.cluster_released | never);
  w.cluster_released &= ~over;
  if (over && w.cluster().barrier_last > w.time()) w.charge(w.cluster().barrier_last - w.time());
  if (over == lanes) return;
  w.block_lanes(
      lanes & ~over,
      {.kind = BlockReason::Kind::cluster_barrier, .what = "barrier.cluster.wait", .phase = w.cluster().barrier_round},
      false);
}

void decode_cluster(Decoder& d, Op& op) {
  const bool arrive = d.inst->opcode == Opcode::barrier_cluster_arrive;
  finish(d, op, arrive ? cluster_arrive : cluster_wait, CostClass::barrier);
  op.set(ClusterDetails{d.inst->has("aligned"), arrive && !d.inst->has("relaxed")});
  if (op.get<ClusterDetails>().release) op.flags |= Op::serial;
}

constexpr Entry kBarriersTable[] = {
    {Opcode::bar_sync, decode_barrier<kSync, true>},
    {Opcode::bar_arrive, decode_barrier<kArrive, true>},
    {Opcode::bar_red, decode_barrier<kPopc, true>},
    {Opcode::bar_cta_sync, decode_barrier<kSync, true>},
    {Opcode::bar_cta_arrive, decode_barrier<kArrive, true>},
    {Opcode::bar_cta_red, decode_barrier<kPopc, true>},
    {Opcode::barrier_sync, decode_barrier<kSync, false>},
    {Opcode::barrier_arrive, decode_barrier<kArrive, false>},
    {Opcode::barrier_red, decode_barrier<kPopc, false>},
    {Opcode::barrier_cta_sync, decode_barrier<kSync, false>},
    {Opcode::barrier_cta_arrive, decode_barrier<kArrive, false>},
    {Opcode::barrier_cta_red, decode_barrier<kPopc, false>},
    {Opcode::bar_warp_sync, decode_warp_sync},
    {Opcode::barrier_cluster_arrive, decode_cluster},
    {Opcode::barrier_cluster_wait, decode_cluster},
};

}  // namespace

Table barriers_table() { return {kBarriersTable}; }

}  // namespace tinygpu::isa
