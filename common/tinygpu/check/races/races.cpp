#include "common/tinygpu/check/races/races.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "common/tinygpu/check/operation_proxy.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::races {

std::shared_ptr<ClusterState> PartitionState::find(const Cluster& c) {
  if (recent == &c) return recent_state;
  const auto it = clusters.find(&c);
  if (it == clusters.end()) return nullptr;
  recent = &c;
  return recent_state = it->second;
}

Threads* PartitionState::find(const Origin& who, std::shared_ptr<ClusterState>& cluster) {
  cluster = recent_state;
  if (Threads* t = cluster ? cluster->threads(who) : nullptr) return t;
  for (const auto& [key, state] : clusters)
    if (Threads* t = state->threads(who)) {
      recent = key;
      cluster = recent_state = state;
      return t;
    }
  return nullptr;
}

void Races::on_launch(const Launch& launch) {
  self_ = primaries_->add(launch.number, launch.config.kernel->name);
  primary_ = primaries_->find(launch.primary);
  if (follow_ == Follow::first_cluster)
    left_here_ = &left_.try_emplace(launch.config.kernel, kFollowedAccesses).first->second;
  early_.clear();
  partitions_.clear();
  partitions_.resize(launch.partitions().size());
  global_ = std::vector<Shard>(64);
  heads_.clear();
  any_heads_ = false;
  sequential_ = {};
  told_.clear();
  told_about_.clear();
}

void Races::on_end(const Launch&, const LaunchStats* stats) {
  // Where a fault has ended it, CTAs have not.
  if (!stats)
    for (PartitionState& d : partitions_)
      for (const auto& [key, c] : d.clusters)
        for (const auto& cta : c->ctas) end_copies(d, *c, cta->cta);
  if (stats && self_->has_launched_dependents())
    for (Shard& shard : global_)
      for (const auto& [region, handles] : shard.regions) self_->add(region * kRegion, handles, shard.histories);
  // A grid is over behind its primary.
  if (stats && primary_)
    early_.each([&](const Record& record, uint64_t address, uint64_t bytes) {
      const PrimaryGrid::Touch* met = primary_->met(address, bytes, record.writes());
      if (met && first("primary grid", record.who.op))
        tell_primary_grid(record, address, bytes, met->place, primary_->kernel());
    });
  early_.clear();
  primary_.reset();
  partitions_.clear();
  global_.clear();
  heads_.clear();
}

void Races::on_cta(const Cta& cta, bool starts, uint64_t) {
  PartitionState& d = of(cta.cluster.partition);
  if (starts) {
    if (cta.rank || (follow_ == Follow::first_cluster && cta.cluster.linear)) return;
    d.clusters[&cta.cluster] = std::make_shared<ClusterState>(cta.cluster);
  } else {
    const auto c = d.clusters.find(&cta.cluster);
    if (c == d.clusters.end()) return;
    end_copies(d, *c->second, cta);
    if (CtaState* state = cta.cluster.ctas.size() > 1 ? c->second->cta(cta) : nullptr)
      check_exit(d, *c->second, *state);
    if (cta.cluster.live_ctas) return;
    d.clusters.erase(c);
  }
  d.recent = nullptr;
  d.recent_state = nullptr;
}

void Races::end_copies(PartitionState& d, ClusterState& c, const Cta& cta) {
  for (const auto& [id, op] : d.operations) {
    if (op.cluster.get() != &c) continue;
    for (size_t i = 0; i < op.uses.size(); ++i) {
      const auto& use = op.uses[i];
      if (use.cta != &cta || !use.writes || op.used >> i & 1) continue;
      const auto each = [&](MemoryAccess::Range f) {
        for (const auto& r : use.ranges) f(r.offset, r.bytes);
      };
      const FunctionRef<void(MemoryAccess::Range)> ranges(each);
      MemoryAccess a{
          cta.cluster.partition, AccessKind::write, ptx::Space::shared, proxy_of(op.kind), {}, &cta, op.issued};
      a.operation = &op.who;
      a.ranges = &ranges;
      Tile tile;
      for (const auto& r : use.ranges)
        if (r.lane >= 0) tile.lanes |= 1u << r.lane;
      if (tile.lanes) a.tile = &tile;
      d.ending = true;
      operation_access(a, d);
      d.ending = false;
    }
  }
}

void Races::check_exit(const PartitionState& d, ClusterState& c, CtaState& cta) {
  Views all;
  for (const Threads& t : cta.warps)
    for (const Row& row : t.rows()) all.join(row.sees);
  const Actor by{c.number, nullptr, 0, 0, 0, &all};
  const auto open = [&](const Record& r) {
    for (const View view : {happened, nearly, by_operation, relied_on, by_meeting})
      if (!not_seen(r, r.map.lanes, by, 0, view)) return false;
    return true;
  };
  const uint32_t rank = cta.cta.rank;
  const auto own = [&](const Record& r) { return c.cta(r.who.cta) == &cta; };
  const auto own_of = [&](const Operation& op) { return c.cta(op.who.cta) == &cta; };
  const auto goes_out = [&](const Operation& op) {
    return std::ranges::any_of(op.uses, [&](const auto& u) { return u.signalled && u.signalled != &cta.cta; });
  };
  std::vector<uint32_t> seen;  // what lies in neighbouring cells is mostly the same
  uint64_t offset = 0;
  for (const uint32_t handle : cta.cells()) {
    const uint64_t at = offset;
    offset += kCell;
    if (!handle || std::ranges::find(seen, handle) != seen.end()) continue;
    seen.push_back(handle);
    if (seen.size() > 64) seen.erase(seen.begin());
    c.histories.each(handle, [&](const Record& r, uint16_t) {
      const bool out = r.operation && own(r) && r.ends == Ends::mbarrier && !r.writes();
      if ((own(r) && !out) || !open(r) || !first("exit", r.who.op)) return;
      tell_exit(r, rank, out, fmt::format("shared offset {:#x}", at));
    });
  }
  // Those that have not come so far here.
  for (const auto& [id, op] : d.operations) {
    if (op.cluster.get() != &c) continue;
    for (size_t i = 0; i < op.uses.size(); ++i) {
      const auto& use = op.uses[i];
      if (use.cta != &cta.cta || op.used >> i & 1 || (own_of(op) && (use.writes || !goes_out(op)))) continue;
      Record r;
      r.who = op.who;
      r.operation = true;
      if (first("exit", r.who.op))
        tell_exit(r, rank, own_of(op),
                  fmt::format("shared offset {:#x}", use.ranges.empty() ? 0 : use.ranges[0].offset));
    }
  }
  // Of several that one instruction has made, the same on each host.
  std::map<std::tuple<uint32_t, CtaKey, int>, const Record*> arrivals;  // by mbarrier, CTA and warp
  for (const auto& [at, m] : cta.mbarriers)
    for (const auto& [who, r] : m.remote)
      if (open(r)) arrivals[{at, r.who.cta, r.who.warp}] = &r;
  for (const auto& [key, r] : arrivals)
    if (first("exit", r->who.op)) tell_exit(*r, rank, false, mbarrier_name(cta.cta, std::get<0>(key)));
}

// ---- Operations

namespace {

using Channel = Threads::Channel;

void end_with(Operation& op, Component channel, Epoch count) {
  op.reads = op.writes = channel;
  op.read = op.written = count;
}

/// Lanes that have issued one store together all have it in their groups.
void enter_bulk_groups(Operation& op, Threads& t, int lane) {
  op.ends = Ends::bulk_group;
  for (uint32_t m = op.lanes; m; m &= m - 1) {
    ++t.count(Channel::bulk_read, __builtin_ctz(m));
    ++t.count(Channel::bulk_write, __builtin_ctz(m));
  }
  op.reads = t.channel(Channel::bulk_read, lane);
  op.writes = t.channel(Channel::bulk_write, lane);
  op.read = t.count(Channel::bulk_read, lane);
  op.written = t.count(Channel::bulk_write, lane);
}

/// A commit's arrival says that the MMAs which its thread has issued are over.
void commit_tensor_work(Operation& op, Threads& t, int lane, uint32_t group) {
  const Epoch issued = t.count(Channel::tensor_issued, lane, group);
  const Component done = t.channel(Channel::tensor_done, lane, group);
  if (!issued) return;
  op.steps = {{done, issued}};
  op.released.of[tensor].here =
      advanced(op.sees.of[tensor].here, {{done, issued}, {t.channel(Channel::tensor_issued, lane, group), issued}});
}

/// cp.async.mbarrier.arrive says that the earlier copies of its lanes are over.
void arrive_behind_copies(Operation& op, Threads& t, ClusterState& c) {
  if (!t.copies->whole) return;
  if ((op.lanes & t.live()) == t.live()) {
    op.steps = {{t.copies->whole, t.copies_issued}};
    return;
  }
  for (uint32_t m = op.lanes; m; m &= m - 1) {
    Component& of_lane = t.copies->lane[size_t(__builtin_ctz(m))];
    if (!of_lane) of_lane = c.components.make();
    op.steps.emplace_back(of_lane, t.copies_issued);
  }
}

/// All four warps issue a wgmma; their own accesses come before it.
void join_warpgroup(Operation& op, const Origin& who, ClusterState& c) {
  op.ends = Ends::wgmma;
  CtaState& cta = *c.cta(who.cta);
  const uint32_t number = uint32_t(who.warp) / 4;
  CtaState::Channel& channel = cta.warpgroups[number];
  if (!channel.component) channel.component = c.components.make();
  end_with(op, channel.component, ++channel.count);
  op.threads = nullptr;
  op.sees = {};
  for (uint32_t w = number * 4; w < number * 4 + 4 && w < cta.warps.size(); ++w)
    op.sees.join(cta.warps[w].release(~0u));
}

/// What says that the operation is over, and what it releases. `group`: a tensor core's, of one CTA or two.
void begin_operation(Operation& op, const AsyncOperation& o, Threads& t, ClusterState& c, uint32_t group) {
  using Kind = AsyncOperation::Kind;
  const int lane = o.who.lane;
  switch (o.kind) {
    case Kind::bulk_load:
    case Kind::tensor_load:
    case Kind::cancel:
      op.ends = Ends::mbarrier;
      // What reaches several CTAs tells each of them that it has been issued.
      if (op.uses.size() > 1) op.before = t.release(op.lanes).of[happened];
      break;
    case Kind::async_store:
      // One without an mbarrier releases: to global memory.
      op.ends = op.uses.empty() ? Ends::never : Ends::mbarrier;
      if (op.uses.empty())
        op.released = t.release(op.lanes);
      else
        op.before = t.release(op.lanes).of[happened];
      break;
    case Kind::bulk_store:
    case Kind::tensor_store:
      if (std::ranges::any_of(o.shared_uses, [](const auto& u) { return u.signalled != nullptr; })) {
        op.ends = Ends::mbarrier;
        op.before = t.release(op.lanes).of[happened];
        break;
      }
      enter_bulk_groups(op, t, lane);
      break;
    case Kind::mma:
    case Kind::tmem_copy:
    case Kind::tmem_shift:
      op.ends = Ends::commit;
      end_with(op, t.channel(Channel::tensor_done, lane, group), ++t.count(Channel::tensor_issued, lane, group));
      break;
    case Kind::tmem_load: end_with(op, t.channel(Channel::tmem_load, -1), ++t.count(Channel::tmem_load, -1)); break;
    case Kind::tmem_store: end_with(op, t.channel(Channel::tmem_store, -1), ++t.count(Channel::tmem_store, -1)); break;
    case Kind::commit:
      op.before = t.release(op.lanes).of[happened];
      commit_tensor_work(op, t, lane, group);
      break;
    case Kind::async_copy:
      if (!t.copies->whole) t.copies->whole = c.components.make();
      op.ends = Ends::copies;
      op.lane_components = t.copies;
      end_with(op, t.copies->whole, ++t.copies_issued);
      break;
    case Kind::copies_arrive: arrive_behind_copies(op, t, c); break;
    case Kind::wgmma: join_warpgroup(op, o.who, c); break;
  }
}

void tell_missing_fence(const AsyncOperation& o) {
  o.who.report({.code = "wgmma-fence-missing",
                .severity = Severity::warning,
                .message = "this warp issues wgmma.mma_async and has not executed wgmma.fence before",
                .help = "execute wgmma.fence before the first wgmma, and again after each access to its registers",
                .where = o.who.where(o.issued),
                .label = "the first one of this warp",
                .example = "wgmma.fence.sync.aligned;"});
}

}  // namespace

void Races::on_issue(const AsyncOperation& o) {
  using Kind = AsyncOperation::Kind;
  PartitionState& d = partitions_[o.partition()];
  if (d.clusters.empty()) return;
  std::shared_ptr<ClusterState> c;
  Threads* const t = d.find(o.who, c);
  if (!t) return;
  Operation op;
  op.kind = o.kind;
  op.who = o.who;
  op.cluster = c;
  op.threads = t;
  op.lanes = o.who.lanes;
  op.issued = o.issued;
  op.uses = o.shared_uses;
  op.copies = t->row_of(__builtin_ctz(op.lanes | 1u << 31)).copies;
  op.sees = t->fork(op.lanes ? op.lanes : ~0u, op.now);
  if (o.kind == Kind::wgmma && !t->wgmma_fenced && first("wgmma.fence", o.who.op)) tell_missing_fence(o);
  begin_operation(op, o, *t, *c, d.facts.of(o.who).pair);
  if (!o.cells.empty()) tensor_use(d, o, op);
  for (const auto& use : op.uses)
    if (use.signalled) check_signal(*c, op, use);
  d.operations.emplace(o.id, std::move(op));
  if (o.kind == Kind::tensor_load || o.kind == Kind::tensor_store) map_access(o, d);
}

void Races::check_signal(ClusterState& c, const Operation& op, const AsyncOperation::SharedUse& use) {
  CtaState* const cta = c.cta(*use.signalled);
  if (!cta) return;
  MbarrierState& m = cta->mbarrier(c.components, use.signal);
  if (!m.live && op.threads) {
    Record use;
    use.who = op.who;
    use.cluster = c.number;
    use.component = op.threads->program->whole;
    use.epoch = op.now;
    use.lane_components = op.threads->program;
    use.map.lanes = op.lanes;
    m.used_early(use);
  }
  if (!m.init) return;
  const Actor by{c.number, op.threads, op.lanes, op.now, op.copies, &op.sees};
  const auto seen = [&](View view) { return !not_seen(*m.init, m.init->map.lanes, by, op.lanes, view); };
  if (seen(async_shared) || seen(initialised)) return;
  if (!seen(happened)) {
    tell_unpublished(*m.init, op.who, *use.signalled, use.signal, Unpublished::to_thread);
    m.init = nullptr;                              // once
  } else if (!std::exchange(m.copy_told, true)) {  // threads that use it need still see it
    tell_unpublished(*m.init, op.who, *use.signalled, use.signal, Unpublished::to_copy);
  }
}

void Races::on_complete(const AsyncOperation& o) { partitions_[o.partition()].operations.erase(o.id); }

}  // namespace tinygpu::races
