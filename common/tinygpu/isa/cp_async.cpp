// cp.async and its completion: commit_group, wait_group, wait_all, mbarrier.arrive (PTX ISA 9.7.9.25.3, 9.7.13.15.15).
//
// The source is read and the destination written when the copy lands, not when it is issued. Groups are per thread.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/engines/lsu/load_store_unit.h"
#include "common/tinygpu/engines/lsu/warp_access.h"
#include "common/tinygpu/isa/address_operand.h"
#include "common/tinygpu/isa/families.h"

namespace tinygpu::isa {

using ptx::Operand;
using ptx::Space;
using ptx::Type;

namespace {

/// cp.async.mbarrier.arrive of one warp: fires for a lane when that lane's earlier copies have landed.
struct Arrival {
  Cta* cta = nullptr;
  Origin origin;
  uint32_t offset[32] = {};  // of the lane's barrier
  uint32_t remaining[32];    // copies of the lane still in flight
  uint32_t open = 0;         // lanes that have not fired
  ToldOperation told;
};

/// One cp.async of one warp in flight.
struct Copy {
  uint32_t lanes = 0;
  uint32_t bytes = 0;
  uint8_t* to[32];
  const uint8_t* from[32];
  uint8_t count[32] = {};  // bytes read; the rest becomes zero
  uint64_t group[32];
  std::vector<std::shared_ptr<Arrival>> watchers;
  // For observers.
  Origin who;
  std::vector<uint64_t> source;  // addresses by lane, if an observer wants them
};

struct LaneGroups {
  struct Group {
    uint64_t number;
    uint32_t copies;  // in flight
  };
  std::deque<Group> committed;  // those with copies in flight
  uint64_t current = 0;         // number of the group not yet committed
  uint32_t open = 0;            // copies in flight of that group

  /// Groups from the oldest with copies in flight on.
  uint64_t pending() const { return committed.empty() ? 0 : current - committed.front().number; }
  void landed(uint64_t group) {
    if (group == current) {
      --open;
      return;
    }
    const auto g = std::ranges::find(committed, group, &Group::number);
    if (--g->copies == 0) committed.erase(g);
  }
  void commit() {
    if (open) committed.push_back({current, open});
    open = 0;
    ++current;
  }
};

struct WarpCopies final : Extension {
  LaneGroups lanes[32];
  std::vector<std::shared_ptr<Copy>> in_flight;
};

WarpCopies& copies_of(Warp& w) { return w.extensions.get<WarpCopies>(); }

constexpr const char* kWaitsForCopies = "cp.async groups";

bool waits_for_copies(const Group& g) {
  return g.reason.kind == BlockReason::Kind::async_group && g.reason.what == kWaitsForCopies;
}

/// Arrivals of lanes whose last copy has landed; lanes on one barrier count together.
void fire(Arrival& a, uint32_t lanes, uint64_t now) {
  a.open -= uint32_t(__builtin_popcount(lanes));
  while (lanes) {
    const uint32_t offset = a.offset[__builtin_ctz(lanes)];
    const uint32_t same = lanes_like_first(a.offset, lanes);
    lanes &= ~same;
    Origin who = a.origin;
    who.lanes = same;
    mbarrier_arrive(*a.cta, offset, uint32_t(__builtin_popcount(same)), now, who);
  }
  if (a.told && !a.open) tell_complete(a.cta->cluster.partition, std::exchange(a.told, nullptr), now, now);
}

/// cp.async works in the generic proxy (PTX ISA 9.7.9.25.1). Each lane waits for its own copies.
void tell_landed(Warp& w, const Copy& copy, uint64_t now) {
  const auto tell_lanes = [&](AccessKind kind, const Cta* cta, uint32_t lanes, uint32_t bytes, auto&& address) {
    Tile tile;
    tile.lanes = lanes;
    tell_operation(
        w.partition(), kind, Proxy::generic, copy.who, cta, now,
        [&](MemoryAccess::Range f) { for_lanes(lanes, [&](int i) { f(address(i), bytes); }); }, tile);
  };
  if (!copy.source.empty())
    for (uint32_t left = copy.lanes; left;) {  // those that read as much as the first
      const uint32_t bytes = copy.count[__builtin_ctz(left)];
      const uint32_t same = lanes_like_first(copy.count, left);
      left &= ~same;
      if (bytes) tell_lanes(AccessKind::read, nullptr, same, bytes, [&](int i) { return copy.source[size_t(i)]; });
    }
  const uint8_t* shared = w.cta().shared.data();
  tell_lanes(AccessKind::write, &w.cta(), copy.lanes, copy.bytes, [&](int i) { return uint64_t(copy.to[i] - shared); });
}

void land(Warp& w, const std::shared_ptr<Copy>& copy, const ToldOperation& told, uint64_t begin, uint64_t now) {
  WarpCopies& state = copies_of(w);
  for_lanes(copy->lanes, [&](int i) {
    if (copy->count[i]) std::memcpy(copy->to[i], copy->from[i], copy->count[i]);
    std::memset(copy->to[i] + copy->count[i], 0, copy->bytes - copy->count[i]);
    state.lanes[i].landed(copy->group[i]);
  });
  tell_landed(w, *copy, now);
  tell_complete(w.partition(), told, begin, now);
  std::erase(state.in_flight, copy);
  for (const auto& arrival : copy->watchers) {
    uint32_t done = 0;
    for_lanes(copy->lanes, [&](int i) {
      if (arrival->remaining[i] && --arrival->remaining[i] == 0) done |= 1u << i;
    });
    fire(*arrival, done, now);
  }
  w.wake(now, waits_for_copies);
}

/// Passes in which a warp's copy writes shared memory: one for each stretch of a line of global memory that lies within
/// 128 bytes of shared memory, and one more for a line with a sector of 32 bytes that lies across two of shared memory.
/// ncu counts 4 on an H200 where four rows of 128 bytes are swizzled, 15 for eight rows of 64 bytes whose pitch is 80,
/// and copies take as many cycles (probe_05_mma_sync, "copy"; notes/evidence.md); the rule is inferred.
uint32_t passes_of(uint32_t lanes, const uint64_t* from, const uint64_t* to, bool wide) {
  uint64_t stretch[32][2], across[32];
  uint32_t stretches = 0, lines = 0, odd = 0;
  for_lanes(lanes, [&](int i) {
    const uint64_t line = from[i] / 128, row = to[i] / 128;
    uint32_t k = stretches;
    while (k && (stretch[k - 1][0] != line || stretch[k - 1][1] != row)) --k;
    if (!k) {
      stretch[stretches][0] = line;
      stretch[stretches++][1] = row;
    }
    odd |= uint32_t((from[i] - to[i]) % 32 != 0) << i;
  });
  if (!wide || !odd) return stretches;
  // Where 16 bytes only change places within a sector, as a swizzle lets them, the other half is in the same one.
  for_lanes(odd, [&](int i) {
    const uint64_t line = from[i] / 128;
    bool lies_across = false;
    for_lanes(odd, [&](int k) { lies_across |= from[k] / 32 == from[i] / 32 && to[k] / 32 != to[i] / 32; });
    if (lies_across && std::find(across, across + lines, line) == across + lines) across[lines++] = line;
  });
  return stretches + lines;
}

// Op: a, imm destination; b, list source and its displacement; d size or predicate.
struct CopyDetails : MemoryOperand {
  uint8_t bytes;
  bool source_wide;    // its base has 64 bits
  bool source_size;    // op.d: bytes that come from memory, the rest are zeros
  bool ignore_source;  // op.d: lanes that copy zeros only
};

void cp_async(Warp& w, const Op& op) {
  const CopyDetails& details = op.get<CopyDetails>();
  const uint32_t bytes = details.bytes;
  uint64_t to[32], from[32];
  lane_addresses(w, op, to);
  const int64_t displacement = int64_t(op.list[0]) | int64_t(op.list[1]) << 32;
  for (int i = 0; i < 32; ++i) from[i] = word_at(w, op.b, details.source_wide, i) + uint64_t(displacement);

  auto copy = std::make_shared<Copy>();
  copy->bytes = bytes;
  copy->lanes = w.exec();
  WarpAccess destination;
  resolve(w, Space::shared_cta, to, bytes, bytes, MemoryOp::copy, destination);
  WarpCopies& state = copies_of(w);
  WarpAccess source;
  bool all = true;
  uint32_t reading = 0;
  for_lanes(w.exec(), [&](int i) {
    uint32_t n = bytes;
    if (details.source_size) n = w.at<uint32_t>(op.d)[i];
    if (details.ignore_source && (w.pred(op.d) >> i & 1)) n = 0;
    if (n > bytes) {
      w.report(Severity::error, "cp-async-size",
               "cp.async with a source size of " + std::to_string(n) + " bytes, more than the " +
                   std::to_string(bytes) + " that it copies",
               "src-size is the number of bytes that come from memory, and the rest of the destination becomes zeros; "
               "the manual leaves a larger src-size undefined",
               i);
      n = bytes;
    }
    copy->count[i] = uint8_t(n);
    reading |= uint32_t(n != 0) << i;
    all &= n != 0;
  });
  if (all) {
    resolve(w, Space::global, from, bytes, bytes, MemoryOp::copy, source);
    for_lanes(w.exec(), [&](int i) { copy->from[i] = source.at[i]; });
  } else {
    // A lane that copies nothing may hold any address.
    for_lanes(w.exec(), [&](int i) {
      copy->from[i] = copy->count[i]
                          ? locate(w, Space::global, from[i], bytes, bytes, AccessKind::read, i, "cp.async").host
                          : nullptr;
    });
    source.global = reading;
    source.lines.add_lanes(w.gpu().l2, from, reading, bytes);
  }
  for_lanes(w.exec(), [&](int i) {
    copy->to[i] = destination.at[i];
    copy->group[i] = state.lanes[i].current;
    ++state.lanes[i].open;
  });
  state.in_flight.push_back(copy);

  SmPartition& partition = w.partition();
  copy->who = origin_of(w);
  const auto uses = [&](AsyncOperation& o) {
    o.shared_uses.push_back({&w.cta(), true, {}});
    const uint8_t* shared = w.cta().shared.data();
    for_lanes(copy->lanes, [&](int i) {
      o.shared_uses[0].ranges.push_back({uint32_t(copy->to[i] - shared), bytes, i});
    });
  };
  if (source.global && w.told(Observer::global_accesses)) copy->source.assign(from, from + 32);
  const uint64_t all_bytes = uint64_t(bytes) * uint32_t(__builtin_popcount(w.exec()));
  tell(MemoryTraffic{partition, copy->who, w.sm().index, w.time(), all_bytes});
  const ToldOperation told =
      tell_issue(partition, AsyncOperation::Kind::async_copy, copy->who, w.sm().index, w.time(), all_bytes, uses);
  // Its registers have been read when L1's pipe takes it.
  w.result_at(op, std::max(w.time(), LoadStoreUnit::of(w).global_free()));
  const uint32_t passes = passes_of(reading, from, to, bytes == 16);
  charge_copy(w, source, passes, [&w, copy, told, begin = w.time()](uint64_t ready) {
    EventQueue& events = w.partition().events;
    events.schedule(ready + w.timing().memory.cp_async_latency, events.new_channel(), copy->who,
                    [&w, copy, told, begin](uint64_t now) { land(w, copy, told, begin, now); });
  });
  // Copies of several warps enter the load/store pipe in the order of their times, before later accesses.
  partition.events.stop_before(w.time() + 1);
}

void decode_cp_async(Decoder& d, Op& op) {
  finish(d, op, cp_async, CostClass::async_issue);
  decode_address(d, op, d.operand(0));
  const AddressOperand source = d.address(d.operand(1));
  op.b = source.base;
  CopyDetails& details = op.edit<CopyDetails>();
  details.source_wide = source.wide;
  OperandList displacement;
  displacement.push_word(uint32_t(uint64_t(source.offset)));
  displacement.push_word(uint32_t(uint64_t(source.offset) >> 32));
  d.set_list(op, displacement);
  details.bytes = uint8_t(d.operand(2).bits);
  if (const Operand* ignore = d.find("ignore_src")) {
    details.ignore_source = true;
    op.d = d.pred(*ignore);
  } else if (const Operand* size = d.find("src_size")) {
    details.source_size = true;
    op.d = d.src(*size, Type::u32);
  }
}

// ---- Groups

void commit_group(Warp& w, const Op&) {
  WarpCopies& state = copies_of(w);
  for_lanes(w.exec(), [&](int i) { state.lanes[i].commit(); });
  tell(w, Sync::Kind::commit_group);
}

struct WaitDetails {
  bool all;  // the copies of no group, too
};

/// Blocks until at most op.imm groups of every executing lane are unfinished.
void wait_group(Warp& w, const Op& op) {
  WarpCopies& state = copies_of(w);
  bool done = true;
  for_lanes(w.exec(), [&](int i) {
    const LaneGroups& l = state.lanes[i];
    done &= int64_t(l.pending()) <= op.imm && !(op.get<WaitDetails>().all && l.open);
  });
  if (done) return tell(w, Sync::Kind::wait_group, uint64_t(op.imm));
  w.block({.kind = BlockReason::Kind::async_group, .what = kWaitsForCopies}, true);
}

void decode_commit(Decoder& d, Op& op) { finish(d, op, commit_group, CostClass::async_issue); }

void decode_wait(Decoder& d, Op& op) {
  finish(d, op, wait_group, CostClass::async_issue);
  const bool all = d.inst->opcode == Opcode::cp_async_wait_all;
  op.set(WaitDetails{all});
  op.imm = all ? 0 : d.operand(0).bits;
}

// ---- cp.async.mbarrier.arrive

struct ArriveDetails : MemoryOperand {
  bool no_increase;  // .noinc: the arrivals are counted already
};

void mbarrier_arrive_on_copies(Warp& w, const Op& op) {
  WarpCopies& state = copies_of(w);
  uint64_t address[32];
  lane_addresses(w, op, address);
  auto arrival = std::make_shared<Arrival>();
  arrival->cta = &w.cta();
  arrival->origin = origin_of(w);
  std::fill(arrival->remaining, arrival->remaining + 32, 0u);
  for_lanes(w.exec(), [&](int i) {
    uint32_t offset;
    const uint32_t shared = to_shared(w, address[i], memory_operand(op).wide, i, "cp.async.mbarrier.arrive");
    if (&shared_owner(w, shared, offset, i, "cp.async.mbarrier.arrive") != &w.cta())
      w.fault(FaultKind::illegal_instruction, "shared-window", "cp.async.mbarrier.arrive on another CTA's mbarrier",
              "the mbarrier must be in the executing CTA's shared memory", i);
    arrival->offset[i] = offset;
    MBarrier& barrier = mbarrier_at(w.cta(), offset, arrival->origin, "cp.async.mbarrier.arrive");
    if (op.get<ArriveDetails>().no_increase) return;
    // Without .noinc the arrival brings its own pending count.
    if (barrier.pending >= 1u << 20)
      w.fault(FaultKind::launch_failure, "mbarrier-count-range",
              "cp.async.mbarrier.arrive takes the pending count past 1048576",
              "use .noinc and count these arrivals in mbarrier.init", i);
    ++barrier.pending;
  });
  for (const auto& copy : state.in_flight) {
    if (!(copy->lanes & w.exec())) continue;
    copy->watchers.push_back(arrival);
    for_lanes(copy->lanes & w.exec(), [&](int i) { ++arrival->remaining[i]; });
  }
  arrival->open = uint32_t(__builtin_popcount(w.exec()));
  arrival->told =
      tell_issue(w.partition(), AsyncOperation::Kind::copies_arrive, arrival->origin, w.sm().index, w.time());
  uint32_t idle = 0;
  for_lanes(w.exec(), [&](int i) { idle |= uint32_t(arrival->remaining[i] == 0) << i; });
  if (!idle) return;
  SmPartition& partition = w.partition();
  partition.events.schedule(w.time() + w.spec().costs[size_t(CostClass::mbarrier)].latency,
                            partition.events.new_channel(), arrival->origin,
                            [arrival, idle](uint64_t now) { fire(*arrival, idle, now); });
}

void decode_arrive(Decoder& d, Op& op) {
  finish(d, op, mbarrier_arrive_on_copies, CostClass::async_issue);
  decode_address(d, op, d.operand(0));
  op.edit<ArriveDetails>().no_increase = d.inst->has("noinc");
}

constexpr Entry kCpAsyncTable[] = {
    {Opcode::cp_async, decode_cp_async},
    {Opcode::cp_async_commit_group, decode_commit},
    {Opcode::cp_async_wait_group, decode_wait},
    {Opcode::cp_async_wait_all, decode_wait},
    {Opcode::cp_async_mbarrier_arrive, decode_arrive},
};

}  // namespace

Table cp_async_table() { return {kCpAsyncTable}; }

}  // namespace tinygpu::isa
