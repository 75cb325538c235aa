#include <algorithm>
#include <bit>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"
#include "common/tinygpu/program/sass/sass_code.h"

namespace tinygpu {
namespace {

// What "merely spins" means under the late order: so many failed waits or strong loads with nothing else happening, or
// so many cycles since an effect was due and since the last one landed (a spin on a clock or on a counter of one's
// own).
constexpr uint64_t kPatientPolls = 1000;
constexpr uint64_t kPatience = 1'000'000;
// Out of timed order a warp's turn ends after so many cycles, so that effects of its own have a chance to land.
constexpr uint64_t kTurn = 4096;

/// How long an SM's first bulk copy waits for the constants on the way to it, with all SMs of the grid at that.
uint64_t constants_before_copy(const Launch& launch) {
  const LaunchConfig& c = launch.config;
  const MachineSpec& spec = launch.gpu.spec;
  // The first line of the parameters and the one before are part of every launch.
  constexpr uint32_t kAlways = 2;
  const uint32_t lines = c.kernel->sass ? c.kernel->sass->lines_before_copy : 0;
  if (lines <= kAlways) return 0;
  const double others = double(std::min(c.grid.count(), uint64_t(spec.sms)) - 1);
  return uint64_t((lines - kAlways) * (spec.number("launch.constants") + spec.number("launch.constants.sm") * others));
}

}  // namespace

SmPartition::SmPartition(Launch& l, uint32_t i, std::vector<Sm*> on)
    : launch(l),
      index(i),
      sms(std::move(on)),
      parameters(sms.size(), l.cold_start().parameters),
      memory(*this, l.gpu.chip_memory, l.gpu.l2, l.gpu.timing, uint32_t(l.number)),
      share_(share_of(l.gpu.spec, *l.config.kernel, uint32_t(l.config.block.count()), l.config.dynamic_shared)),
      carveout_(carveout(l.fit())) {
  CompletionOrder order = l.options.order;
  order.seed ^= 0x9e3779b97f4a7c15ull * (i + 1);
  events.set_order(order);
}

const SmPartition::Room& SmPartition::room() const {
  uint64_t changes = 0;
  for (const Sm* sm : sms) changes += sm->room.changes();
  if (room_.changes == changes) return room_;
  room_ = {changes, 0, true};
  for (const Sm* sm : sms) room_.fits &= fits(*sm);
  if (!room_.fits) return room_;
  for (const Sm* sm : sms)
    room_.since =
        std::max(room_.since, sm->carveout && sm->carveout < carveout_ ? sm->room.since_all() : sm->room.since(share_));
  return room_;
}

/// Shared memory is not taken from L1 while CTAs are there: a grid that would be given more, for as many CTAs as fit,
/// waits for an empty SM, though a single one has room (an H200, 2026-11-23: 100 KiB beside CTAs without shared memory,
/// and 128 threads, of which 16 fit, beside a CTA that fits once). One that would be given less joins.
bool SmPartition::fits(const Sm& sm) const {
  if (!sm.room.fits(share_)) return false;
  const uint32_t used = launch.gpu.spec.shared_per_sm - sm.room.free_shared();
  return sm.resident.empty() || (carveout_ <= sm.carveout && uint64_t(used) + share_[2] <= sm.carveout);
}

void SmPartition::start_cluster(Dim3 id, uint64_t linear, uint64_t handed) {
  const LaunchConfig& c = launch.config;
  const LaunchTiming& timing = launch.gpu.timing.launch;
  uint64_t when = handed + timing.cta;
  if (const uint64_t since = room_since()) when = std::max(when, since + timing.cta_refill);
  for (const Sm* sm : sms) when = std::max(when, sm->next_start);
  for (size_t k = 0; k < sms.size(); ++k) {
    Sm& sm = *sms[k];
    sm.next_start = when + uint64_t(timing.sm_interval + timing.sm_warp * double((c.block.count() + 31) / 32));
    sm.room.take(share_);
    // A grid finds an SM cold, unless another one is there: then it shares what that one has (not measured).
    if (sm.resident.empty() && sm.set_up_for != launch.number) {
      sm.set_up_for = launch.number;
      sm.carveout = carveout_;
      sm.l1.resize(l1_bytes(launch.gpu.timing.memory.l1_bytes, launch.fit()));
      sm.translation = launch.cold_start().translation;
      sm.first_copy = ColdMiss(timing.first_copy);
      sm.copy_constants = ColdMiss(constants_before_copy(launch));
    }
  }
  auto cluster = std::make_unique<Cluster>(*this);
  cluster->id = id;
  cluster->linear = linear;
  cluster->shape = c.cluster;
  const uint32_t size = uint32_t(c.cluster.count());
  cluster->live_ctas = size;
  const uint32_t threads = uint32_t(c.block.count());
  for (uint32_t rank = 0; rank < size; ++rank) {
    const Dim3 cta{id.x * c.cluster.x + rank % c.cluster.x, id.y * c.cluster.y + rank / c.cluster.x % c.cluster.y,
                   id.z * c.cluster.z + rank / c.cluster.x / c.cluster.y};
    Sm& sm = *sms[rank];
    auto block = std::make_unique<Cta>(*cluster, sm, rank, CtaKey{launch.number, cta});
    // Uninitialised shared memory holds NaN patterns: a read before a write shows.
    block->shared.assign(kSharedBase + c.kernel->static_shared + c.dynamic_shared, 0xFF);
    block->start_time = when;
    block->live_threads = threads;
    sm.resident.push_back(block.get());
    cluster->ctas.push_back(std::move(block));
  }
  // Warps read cluster-wide special registers when they start, so all CTAs exist first.
  for (auto& block : cluster->ctas) {
    const uint32_t first = block->sm.place_cta((threads + 31) / 32);
    for (uint32_t w = 0; w * 32 < threads; ++w) {
      const uint32_t lanes = std::min(32u, threads - w * 32), sub_partition = (first + w) % 4;
      auto warp = std::make_unique<Warp>(*block, w, lanes == 32 ? ~0u : (1u << lanes) - 1, sub_partition);
      warp->watch(watching);
      warp->advance_to(when);
      warp->set_entry(*c.kernel);
      block->live_warps++;
      warp->take_place(uint32_t(warps_.size()));
      warps_.push_back(warp.get());
      ready_.add(warp->ready_time());
      block->warps.push_back(std::move(warp));
    }
  }
  clusters.push_back(std::move(cluster));
  for (const auto& block : clusters.back()->ctas)
    launch.observers.all([&](Observer& o) { o.on_cta(*block, true, when); });
  made_progress();
}

uint64_t SmPartition::next_time() const {
  uint64_t t = ready_.time();
  // Out of timed order an effect may be long overdue; its time says nothing about when it lands.
  const bool timed = events.order().mode == CompletionOrder::Mode::timed;
  return std::min(t, timed || !runnable_now() ? events.next_time() : events.next_timed());
}

void SmPartition::advance(uint64_t until) {
  const bool timed = events.order().mode == CompletionOrder::Mode::timed;
  const bool late = events.order().mode == CompletionOrder::Mode::late;
  const uint64_t ahead = launch.options.run_ahead;
  try {
    while (true) {
      const uint64_t first = ready_.time(), second = ready_.next_time();
      Warp* const best = first == TournamentTree::kNever ? nullptr : warps_[ready_.place()];
      const uint64_t next_timed = events.next_timed();
      const bool on_time = next_timed != ~0ull && next_timed <= first;
      const uint64_t event = on_time ? next_timed : events.next_held();
      // Timed: whatever is earliest. Late: an effect lands only when nothing else can move, or when what moves merely
      // spins: no chip holds an effect back for ever. Seeded: effects land at random moments between warps' turns (the
      // event's own channel order decides which).
      bool run_event = event != ~0ull;
      const bool spinning = polls > kPatientPolls || (best && first > std::max(event, landed_) + kPatience);
      if (late && !on_time) run_event = run_event && deferred_warps_.empty() && (!runnable_now() || spinning);
      if (events.full()) {
        // As if the engines' queues were full: who runs waits until the next effect has landed.
        if (!run_event && next_timed != ~0ull) {
          best->hold_until(next_timed);
          continue;
        }
        run_event = true;
      } else if (!timed && !late)
        run_event = run_event && (!runnable_now() || (++turns_ * 0x9e3779b97f4a7c15ull >> 62) == 0);
      if (run_event) {
        if (on_time && event >= until) break;
        now = std::max(now, event);
        last_time_ = std::max(last_time_, event);
        if (on_time)
          events.run_timed();
        else
          events.run_held();
        landed_ = std::max(now, best ? first : 0);
        made_progress();
        continue;
      }
      if (!best || first >= until) break;
      uint64_t deadline = second == ~0ull ? until : std::min(until, second + ahead);
      if (next_timed != ~0ull) deadline = std::min(deadline, std::max(next_timed, first + 1));
      if (!timed) deadline = std::min(deadline, first + kTurn);
      now = first;
      best->run(std::max(deadline, first + 1));
      last_time_ = std::max(last_time_, best->time());
    }
  } catch (...) {
    fault_ = {std::current_exception(), now};
  }
}

void SmPartition::advance_alone(uint64_t until) {
  set_serial(true);
  advance(until);
  set_serial(false);
}

std::vector<SmPartition::Deferred> SmPartition::take_deferred() {
  std::vector<Deferred> all = std::move(deferred_effects_);
  deferred_effects_.clear();
  for (Warp* w : deferred_warps_) all.push_back({w->time(), w, {}});
  deferred_warps_.clear();
  return all;
}

void SmPartition::run_deferred(Deferred& what) {
  set_serial(true);
  now = what.time;
  try {
    if (what.warp) {
      if (const Op* op = what.warp->run_serial()) strong_access(*op);
    } else {
      what.effect(what.time);
      made_progress();
    }
  } catch (...) {
    fault_ = {std::current_exception(), what.time};
  }
  if (what.warp)
    for (const Group& g : what.warp->groups())
      if (g.waits_for_serial()) deferred_warps_.push_back(what.warp);
  set_serial(false);
}

bool SmPartition::runnable_now() const {
  for (const Warp* w : warps_)
    for (const Group& g : w->groups())
      if (w->live() && g.state == Group::State::runnable) return true;
  return false;
}

void SmPartition::on_exit(Warp& w, uint32_t lanes) {
  Cta& cta = w.cta();
  cta.live_threads -= uint32_t(std::popcount(lanes));
  if (w.live() == 0) cta.live_warps--;
  made_progress();
  if (cta.live_threads == 0) {
    cta.exited = true;
    cta.end_time = w.time();
    dependents_launched_ = std::max(dependents_launched_, std::min(cta.dependents_launched, w.time()));
    cta.cluster.live_ctas--;
    launch.observers.all([&](Observer& o) { o.on_cta(cta, false, w.time()); });
    cta.sm.extensions.each([&](Extension& e) { e.on_cta_exit(cta); });
  } else {
    for (uint32_t id = 0; id < 16; ++id) cta.barrier_check(id, w.time());
  }
  if (cta.cluster.live_ctas)
    cta.cluster.barrier_check(w.time());
  else {
    retire_ = true;
    cta.cluster.end_time = w.time();
  }
}

uint64_t SmPartition::dependents_launched() const {
  uint64_t when = dependents_launched_;
  for (const auto& cluster : clusters)
    for (const auto& cta : cluster->ctas)
      if (!cta->exited) when = std::max(when, cta->dependents_launched);
  return when;
}

void SmPartition::primary_over(uint64_t time) {
  for (Warp* w : warps_)
    w->wake(time, [](const Group& g) { return g.reason.kind == BlockReason::Kind::grid_dependency; });
}

bool SmPartition::retire_clusters() {
  if (!retire_) return false;
  retire_ = false;
  for (auto it = clusters.begin(); it != clusters.end();) {
    Cluster& c = **it;
    if (c.live_ctas) {
      ++it;
      continue;
    }
    for (Sm* sm : sms) sm->room.give(share_, c.end_time);
    for (auto& cta : c.ctas) {
      std::erase(cta->sm.resident, cta.get());
      for (auto& w : cta->warps) {
        instructions_ += w->instructions();
        std::erase(warps_, w.get());
        w->take_place(Warp::kNoPlace);
      }
    }
    // Effects in flight may still name the cluster's memory; they are harmless to others but must find it alive.
    if (events.empty())
      it = clusters.erase(it);
    else {
      retired_.push_back(std::move(*it));
      it = clusters.erase(it);
    }
  }
  ready_.assign(warps_.size(), [&](size_t i) {
    warps_[i]->take_place(uint32_t(i));
    return warps_[i]->ready_time();
  });
  if (events.empty()) retired_.clear();
  return true;
}

}  // namespace tinygpu
