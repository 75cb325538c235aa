// Accesses to shared and global memory: what each must know of the earlier ones.
#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "common/tinygpu/check/races/races.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::races {
namespace {

uint32_t single(uint32_t lanes) { return lanes & (lanes - 1) ? 0 : lanes; }

/// The judge of one access.
class Trial {
 public:
  using News = FunctionRef<bool(Why, const Record& earlier, const Record& later)>;
  /// `owner`: of shared memory, the linear CTA whose it is.
  Trial(const Actor& by, const Record& now, ptx::Space space, uint32_t owner, News news)
      : by_(by), now_(now), space_(space), owner_(owner), news_(news) {}

  Verdict judge(const Record& earlier, uint64_t cell, uint16_t bytes) const {
    // Lanes of one instruction give each other nothing, and write the same.
    if (earlier.instance && earlier.instance == now_.instance && earlier.cluster == now_.cluster &&
        earlier.component == now_.component)
      return {true, true};
    // What a copy reads of its tensor map is handed to it by fences of its own; who changes the map later has to wait.
    if (now_.proxy == Proxy::tensormap) return {true, true};
    // Among each other, copies that nobody has waited for leave behind what nobody reads.
    if ((now_.at_end && earlier.operation && earlier.writes()) || (earlier.at_end && now_.operation))
      return {true, false};
    // Reductions of the async proxy are strong among each other.
    if (earlier.kind == AccessKind::atomic && now_.kind == AccessKind::atomic && earlier.operation && now_.operation)
      return {};
    const bool crosses = now_.proxy == Proxy::async && earlier.proxy == Proxy::generic;
    bool placed = false;
    Why why = Why::unordered;
    uint16_t unseen = not_seen_in(earlier, cell, bytes, happened, placed);
    if (!unseen && crosses) {
      why = Why::no_fence;
      unseen = not_seen_in(earlier, cell, bytes, async_view(), placed);
    }
    if (!unseen) {
      if (now_.read_only && earlier.writes() && news_(Why::read_only, earlier, now_))
        tell_race(Why::read_only, earlier, now_, space_, cell + uint64_t(__builtin_ctz(bytes)),
                  uint32_t(__builtin_popcount(bytes)));
      return {true, placed};
    }
    if (strong_pair(earlier, now_)) return {false, placed};
    bool any = false;
    if (why != Why::no_fence) {
      const bool fenced = !crosses || !not_seen_in(earlier, cell, unseen, async_view(), any);
      if (!not_seen_in(earlier, cell, unseen, relied_on, any))
        why = fenced ? Why::no_scope : Why::no_fence;
      else if (own_store(earlier) && !not_seen_in(earlier, cell, unseen, by_cluster, any))
        why = Why::relaxed;
      else if (!earlier.writes() && !not_seen_in(earlier, cell, unseen, by_meeting, any))
        why = !fenced ? Why::no_fence : by_lanes(earlier) ? Why::one_arrives : Why::one_warp;
      else if (!not_seen_in(earlier, cell, unseen, nearly, any))
        why = Why::nearly;
      else if (!not_seen_in(earlier, cell, unseen, by_operation, any))
        why = Why::by_operation;
      else if (one_is_over(earlier, crosses ? async_view() : happened))
        why = Why::same_value;
      else if (earlier.operation)
        why = Why::incomplete;
      else if (by_.threads && earlier.lane_components == by_.threads->program && !now_.operation)
        why = Why::lanes;
      else if (spoken_for(earlier))
        why = Why::spoken_for;
    }
    if (!news_(why, earlier, now_)) return {true, placed};
    const uint64_t at = cell + uint64_t(__builtin_ctz(unseen));
    const uint32_t size = uint32_t(__builtin_popcount(unseen));
    if (why == Why::unordered && behind_issue(earlier))
      tell_race(Why::incomplete, now_, earlier, space_, at, size);
    else
      tell_race(why, earlier, now_, space_, at, size);
    return {true, placed};
  }

 private:
  /// Threads of the CTA have stored, and who reads need not see it through another proxy, but for an MMA, of whose
  /// operands a missing fence is a warning too.
  bool own_store(const Record& earlier) const {
    return space_ == ptx::Space::shared && earlier.cta == owner_ && earlier.kind == AccessKind::write &&
           !earlier.operation && earlier.proxy == Proxy::generic &&
           (now_.proxy == Proxy::generic || now_.ends == Ends::commit);
  }
  View async_view() const { return space_ == ptx::Space::global ? async_global : async_shared; }
  /// It is the lanes of one warp that nothing orders: another one has synchronised.
  bool by_lanes(const Record& earlier) const {
    if (by_.threads && earlier.lane_components == by_.threads->program) return true;
    return earlier.lane_components &&
           (not_seen(earlier, ~0u, by_, 0, relied_on) != ~0u || not_seen(earlier, ~0u, by_, 0, happened) != ~0u);
  }
  /// Those of the bytes at which the earlier access is not known to be over.
  uint16_t not_seen_in(const Record& earlier, uint64_t cell, uint16_t bytes, View view, bool& placed) const {
    const uint32_t mine = as_one() ? by_.lanes : single(now_.map.lanes);
    if (!not_seen(earlier, earlier.map.lanes, by_, mine, view)) return 0;
    if (!earlier.lane_components) return bytes;
    placed = true;
    uint16_t out = 0;
    for (uint32_t m = bytes; m; m &= m - 1) {
      const int i = __builtin_ctz(m);
      const uint64_t at = cell + uint64_t(i);
      const uint32_t own = as_one() ? by_.lanes : single(now_.map.of(at));
      if (not_seen(earlier, earlier.map.of(at), by_, own, view)) out |= uint16_t(1u << i);
    }
    return out;
  }

  /// Some of the lanes that made the earlier access are known to be over with it: they have spoken for all.
  bool spoken_for(const Record& earlier) const {
    const uint32_t lanes = earlier.map.lanes;
    return earlier.lane_components && (lanes & (lanes - 1)) &&
           (not_seen(earlier, lanes, by_, 0, happened) & lanes) != lanes;
  }
  /// Its lanes have all stored one value, and one of them is known to be over with it.
  bool one_is_over(const Record& earlier, View view) const {
    const uint32_t lanes = earlier.map.lanes, mine = now_.operation ? 0 : single(now_.map.lanes);
    if (!earlier.map.one_value) return false;
    // Each lane has stored it itself.
    if (by_.threads && earlier.lane_components == by_.threads->program && !now_.operation && !(now_.map.lanes & ~lanes))
      return true;
    return (not_seen(earlier, lanes, by_, mine, view) & lanes) != lanes;
  }
  /// The thread that made the access knew that this operation had been issued: it has not waited for it.
  bool behind_issue(const Record& earlier) const {
    if (!now_.operation || earlier.operation || !by_.threads || earlier.cluster != by_.cluster) return false;
    const LaneComponents& issuer = *by_.threads->program;
    if (earlier.lane_components == by_.threads->program && !(earlier.map.lanes & ~by_.lanes))
      return earlier.epoch > by_.now;
    if (epoch_of(earlier.knew, issuer.whole) >= by_.now) return true;
    for (uint32_t m = by_.lanes; m; m &= m - 1)
      if (epoch_of(earlier.knew, issuer.lane[size_t(__builtin_ctz(m))]) >= by_.now) return true;
    return false;
  }
  /// An operation that lanes have issued together, or one of them alone.
  bool as_one() const { return now_.operation && (now_.ends != Ends::copies || !now_.map.at); }

  const Actor& by_;
  const Record& now_;
  const ptx::Space space_;
  const uint32_t owner_;
  const News news_;
};

/// All lanes of a store write the same value to the same place.
bool stores_one_value(const LaneAccess& a, const Origin& who) {
  if (a.dense || !(a.lanes & (a.lanes - 1)) || a.high - a.low != a.bytes) return false;
  const ptx::Instruction& inst = who.function->instruction(*who.op);
  if (inst.opcode != ptx::Opcode::st || inst.operands.size() != 2) return false;
  const ptx::Operand& from = inst.operands[1];
  const bool vector = from.kind == ptx::Operand::Kind::vector;
  const std::span<const ptx::Operand> values(vector ? from.elems.data() : &from, vector ? from.elems.size() : 1);
  for (size_t k = 0; k < values.size(); ++k) {
    if (values[k].kind != ptx::Operand::Kind::reg) continue;  // a constant
    const size_t width = size_t(ptx::size_of(who.function->source->registers[values[k].reg].type));
    // The registers are only looked at.
    const uint8_t* const lane = const_cast<Warp&>(a.warp).at<uint8_t>(vector ? who.op->list[k] : who.op->b);
    const uint8_t* const first = lane + width * size_t(__builtin_ctz(a.lanes));
    for (uint32_t m = a.lanes; m; m &= m - 1)
      if (std::memcmp(first, lane + width * size_t(__builtin_ctz(m)), width) != 0) return false;
  }
  return true;
}

uint32_t linear(const LaunchConfig& c, const Dim3& id) { return id.x + c.grid.x * (id.y + c.grid.y * id.z); }

}  // namespace

void Races::on_access(const MemoryAccess& a) {
  PartitionState& d = of(a.partition);
  // A copy may read or write behind the end of its CTA.
  if (!a.lanes && a.operation->operation) return operation_access(a, d);
  if (d.clusters.empty()) return;
  if (a.proxy == Proxy::tensormap) {  // of fences around it the machine looks after itself
    a.each([&](uint64_t address, uint64_t, int) { d.map = {a.operation->cta, a.operation->warp, address}; });
    return;
  }
  std::shared_ptr<ClusterState> c;
  Threads* t = nullptr;
  uint32_t lanes = 0;
  const Origin who = a.who();
  if (a.lanes) {
    c = d.find(a.lanes->warp.cluster());
    lanes = a.lanes->lanes;
    if (c) t = c->threads(who);
  } else {
    lanes = a.operation->lanes;
    t = d.find(who, c);
  }
  if (!t || !lanes) return;
  if (left_here_ && a.lanes && !(*left_here_ && --*left_here_)) return;
  program_access(a, d, *c, *t, lanes);
  if (a.space == ptx::Space::shared && c->histories.full()) c->collect();
}

void Races::program_access(const MemoryAccess& a, PartitionState& d, ClusterState& c, Threads& t, uint32_t lanes) {
  Record r;
  r.instance = ++d.instances;
  r.who = a.who();
  r.cluster = c.number;
  r.component = t.program->whole;
  r.epoch = t.now();
  r.lane_components = t.program;
  r.time = a.time;
  r.cta = linear(a.partition.launch.config, t.cta.key.id);
  r.kind = a.kind;
  r.proxy = a.proxy;
  r.order = a.order;
  r.read_only = a.space == ptx::Space::global && a.kind == AccessKind::read && d.facts.of(r.who).read_only;
  r.map.bytes = a.lanes ? a.lanes->bytes : 0;
  r.element = r.map.bytes / (r.who.op && r.who.op->list_size ? r.who.op->list_size : 1);
  r.map.together = !a.lanes;  // tcgen05.alloc, tensormap.cp_fenceproxy: one access, in the program of every lane
  if (a.lanes) {
    r.map.dense = a.lanes->dense;
    r.map.first = a.lanes->low;
  }
  if (a.lanes && a.kind == AccessKind::write) r.map.one_value = stores_one_value(*a.lanes, r.who);
  const bool split = t.rows().size() > 1;
  if (a.lanes && (!r.map.dense || split)) {
    auto at = std::make_shared<std::array<uint64_t, 32>>();
    for (uint32_t m = lanes; m; m &= m - 1) {
      const size_t lane = size_t(__builtin_ctz(m));
      (*at)[lane] = a.lanes->offset ? a.lanes->offset[lane] : a.lanes->address[lane];
    }
    r.map.at = std::move(at);
    r.map.dense = false;
  }
  for (size_t i = 0; i < t.rows().size(); ++i) {
    const Row& row = t.rows()[i];
    r.map.lanes = r.map.together ? lanes : row.lanes & lanes;
    if (!(row.lanes & r.map.lanes)) continue;
    const Actor actor{c.number, &t, r.map.lanes, t.now(), row.copies, &row.sees};
    r.knew = row.sees.of[happened].here;
    access(a, c, actor, r);
    if (r.map.together) break;
  }
  if (a.order.strong() || a.kind == AccessKind::atomic) return strong_access(a, c, t, lanes);
  if (a.kind == AccessKind::read || !a.lanes) return;
  // A weak store ends what a strong one has released there.
  if (a.space == ptx::Space::global) {
    if (!any_heads_) return;
    std::lock_guard lock(heads_mutex_);
    a.each([&](uint64_t address, uint64_t bytes, int) { heads_.forget(address, bytes); });
  } else if (CtaState* owner = c.cta(*a.cta); owner && !owner->heads.empty()) {
    a.each([&](uint64_t address, uint64_t bytes, int) { owner->heads.forget(address, bytes); });
  }
}

void Races::strong_access(const MemoryAccess& a, ClusterState& c, Threads& t, uint32_t lanes) {
  CtaState* owner = a.space == ptx::Space::global ? nullptr : c.cta(*a.cta);
  if ((a.space != ptx::Space::global && !owner) || !a.lanes) return;
  std::unique_lock<std::mutex> lock;
  if (!owner) lock = std::unique_lock(heads_mutex_);
  ReleaseHeads& heads = owner ? owner->heads : heads_;
  Party me{c.number, t.cta.rank, a.order.scope};
  // All lanes read before any writes: those of one instruction give each other nothing.
  if (a.kind != AccessKind::write && !heads.empty())
    for (uint32_t m = lanes; m; m &= m - 1) {
      const int lane = __builtin_ctz(m);
      const uint64_t at = a.lanes->offset ? a.lanes->offset[lane] : a.lanes->address[lane];
      const auto* found = heads.at(at);
      if (!found) continue;
      uint32_t same = 0;  // lanes that read the same word
      for (uint32_t k = m; k; k &= k - 1) {
        const int other = __builtin_ctz(k);
        same |= uint32_t((a.lanes->offset ? a.lanes->offset[other] : a.lanes->address[other]) == at) << other;
      }
      for (const auto& h : *found) {
        const bool reach = h.who.reaches(me) && me.reaches(h.who);
        t.acquire(same, h.released.imported(c.number),
                  !reach               ? Strength::narrow
                  : a.order.acquires() ? Strength::full
                                       : Strength::relaxed);
      }
      m = (m & ~same) | (m & -m);
    }
  if (a.kind == AccessKind::read) return;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    const uint64_t at = a.lanes->offset ? a.lanes->offset[lane] : a.lanes->address[lane];
    if (!a.order.releases() && !t.row_of(lane).fenced) {  // releases nothing
      if (a.kind == AccessKind::write) heads.forget(at, a.lanes->bytes);
      continue;
    }
    if (!owner) any_heads_ = true;
    heads.put(at, me, t.release(1u << lane, !a.order.releases()), a.kind == AccessKind::atomic);
  }
}

void Races::operation_access(const MemoryAccess& a, PartitionState& d) {
  const auto found = d.operations.find(a.operation->operation);
  if (found == d.operations.end()) return;
  Operation& op = found->second;
  for (size_t i = 0; i < op.uses.size() && !d.ending && op.ends == Ends::mbarrier; ++i)
    if (op.uses[i].cta == a.cta && op.uses[i].writes == (a.kind != AccessKind::read)) op.used |= 1ull << i;
  ClusterState& c = *op.cluster;
  Record r;
  r.who = *a.operation;
  r.cluster = c.number;
  r.ends = op.ends;
  r.time = a.time;
  r.cta = linear(a.partition.launch.config, op.who.cta.id);
  r.kind = a.kind;
  r.proxy = a.proxy;
  r.order = a.order;
  if (a.tile) {
    r.operand = a.tile->operand;
    r.box = a.tile->box;
    r.box_offset = a.tile->box_offset;
  }
  r.operation = true;
  r.at_end = d.ending;
  if (op.ends == Ends::mbarrier) {
    // The phase in which the copy's transactions are about to complete.
    const AsyncOperation::SharedUse* use = nullptr;
    for (const auto& u : op.uses)
      if (u.signalled && (!use || (a.cta == u.cta && a.kind != AccessKind::read))) use = &u;
    if (CtaState* cta = use ? c.cta(*use->signalled) : nullptr) {
      MbarrierState& m = cta->mbarrier(c.components, use->signal);
      r.component = m.component;
      r.epoch = m.ended + 1;
      // Its completion does not promise what its thread had done before.
      m.own.of[by_operation].join(op.before);
    }
  } else {
    const bool writes = a.kind != AccessKind::read;
    r.component = writes ? op.writes : op.reads;
    r.epoch = writes ? op.written : op.read;
    r.lane_components = op.lane_components;
    r.map.lanes = op.lanes;
  }
  if (a.tile && a.tile->lanes) {
    auto at = std::make_shared<std::array<uint64_t, 32>>();
    uint32_t left = r.map.lanes = a.tile->lanes;
    a.each([&](uint64_t address, uint64_t bytes, int) {
      (*at)[size_t(__builtin_ctz(left))] = address;
      r.map.bytes = uint32_t(bytes);
      left &= left - 1;
    });
    r.map.at = std::move(at);
  }
  const bool releases = op.kind == AsyncOperation::Kind::async_store && op.ends == Ends::never;
  if (releases) {
    r.order = d.facts.of(op.who).order;
    a.each([&](uint64_t, uint64_t bytes, int) { r.element = r.map.bytes = uint32_t(bytes); });
  }
  const Actor actor{c.number, op.threads, op.lanes, op.now, op.copies, &op.sees};
  access(a, c, actor, r);
  if (a.space == ptx::Space::shared && c.histories.full()) c.collect();
  if (!releases) return;
  std::lock_guard lock(heads_mutex_);
  any_heads_ = true;
  a.each([&](uint64_t address, uint64_t, int) {
    heads_.put(address, {c.number, op.threads->cta.rank, r.order.scope}, op.released, a.kind == AccessKind::atomic);
  });
}

void Races::map_access(const AsyncOperation& o, PartitionState& d) {
  const PartitionState::NamedMap map = std::exchange(d.map, {});
  if (map.warp != o.who.warp || map.cta != o.who.cta) return;
  constexpr uint64_t kMapBytes = 128;
  const auto each = [&](MemoryAccess::Range f) { f(map.address, kMapBytes); };
  const FunctionRef<void(MemoryAccess::Range)> ranges(each);
  MemoryAccess a{*o.who.launch->partitions()[o.partition()],
                 AccessKind::read,
                 ptx::Space::global,
                 Proxy::tensormap,
                 {},
                 nullptr,
                 o.issued};
  a.operation = &o.who;
  a.ranges = &ranges;
  operation_access(a, d);
}

bool Races::is_news(const void* what, const void* with) {
  std::lock_guard lock(told_mutex_);
  return told_.try_emplace(what, with).first->second == with;
}

bool Races::first(const char* about, const Op* op) {
  std::lock_guard lock(told_mutex_);
  return told_about_.emplace(about, op).second;
}

void Races::access(const MemoryAccess& a, ClusterState& c, const Actor& actor, const Record& record) {
  const auto news = [&](Why why, const Record& earlier, const Record& later) {
    const bool once = why == Why::no_fence || why == Why::nearly || why == Why::by_operation || why == Why::no_scope ||
                      why == Why::one_warp || why == Why::relaxed || why == Why::same_value || why == Why::read_only;
    return !once || is_news(later.who.op, earlier.who.op);
  };
  const uint32_t owner = a.cta ? linear(a.partition.launch.config, a.cta->key.id) : 0;
  const Trial trial(actor, record, a.space, owner, news);
  const auto judge = [&](const Record& earlier, uint64_t cell, uint16_t bytes) {
    return trial.judge(earlier, cell, bytes);
  };
  const LaneMap& map = record.map;
  const auto each = [&](auto&& f) {
    if (!a.lanes) return a.each([&](uint64_t address, uint64_t bytes, int) { f(address, bytes); });
    if (map.dense) return f(a.lanes->low, a.lanes->high - a.lanes->low);
    uint64_t last = ~0ull;
    for (uint32_t m = map.lanes; m; m &= m - 1) {
      const uint64_t at = (*map.at)[size_t(__builtin_ctz(m))];
      if (at != last) f(at, uint64_t(map.bytes));
      last = at;
    }
  };
  if (a.space == ptx::Space::shared) {
    CtaState* owner = c.cta(*a.cta);
    if (!owner) return;
    const auto unwritten = [&](uint64_t cell, uint16_t bytes) {
      if ((!left_here_ || *left_here_) && first("unwritten", record.who.op))
        tell_unwritten(record, cell + uint64_t(__builtin_ctz(bytes)), uint32_t(__builtin_popcount(bytes)));
    };
    Touch touch(c.histories, record, judge, unwritten);
    each([&](uint64_t address, uint64_t bytes) { touch.range(owner->cells(), 0, address, bytes); });
    return;
  }
  if (before_primary_ends(actor.sees->of[happened]))
    each([&](uint64_t address, uint64_t bytes) { early_.add(record, address, bytes); });
  // Global memory is shared by all partitions: a lock for each of its parts.
  const auto by_the_host = [](uint64_t, uint16_t) {};  // it may have written anything
  uint64_t region = ~0ull;
  std::unique_lock<std::mutex> lock;
  std::optional<Touch> touch;
  std::vector<uint32_t>* cells = nullptr;
  each([&](uint64_t address, uint64_t bytes) {
    while (bytes) {
      const uint64_t now = address / kRegion, part = std::min(bytes, (now + 1) * kRegion - address);
      if (now != region) {
        region = now;
        Shard& shard = global_[(now * 0x9e3779b97f4a7c15ull >> 58)];
        touch.reset();
        if (lock.owns_lock()) lock.unlock();
        lock = std::unique_lock(shard.mutex);
        if (shard.histories.full())
          shard.histories.collect([&](FunctionRef<void(uint32_t)> mark) {
            for (const auto& [unused, handles] : shard.regions)
              for (const uint32_t handle : handles) mark(handle);
          });
        cells = &shard.regions[now];
        if (cells->empty()) cells->resize(kRegion / kCell);
        touch.emplace(shard.histories, record, judge, by_the_host);
      }
      touch->range(*cells, now * kRegion, address, part);
      address += part;
      bytes -= part;
    }
  });
}

}  // namespace tinygpu::races
