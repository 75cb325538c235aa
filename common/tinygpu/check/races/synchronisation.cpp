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
    case Kind::commit_group: on_wait(d, *c, *t, s); break;
    case Kind::grid_dependency: grid_dependency(*t, s); break;
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
        "not checked: what the grid behind this one and the grid before this one do at the same time. They may "
        "meet, as launch_dependents stands ahead of griddepcontrol.wait here",
        "griddepcontrol.wait before griddepcontrol.launch_dependents, if the grid behind touches what the grid "
        "before does");
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

void Races::on_wait(PartitionState& d, ClusterState& c, Threads& t, const Sync& s) {
  using Waits = Facts::Waits;
  using Channel = Threads::Channel;
  const uint32_t lanes = s.who->lanes;
  const Waits waits = d.facts.of(*s.who).waits;
  if (waits == Waits::wgmma || waits == Waits::tmem_load || waits == Waits::tmem_store) t.met_at_instruction();
  if (s.kind == Sync::Kind::commit_group) {
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
      if (it != cta->warpgroups.end() && s.value) t.learn(lanes, {{it->second.component, Epoch(s.value)}});
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
    c.gathered.join(t->release(lanes, s.order().semantics == ptx::Semantics::relaxed));
    t->cluster_arrived |= lanes;
    return;
  }
  const uint32_t over = lanes & t->cluster_over;
  t->cluster_over &= ~over;
  if (over) t->acquire(over, c.complete);
  t->cluster_waits |= lanes & ~over & t->cluster_arrived;
}

// ---- mbarriers

void Races::on_mbarrier(PartitionState& d, ClusterState& c, const Sync& s) {
  using Kind = Sync::Kind;
  CtaState* owner = c.cta(*s.cta);
  if (!owner) return;
  MbarrierState& m = owner->mbarrier(c.components, s.offset);
  Threads* t = s.who ? c.threads(*s.who) : nullptr;
  const auto check_init = [&] {
    if (!m.init || !t) return;
    const uint32_t users = s.who->lanes ? s.who->lanes : s.who->lane >= 0 ? 1u << s.who->lane : ~0u;
    const auto all_see = [&](View view) {
      return std::ranges::all_of(t->rows(), [&](const Row& row) {
        const uint32_t lanes = row.lanes & users, own = lanes & (lanes - 1) ? 0 : lanes;
        const Actor by{c.number, t, lanes, t->now(), 0, &row.sees};
        return !lanes || !not_seen(*m.init, m.init->map.lanes, by, own, happened) ||
               !not_seen(*m.init, m.init->map.lanes, by, own, view);
      });
    };
    if (all_see(initialised)) return;
    tell_unpublished(
        *m.init, *s.who, s.offset,
        all_see(nearly) || all_see(by_operation) || all_see(relied_on) ? Unpublished::relaxed : Unpublished::to_thread);
    m.init = nullptr;  // once
  };
  switch (s.kind) {
    case Kind::init: {
      m.live = true;
      m.waiters.clear();
      const std::vector<Record> early = std::exchange(m.early, {});
      m.own = m.others = m.own_complete = m.others_complete = {};
      m.landed = m.init_told = m.copy_told = false;
      m.remote.clear();
      if (!t) break;
      m.init = std::make_unique<Record>();
      m.init->who = *s.who;
      m.init->cluster = c.number;
      m.init->component = t->program->whole;
      m.init->epoch = t->now();
      m.init->lane_components = t->program;
      m.init->map.lanes = s.who->lanes;
      // Who has used it before, and nothing says that this comes behind.
      const Row& row = t->row_of(s.who->lane);
      const Actor by{c.number, t, s.who->lanes, t->now(), 0, &row.sees};
      for (const Record& use : early) {
        if (!not_seen(use, use.map.lanes, by, 0, happened)) continue;
        tell_unpublished(*m.init, use.who, s.offset, Unpublished::to_thread);
        m.init = nullptr;
        break;
      }
      break;
    }
    case Kind::inval:
      for (const MbarrierState::Waiter& w : std::exchange(m.waiters, {})) {
        if (!t) break;
        Record use;
        use.who = w.who;
        use.cluster = c.number;
        use.component = w.threads->program->whole;
        use.epoch = w.epoch;
        use.lane_components = w.threads->program;
        use.map.lanes = w.lanes & w.threads->live();
        const Actor by{c.number, t, s.who->lanes, t->now(), 0, &t->row_of(s.who->lane).sees};
        const uint32_t own = s.who->lanes & (s.who->lanes - 1) ? 0 : s.who->lanes;
        if (!use.map.lanes || !not_seen(use, use.map.lanes, by, own, happened) || !first("inval", s.who->op)) continue;
        tell_inval(use, *s.who, s.offset);
      }
      m.init = nullptr;
      m.live = false;
      break;
    case Kind::sent:
      if (t) {
        check_init();
        const bool relaxed = d.facts.of(*s.who).order.semantics == ptx::Semantics::relaxed;
        Record& last = m.remote[t];
        last.who = *s.who;
        last.cluster = c.number;
        last.component = t->program->whole;
        last.epoch = t->now();
        last.lane_components = t->program;
        last.map.lanes = s.who->lanes;
        last.operation = false;
        if (!m.live) m.used_early(last);
        c.sent[{t, s.cta, s.offset}].push_back(t->release(s.who->lanes, relaxed));
      }
      break;
    case Kind::arrive: {
      if (s.who->operation) {
        const auto o = d.operations.find(s.who->operation);
        if (o == d.operations.end()) break;
        const Operation& op = o->second;
        if (op.kind == AsyncOperation::Kind::commit && m.init && !m.init_told && op.threads) {
          const Actor by{c.number, op.threads, op.lanes, op.now, op.copies, &op.sees};
          m.init_told = not_seen(*m.init, m.init->map.lanes, by, op.lanes, async_shared) &&
                        not_seen(*m.init, m.init->map.lanes, by, op.lanes, initialised);
          if (m.init_told) tell_unpublished(*m.init, op.who, s.offset, Unpublished::to_commit);
        }
        if (const CtaState* from = c.cta(op.who.cta); from != owner && !op.steps.empty()) {
          Record& last = m.remote[op.threads];
          last.who = op.who;
          last.cluster = c.number;
          last.component = op.steps[0].first;
          last.epoch = op.steps[0].second;
          last.lane_components = nullptr;
          last.operation = true;
        }
        Views over = op.released;
        // A commit speaks for MMAs, not for what their thread knew when it issued them: that is not promised.
        if (op.kind == AsyncOperation::Kind::commit) {
          for (const View v : {happened, nearly, by_operation}) over.of[by_operation].join(op.sees.of[v]);
        }
        over.of[happened].here = advanced({}, op.steps);
        m.own.join(over);
        break;
      }
      if (!t) break;
      const ptx::MemoryOrder& order = d.facts.of(*s.who).order;
      if (&t->cta == s.cta) {
        check_init();
        m.own.join(t->release(s.who->lanes, order.semantics == ptx::Semantics::relaxed));
        break;
      }
      auto& queue = c.sent[{t, s.cta, s.offset}];
      if (queue.empty()) break;
      Views views = std::move(queue.front());
      queue.pop_front();
      if (order.scope < ptx::Scope::cluster) {  // does not reach another CTA
        if (d.facts.of(*s.who).default_scope) {
          views.of[relied_on].join(views.of[happened]);
        } else {
          views.of[nearly].join(views.of[happened]);
          for (const View v : {async_shared, async_global}) views.of[v] = {};
        }
        views.of[happened] = {};
      }
      m.others.join(views);
      break;
    }
    case Kind::complete_tx: m.landed |= s.who && s.who->operation; break;
    case Kind::phase:
      ++m.ended;
      if (m.landed) m.own.of[happened].here = advanced(m.own.of[happened].here, {{m.component, m.ended}});
      m.landed = false;
      // Whoever has seen this phase has seen those before.
      m.own_complete.join(std::exchange(m.own, {}));
      m.others_complete.join(std::exchange(m.others, {}));
      break;
    case Kind::passed: {
      if (!t) break;
      check_init();
      m.waited(*t, *s.who);
      if (s.value == ~0ull) break;  // a fresh object: the phase before its first
      const ptx::MemoryOrder& order = d.facts.of(*s.who).order;
      const bool relaxed = !order.acquires();
      t->acquire(s.who->lanes, m.own_complete, relaxed ? Strength::relaxed : Strength::full);
      t->acquire(s.who->lanes, m.others_complete,
                 relaxed                              ? Strength::relaxed
                 : order.scope >= ptx::Scope::cluster ? Strength::full
                 : d.facts.of(*s.who).default_scope   ? Strength::unnamed
                                                      : Strength::narrow);
      break;
    }
    default: break;
  }
}

}  // namespace tinygpu::races
