// The edges of happens-before that threads and mbarriers make (PTX ISA 8.9, 9.7.13).
#include <algorithm>

#include "common/tinygpu/check/races/races.h"
#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::races {

void Races::on_sync(const Sync& s) {
  using Kind = Sync::Kind;
  PartitionState& d = of(s.cta->cluster.partition);
  const std::shared_ptr<ClusterState> c = d.find(s.cta->cluster);
  if (!c) return;
  switch (s.kind) {
    case Kind::init:
    case Kind::inval:
    case Kind::arrive:
    case Kind::complete_tx:
    case Kind::phase:
    case Kind::passed:
    case Kind::sent: return on_mbarrier(d, *c, s);
    case Kind::cluster_arrive:
    case Kind::cluster_wait:
    case Kind::cluster: return cluster_barrier(*c, s);
    case Kind::barrier: {
      CtaState* cta = c->cta(*s.cta);
      if (!cta) return;
      Round round = std::exchange(cta->rounds[s.offset], {});
      for (const auto& [threads, lanes] : round.waits) threads->acquire(lanes, round.gathered);
      return;
    }
    default: break;
  }
  Threads* t = s.who ? c->threads(*s.who) : nullptr;
  if (!t) return;
  switch (s.kind) {
    case Kind::barrier_arrive: {
      Round& round = c->cta(*s.cta)->rounds[s.offset];
      round.gathered.join(t->release(s.who->lanes));
      if (s.value) round.waits.emplace_back(t, uint32_t(s.value));
      break;
    }
    case Kind::warp_sync: t->met(s.who->lanes); break;
    case Kind::fence:
    case Kind::proxy_fence:
    case Kind::tcgen05_fence: on_fence(d, *c, *t, s); break;
    case Kind::wait_group:
    case Kind::commit_group: on_group(d, *c, *t, s); break;
    case Kind::grid_dependency: grid_dependency(*t, s); break;
    case Kind::acquire:
      if (follow_ == Follow::first_cluster)
        for (const auto& cta : c->ctas)
          for (Threads& other : cta->warps) t->acquire(s.who->lanes, other.release(~0u));
      break;
    default: break;
  }
}

void Races::grid_dependency(Threads& t, const Sync& s) {
  const uint32_t lanes = s.who->lanes;
  if (!s.value) return t.learn(lanes, {{PrimaryGrid::kOver, 1}});
  self_->launches_dependents();
  if (before_primary_ends(t.row_of(s.who->lane).sees.of[happened]))
    s.who->report(
        Severity::note, "race-check-incomplete",
        "not checked: races between the grid after this one and the grid before it. Both may run at once, as "
        "launch_dependents stands before griddepcontrol.wait here",
        "put griddepcontrol.wait before griddepcontrol.launch_dependents, if the grid after this one touches memory "
        "that the grid before it touches");
}

void Races::on_fence(PartitionState& d, ClusterState& c, Threads& t, const Sync& s) {
  const uint32_t lanes = s.who->lanes;
  const Facts& facts = d.facts.of(*s.who);
  if (s.kind == Sync::Kind::tcgen05_fence) return s.value ? t.tensor_after(lanes) : t.tensor_before(lanes);
  if (s.kind == Sync::Kind::proxy_fence)
    return t.async_fence(lanes, s.value & Sync::kSharedMemory, s.value & Sync::kGlobalMemory);
  if (facts.mbarrier_init) return t.init_fence(lanes);
  if (facts.wgmma_fence) {
    t.wgmma_fenced = true;
    t.met_at_instruction();
    return;
  }
  if (!facts.sequential || facts.order.scope < ptx::Scope::gpu) return t.fence(lanes, facts.order, nullptr);
  // All fence.sc are in one order: that of the run.
  std::lock_guard lock(sequential_mutex_);
  Sight order = sequential_.imported(c.number);
  t.fence(lanes, facts.order, &order);
  sequential_.join(order.exported(c.number));
}

void Races::on_group(PartitionState& d, ClusterState& c, Threads& t, const Sync& s) {
  using Waits = Facts::Waits;
  using Channel = Threads::Channel;
  const uint32_t lanes = s.who->lanes;
  const Waits waits = d.facts.of(*s.who).waits;
  Views done;
  if (waits == Waits::wgmma || waits == Waits::tmem_load || waits == Waits::tmem_store) done = t.met_at_instruction();
  if (s.kind == Sync::Kind::commit_group) {
    if (waits == Waits::wgmma)
      c.cta(s.who->cta)->warpgroups[t.index / 4].committed(t.index % 4, Epoch(s.value), std::move(done));
    if (waits == Waits::bulk) t.bulk_commit(lanes);
    if (waits == Waits::cp_async) {
      t.copy_groups.push_back({lanes, t.copies_issued});
      if (t.copy_groups.size() > 256) t.copy_groups.pop_front();
    }
    return;
  }
  switch (waits) {
    case Waits::none:  // an instruction that uses what tcgen05.ld brings
      return t.learn(lanes, {{t.channel(Channel::tmem_used, -1), Epoch(s.value)}});
    case Waits::cp_async: return t.copies_waited(lanes, s.value, false);
    case Waits::cp_async_all: return t.copies_waited(lanes, 0, true);
    case Waits::bulk: return t.bulk_waited(lanes, s.value, false);
    case Waits::bulk_read: return t.bulk_waited(lanes, s.value, true);
    case Waits::tmem_load:
      return t.learn(lanes, {{t.channel(Channel::tmem_load, -1), t.count(Channel::tmem_load, -1)}});
    case Waits::tmem_store:
      return t.learn(lanes, {{t.channel(Channel::tmem_store, -1), t.count(Channel::tmem_store, -1)}});
    case Waits::wgmma: {
      CtaState* cta = c.cta(s.who->cta);
      const auto it = cta->warpgroups.find(t.index / 4);
      if (it == cta->warpgroups.end() || !s.value) return;
      t.learn(lanes, {{it->second.component, Epoch(s.value)}});
      // An operation that is over has been issued by all four warps.
      for (uint32_t warp = 0; warp < 4; ++warp)
        if (const Views* others = it->second.done(warp, Epoch(s.value))) t.met_others(*others);
      return;
    }
    default: return;
  }
}

void Races::cluster_barrier(ClusterState& c, const Sync& s) {
  if (s.kind == Sync::Kind::cluster) {
    if (s.value + 1 == c.rounds) return;  // told of each CTA
    c.rounds = s.value + 1;
    c.complete = std::exchange(c.gathered, {});
    for (const auto& cta : c.ctas)
      for (Threads& t : cta->warps) {
        t.cluster_over |= std::exchange(t.cluster_arrived, 0);
        const uint32_t waits = std::exchange(t.cluster_waits, 0);
        t.cluster_over &= ~waits;
        if (waits) t.acquire(waits, c.complete);
      }
    return;
  }
  Threads* t = c.threads(*s.who);
  if (!t) return;
  const uint32_t lanes = s.who->lanes;
  if (s.kind == Sync::Kind::cluster_arrive) {
    const bool relaxed = s.order().semantics == ptx::Semantics::relaxed;
    Views done = t->release(lanes, relaxed);
    if (relaxed) done.of[by_cluster] = done.of[nearly];
    c.gathered.join(done);
    t->cluster_arrived |= lanes;
    return;
  }
  const uint32_t over = lanes & t->cluster_over;
  t->cluster_over &= ~over;
  if (over) t->acquire(over, c.complete);
  t->cluster_waits |= lanes & ~over & t->cluster_arrived;
}

}  // namespace tinygpu::races
