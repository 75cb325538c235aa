// What operations on mbarriers order (PTX ISA 9.7.13.15).
#include <algorithm>
#include <utility>

#include "common/tinygpu/check/races/races.h"

namespace tinygpu::races {
namespace {

/// One operation on an mbarrier.
struct Event {
  PartitionState& d;
  ClusterState& c;
  const Sync& s;
  CtaState& owner;
  MbarrierState& m;
  Threads* t;  // that make it; null: none, or they are gone

  const Facts& facts() const { return d.facts.of(*s.who); }
  /// What the threads of one lane, or of several, know.
  Actor actor(const Row& row) const { return {c.number, t, s.who->lanes, t->now(), 0, &row.sees}; }
};

Record record_of(const Event& e, const Origin& who, const Threads& threads, Epoch epoch, uint32_t lanes) {
  Record r;
  r.who = who;
  r.cluster = e.c.number;
  r.component = threads.program->whole;
  r.epoch = epoch;
  r.lane_components = threads.program;
  r.map.lanes = lanes;
  return r;
}

/// Threads use an mbarrier: they must know of its initialisation.
void check_init(const Event& e) {
  MbarrierState& m = e.m;
  if (!m.init || !e.t) return;
  const Origin& who = *e.s.who;
  const uint32_t users = who.lanes ? who.lanes : who.lane >= 0 ? 1u << who.lane : ~0u;
  const auto all_see = [&](View view) {
    return std::ranges::all_of(e.t->rows(), [&](const Row& row) {
      const uint32_t lanes = row.lanes & users, own = lanes & (lanes - 1) ? 0 : lanes;
      const Actor by{e.c.number, e.t, lanes, e.t->now(), 0, &row.sees};
      return !lanes || !not_seen(*m.init, m.init->map.lanes, by, own, happened) ||
             !not_seen(*m.init, m.init->map.lanes, by, own, view);
    });
  };
  if (all_see(initialised)) return;
  const bool relaxed = all_see(nearly) || all_see(by_operation) || all_see(relied_on) || all_see(by_meeting);
  tell_unpublished(*m.init, who, *e.s.cta, e.s.offset, relaxed ? Unpublished::relaxed : Unpublished::to_thread);
  m.init = nullptr;  // once
}

/// An arrival comes behind what its thread knows, whoever promises that others may read it.
constexpr View kKnown[] = {happened, nearly, by_operation, caused, relied_on, by_meeting};

/// Of the waits for the last phase, some are known to be over. Lanes of a warp do not come late by a phase.
void cover(MbarrierState& m, const Actor& by) {
  for (MbarrierState::Pass& p : m.passes) {
    const uint32_t lanes = p.wait.map.lanes;
    p.covered |= std::ranges::any_of(kKnown, [&](View v) { return not_seen(p.wait, lanes, by, by.lanes, v) != lanes; });
  }
}

void arrived(const Event& e) {
  e.m.ender = *e.s.who;
  e.m.ended_at = e.s.time;
}

void initialise(const Event& e) {
  MbarrierState& m = e.m;
  m.live = true;
  m.passes.clear();
  m.phase = 0;
  m.waiters.clear();
  const std::vector<Record> early = std::exchange(m.early, {});
  m.own = m.others = m.own_complete = m.others_complete = {};
  m.landed = m.init_told = m.copy_told = false;
  m.remote.clear();
  if (!e.t) return;
  m.init = std::make_unique<Record>(record_of(e, *e.s.who, *e.t, e.t->now(), e.s.who->lanes));
  // Uses that came before, of which nothing says that this comes behind them.
  const Actor by = e.actor(e.t->row_of(e.s.who->lane));
  const auto unordered = [&](const Record& use) { return not_seen(use, use.map.lanes, by, 0, happened); };
  const auto use = std::ranges::find_if(early, unordered);
  if (use == early.end()) return;
  tell_unpublished(*m.init, use->who, *e.s.cta, e.s.offset, Unpublished::to_thread);
  m.init = nullptr;
}

/// `first(op)`: no earlier diagnosis of this kind names the instruction.
template <class First>
void invalidate(const Event& e, First&& first) {
  for (const MbarrierState::Waiter& w : std::exchange(e.m.waiters, {})) {
    if (!e.t) break;
    const Record use = record_of(e, w.who, *w.threads, w.epoch, w.lanes & w.threads->live());
    const uint32_t lanes = e.s.who->lanes, own = lanes & (lanes - 1) ? 0 : lanes;
    const Actor by = e.actor(e.t->row_of(e.s.who->lane));
    if (!use.map.lanes || !not_seen(use, use.map.lanes, by, own, happened) || !first(e.s.who->op)) continue;
    tell_inval(use, *e.s.who, *e.s.cta, e.s.offset);
  }
  e.m.init = nullptr;
  e.m.live = false;
  e.m.passes.clear();
}

/// An arrival leaves for another CTA.
void send(const Event& e) {
  check_init(e);
  const bool relaxed = e.facts().order.semantics == ptx::Semantics::relaxed;
  Record& last = e.m.remote[e.t];
  last = record_of(e, *e.s.who, *e.t, e.t->now(), e.s.who->lanes);
  if (!e.m.live) e.m.used_early(last);
  e.c.sent[{e.t, e.s.cta, e.s.offset}].push_back(e.t->release(e.s.who->lanes, relaxed));
}

void operation_arrives(const Event& e) {
  MbarrierState& m = e.m;
  const auto o = e.d.operations.find(e.s.who->operation);
  if (o == e.d.operations.end()) return;
  const Operation& op = o->second;
  arrived(e);
  cover(m, {e.c.number, op.threads, op.lanes, op.now, op.copies, &op.sees});
  const bool commit = op.kind == AsyncOperation::Kind::commit;
  if (commit && m.init && !m.init_told && op.threads) {
    const Actor by{e.c.number, op.threads, op.lanes, op.now, op.copies, &op.sees};
    m.init_told = not_seen(*m.init, m.init->map.lanes, by, op.lanes, async_shared) &&
                  not_seen(*m.init, m.init->map.lanes, by, op.lanes, initialised);
    if (m.init_told) tell_unpublished(*m.init, op.who, *e.s.cta, e.s.offset, Unpublished::to_commit);
  }
  if (e.c.cta(op.who.cta) != &e.owner && !op.steps.empty()) {
    Record& last = m.remote[op.threads];
    last.who = op.who;
    last.cluster = e.c.number;
    last.component = op.steps[0].first;
    last.epoch = op.steps[0].second;
    last.lane_components = nullptr;
    last.operation = true;
  }
  Views over = op.released;
  // A commit speaks for MMAs, not for what their thread knew when it issued them: that is not promised.
  if (commit)
    for (const View v : {happened, nearly, by_operation, relied_on, by_meeting})
      over.of[by_operation].join(op.sees.of[v]);
  if (commit) {
    over.of[caused].join(op.sees.of[caused]);
    over.of[caused].join(op.before);
  }
  over.of[happened].here = advanced({}, op.steps);
  m.own.join(over);
}

void threads_arrive(const Event& e) {
  const Facts& facts = e.facts();
  arrived(e);
  if (&e.t->cta == e.s.cta) {
    check_init(e);
    for (const Row& row : e.t->rows())
      if (const uint32_t lanes = row.lanes & e.s.who->lanes)
        cover(e.m, {e.c.number, e.t, lanes, e.t->now(), row.copies, &row.sees});
    e.m.own.join(e.t->release(e.s.who->lanes, facts.order.semantics == ptx::Semantics::relaxed));
    return;
  }
  auto& queue = e.c.sent[{e.t, e.s.cta, e.s.offset}];
  if (queue.empty()) return;
  Views views = std::move(queue.front());
  queue.pop_front();
  if (facts.order.scope < ptx::Scope::cluster) {  // does not reach another CTA
    if (facts.default_scope) {
      for (const View v : {relied_on, by_meeting}) views.of[v].join(views.of[happened]);
    } else {
      views.of[nearly].join(views.of[happened]);
      for (const View v : {async_shared, async_global}) views.of[v] = {};
    }
    views.of[happened] = {};
  }
  e.m.others.join(views);
}

/// The warps of a warpgroup that multiplies meet at each wgmma: one arrives for all of them.
bool spoken_for(const CtaState& owner, const MbarrierState& m, const MbarrierState::Pass& pass) {
  const uint32_t group = uint32_t(pass.wait.who.warp) / 4;
  return owner.warpgroups.contains(group) && std::ranges::any_of(m.passes, [&](const MbarrierState::Pass& other) {
           return other.covered && uint32_t(other.wait.who.warp) / 4 == group;
         });
}

/// `first(op)`: as above.
template <class First>
void end_phase(const Event& e, First&& first) {
  MbarrierState& m = e.m;
  for (const MbarrierState::Pass& p : m.passes)
    if (!p.covered && !spoken_for(e.owner, m, p) && first(p.wait.who.op))
      tell_late_wait(p.wait, m.phase - 1, *e.s.cta, e.s.offset,
                     {m.ender.where(m.ended_at), "this arrival may come first"});
  m.passes.clear();
  m.phase = e.s.value + 1;
  ++m.ended;
  if (m.landed) m.own.of[happened].here = advanced(m.own.of[happened].here, {{m.component, m.ended}});
  m.landed = false;
  // Threads that have seen this phase have seen those before.
  m.own_complete.join(std::exchange(m.own, {}));
  m.others_complete.join(std::exchange(m.others, {}));
}

/// The threads know what the arrivals of the last phase have released.
void acquire_phase(const Event& e) {
  const Facts& facts = e.facts();
  const uint32_t lanes = e.s.who->lanes;
  const bool relaxed = !facts.order.acquires();
  e.t->acquire(lanes, e.m.own_complete, relaxed ? Strength::relaxed : Strength::full);
  e.t->acquire(lanes, e.m.others_complete,
               relaxed                                    ? Strength::relaxed
               : facts.order.scope >= ptx::Scope::cluster ? Strength::full
               : facts.default_scope                      ? Strength::unnamed
                                                          : Strength::narrow);
}

/// A wait of threads has seen a phase end.
void pass(const Event& e) {
  check_init(e);
  e.m.waited(*e.t, *e.s.who);
  if (e.s.value == ~0ull) return;  // a fresh object: the phase before its first
  // In a cluster, what other CTAs load and store may lie between two phases: that is not followed.
  if (e.c.ctas.size() == 1) {
    e.m.passes.push_back({record_of(e, *e.s.who, *e.t, e.t->now(), e.s.who->lanes)});
    e.m.passes.back().wait.time = e.s.time;
  }
  acquire_phase(e);
}

}  // namespace

void Races::on_mbarrier(PartitionState& d, ClusterState& c, const Sync& s) {
  using Kind = Sync::Kind;
  CtaState* owner = c.cta(*s.cta);
  if (!owner) return;
  MbarrierState& m = owner->mbarrier(c.components, s.offset);
  const Event e{d, c, s, *owner, m, s.who ? c.threads(*s.who) : nullptr};
  switch (s.kind) {
    case Kind::init: return initialise(e);
    case Kind::inval: return invalidate(e, [&](const Op* op) { return first("inval", op); });
    case Kind::sent: return e.t ? send(e) : void();
    case Kind::arrive: return s.who->operation ? operation_arrives(e) : e.t ? threads_arrive(e) : void();
    case Kind::complete_tx: m.landed |= s.who && s.who->operation; return;
    case Kind::phase: return end_phase(e, [&](const Op* op) { return first("late wait", op); });
    case Kind::passed: return e.t ? pass(e) : void();
    default: return;
  }
}

}  // namespace tinygpu::races
