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

}  // namespace tinygpu::races
