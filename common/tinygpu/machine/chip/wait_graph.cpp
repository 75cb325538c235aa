#include "common/tinygpu/machine/chip/wait_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "common/tinygpu/base/lane_ranges.h"
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu {
namespace {

using Kind = BlockReason::Kind;
using ActKind = MbarrierAct::Kind;

/// "all lanes wait", "lane 3 waits", "lanes 0 to 15 wait".
std::string who_does(uint32_t lanes, const char* verb) {
  if (lanes == ~0u) return fmt::format("all lanes {}", verb);
  if ((lanes & (lanes - 1)) == 0) return fmt::format("lane {} {}s", __builtin_ctz(lanes), verb);
  return fmt::format("lanes {} {}", lane_ranges(lanes), verb);
}

/// The mbarrier that the group waits for; null: there is none.
const MBarrier* mbarrier_of(const Group& g) {
  if (!g.reason.cta) return nullptr;
  const auto& all = g.reason.cta->mbarriers.all();
  const auto it = all.find(g.reason.address);
  return it == all.end() ? nullptr : &it->second;
}

/// Arrivals that the last phases had, of those who have arrived: of each in the last phase in which it did.
uint64_t usual_arrivals(const std::vector<MbarrierAct>& acts) {
  uint64_t sum = 0;
  for (const MbarrierAct& a : acts)
    if (a.kind == ActKind::arrive) sum += a.amount;
  return sum;
}

std::string wait_on_mbarrier(const Group& g) {
  const BlockReason& r = g.reason;
  if (!r.cta) return fmt::format("on the mbarrier at shared offset {:#x}", r.address);
  std::string what = "on " + mbarrier_name(*r.cta, r.address);
  const MBarrier* b = mbarrier_of(g);
  if (!b) return what + ", which is not initialised";
  what += fmt::format(" for parity {}: it is in phase {} (parity {}), {} of {} arrivals missing, {} bytes outstanding",
                      r.id, b->phase, b->phase & 1, b->pending, b->expected, b->tx);
  if (b->phase > 0 && b->pending == b->expected && b->tx == 0)
    what += fmt::format("; phase {} has ended, and a wait for it has parity {}", b->phase - 1, (b->phase - 1) & 1);
  return what;
}

/// What the lanes of `g` wait for.
std::string describe(const Warp& w, const Group& g, uint32_t lanes) {
  const BlockReason& r = g.reason;
  const std::string wait = who_does(lanes, "wait") + " ";
  switch (r.kind) {
    case Kind::mbarrier: return wait + wait_on_mbarrier(g);
    case Kind::cta_barrier:
      return wait + fmt::format("at barrier {}: {} of {} threads have arrived", r.id,
                                w.cta().barriers[r.id & 15].arrived, w.cta().barriers[r.id & 15].expected);
    case Kind::cluster_barrier:
      return wait + fmt::format("at the cluster barrier: {} of {} threads have arrived", w.cluster().barrier_arrived,
                                w.cluster().live_threads());
    case Kind::converge:
    case Kind::warp_barrier:
      return wait + fmt::format("for lanes {} of the warp (member mask {:#010x})",
                                lane_ranges(r.id & w.live() & ~lanes), r.id);
    case Kind::tmem_alloc: return wait + "for free Tensor Memory columns";
    default: return wait + fmt::format("for {}", r.what);
  }
}

bool same_wait(const Group& a, const Group& b) {
  return a.blocked_at == b.blocked_at && a.reason.kind == b.reason.kind && a.reason.cta == b.reason.cta &&
         a.reason.address == b.reason.address && a.reason.id == b.reason.id;
}

/// "warp 1", "warp 1 of CTA (1,0,0)".
std::string name_of(const Warp& w, const Warp& from) {
  const Dim3& c = w.cta().key.id;
  return fmt::format("warp {}", w.index()) +
         (&w.cta() == &from.cta() ? "" : fmt::format(" of CTA ({},{},{})", c.x, c.y, c.z));
}

}  // namespace

const Op& WaitGraph::Wait::op() const {
  // Who looks again stands at the instruction; who does not has its place behind it.
  if (blocked && group->blocked_at) return *group->blocked_at;
  const auto& ops = group->function->ops;
  return ops[std::min<uint32_t>(group->pc, uint32_t(ops.size()) - 1)];
}

WaitGraph::WaitGraph(const std::vector<const Launch*>& launches) : launches_(launches.size()) {
  for (const Launch* launch : launches)
    for (const auto& partition : launch->partitions()) add(*launch, *partition);
  for (size_t k = 0; k < waits_.size(); ++k) of_cluster_[&waits_[k].warp->cluster()].push_back(k);
  for (Wait& w : waits_)
    if (w.blocked) find_edges(w);
  find_depths();
}

void WaitGraph::add(const Launch& launch, const SmPartition& partition) {
  for (const Warp* w : partition.warps()) {
    if (w->done()) continue;
    const size_t first = waits_.size();
    for (const Group& g : w->groups()) {
      // Who sleeps for no time looks again as soon as the others are where it is: it spins.
      const bool blocked =
          g.state == Group::State::blocked && !(g.reason.kind == Kind::sleep && g.timeout <= w->time());
      const auto same = std::find_if(waits_.begin() + long(first), waits_.end(),
                                     [&](const Wait& o) { return o.blocked && blocked && same_wait(*o.group, g); });
      if (same != waits_.end()) {
        same->lanes |= g.mask;
        continue;
      }
      Wait& wait = waits_.emplace_back(Wait{&launch, w, &g, blocked, g.mask, {}, {}});
      if (!blocked || g.reason.kind != Kind::mbarrier || !g.reason.cta) continue;
      wait.acts = acts_on(launch, *g.reason.cta, g.reason.address);
    }
  }
}

void WaitGraph::find_mbarrier_edges(Wait& wait) const {
  const MBarrier* b = mbarrier_of(*wait.group);
  if (!b) return;
  // Those who have not yet done in this phase what they did in the ones before.
  for (const MbarrierAct& a : wait.acts) {
    const bool missing = a.kind == ActKind::arrive ? b->pending != 0 : b->pending == 0 && b->tx > 0;
    if (!missing || a.phase == b->phase || a.kind == ActKind::expect_tx || a.kind == ActKind::pass) continue;
    for (const size_t k : of_cluster_.at(&wait.warp->cluster())) {
      const Wait& o = waits_[k];
      const bool lane = a.who.lane < 0 || (o.lanes >> a.who.lane & 1);
      if (int(o.warp->index()) == a.who.warp && lane && o.warp->cta().key == a.who.cta) wait.on.push_back(k);
    }
  }
}

void WaitGraph::find_edges(Wait& wait) const {
  const BlockReason& r = wait.group->reason;
  const auto all = [&](auto&& wanted) {
    for (const size_t k : of_cluster_.at(&wait.warp->cluster()))
      if (&waits_[k] != &wait && wanted(waits_[k])) wait.on.push_back(k);
  };
  switch (r.kind) {
    case Kind::mbarrier: find_mbarrier_edges(wait); break;
    case Kind::cta_barrier:
      all([&](const Wait& o) {
        return &o.warp->cta() == &wait.warp->cta() &&
               !(o.blocked && o.group->reason.kind == Kind::cta_barrier && o.group->reason.id == r.id);
      });
      break;
    case Kind::cluster_barrier:
      all([&](const Wait& o) { return !(o.blocked && o.group->reason.kind == Kind::cluster_barrier); });
      break;
    case Kind::converge:
    case Kind::warp_barrier: all([&](const Wait& o) { return o.warp == wait.warp && (o.lanes & r.id); }); break;
    default: break;
  }
}

/// A root is a wait from which every way leads back to it: others end when it does. Depths count from the nearest.
void WaitGraph::find_depths() {
  const size_t n = waits_.size();
  std::vector<std::vector<size_t>> ended_by(n);  // those that wait on it
  for (size_t k = 0; k < n; ++k)
    for (const size_t on : waits_[k].on) ended_by[on].push_back(k);
  constexpr uint32_t kFar = ~0u;
  std::vector<size_t> nearest;
  const auto reach = [&](size_t from, auto&& next) {
    std::vector<bool> seen(n);
    std::vector<size_t> open{from};
    seen[from] = true;
    while (!open.empty()) {
      const size_t k = open.back();
      open.pop_back();
      for (const size_t o : next(k))
        if (!seen[o]) {
          seen[o] = true;
          open.push_back(o);
        }
    }
    return seen;
  };
  for (Wait& w : waits_) w.depth = kFar;
  // Large grids have many equal waits: only those that could be shown are asked for circles.
  constexpr size_t kMostAsked = 512;
  for (size_t k = 0; k < n; ++k) {
    bool is_root = waits_[k].on.empty();
    if (!is_root && n <= kMostAsked) {
      const std::vector<bool> forth = reach(
          k, [&](size_t i) -> const auto& { return waits_[i].on; });
      const std::vector<bool> back = reach(
          k, [&](size_t i) -> const auto& { return ended_by[i]; });
      is_root = true;
      for (size_t i = 0; i < n; ++i) is_root &= !forth[i] || back[i];
    }
    if (!is_root) continue;
    waits_[k].depth = 0;
    nearest.push_back(k);
  }
  for (size_t i = 0; i < nearest.size(); ++i)
    for (const size_t k : ended_by[nearest[i]])
      if (waits_[k].depth == kFar) {
        waits_[k].depth = waits_[nearest[i]].depth + 1;
        nearest.push_back(k);
      }
}

/// Of several roots one that says most: what an instruction spins at, or a warp that waits for its own lanes, mostly
/// comes of the others.
const WaitGraph::Wait* WaitGraph::root() const {
  const Wait* best = nullptr;
  const auto rank = [](const Wait& w) {
    if (!w.blocked) return 5;
    switch (w.group->reason.kind) {
      case Kind::mbarrier: return w.acts.empty() ? 1 : 0;
      case Kind::converge:
      case Kind::warp_barrier: return 1;
      case Kind::cta_barrier: return w.group->reason.id ? 2 : 3;
      case Kind::cluster_barrier: return 4;  // mostly that at the end
      default: return 2;
    }
  };
  for (const Wait& w : waits_)
    if (!best || std::tuple(w.depth, rank(w)) < std::tuple(best->depth, rank(*best))) best = &w;
  return best;
}

std::string WaitGraph::label(const Wait& wait) const {
  std::string text = wait.blocked ? describe(*wait.warp, *wait.group, wait.lanes) : who_does(wait.lanes, "spin");
  if (wait.on.empty()) return text;
  std::set<std::string> names;
  for (const size_t k : wait.on)
    if (waits_[k].warp != wait.warp) names.insert(name_of(*waits_[k].warp, *wait.warp));
  if (names.empty()) return text;
  return text + fmt::format("; {}{} could end that", *names.begin(),
                            names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : "");
}

std::vector<LabelledPlace> WaitGraph::places(size_t most) const {
  struct Same {
    const Wait* first;
    std::string label;
    std::set<const Cta*> ctas;
    uint64_t warps = 0;
  };
  const Wait* const root = this->root();
  // The same wait of many warps: once, with a count.
  std::map<std::tuple<std::string, int, std::string>, Same> known;
  for (const Wait& w : waits_) {
    const Where at = w.warp->where_of(w.op(), *w.group->function);
    std::string text = label(w);
    Same& same = known[{launches_ > 1 ? at.kernel : "", at.ptx_line, text}];
    const auto before = [&](const Wait& a, const Wait& b) {
      return std::tuple(&a != root, a.depth) < std::tuple(&b != root, b.depth);
    };
    if (!same.warps++ || before(w, *same.first)) same.first = &w;
    same.label = std::move(text);
    same.ctas.insert(&w.warp->cta());
  }
  std::vector<const Same*> order;
  for (const auto& [key, same] : known) order.push_back(&same);
  std::ranges::sort(order, {}, [&](const Same* s) {
    const Wait& w = *s->first;
    return std::tuple(&w != root, w.depth, w.warp->index(), w.group->pc, s->label);
  });
  std::vector<LabelledPlace> out;
  for (const Same* s : order) {
    if (out.size() == most) break;
    const Wait& w = *s->first;
    LabelledPlace& p = out.emplace_back(LabelledPlace{w.warp->where_of(w.op(), *w.group->function), s->label});
    const uint64_t others = s->warps - 1, ctas = s->ctas.size();
    if (!others) continue;
    if (ctas == s->warps)
      p.label += fmt::format("  [and in {} more CTAs]", others);
    else
      p.label += fmt::format("  [and {} more warp{}{}]", others, others == 1 ? "" : "s",
                             ctas > 1 ? fmt::format(", in {} CTAs", ctas) : "");
  }
  if (order.size() > most) out.back().label += fmt::format("; {} more waits are not shown", order.size() - most);
  return out;
}

WaitGraph::Seen WaitGraph::seen_by(const Wait& wait) {
  Seen seen;
  for (const MbarrierAct& a : wait.acts)
    if (a.kind == ActKind::pass && a.who.warp == int(wait.warp->index()) && a.who.cta == wait.warp->cta().key) {
      seen.next = std::max(seen.next, a.phase + 1);
      seen.phases += a.amount;
    }
  return seen;
}

void WaitGraph::explain_mbarrier(const Wait& wait, Diagnosis& d) const {
  const MBarrier* b = mbarrier_of(*wait.group);
  if (!b) return;
  const std::string name = mbarrier_name(*wait.group->reason.cta, wait.group->reason.address);
  const auto add = [&](auto&& wanted) {
    for (const MbarrierAct& a : wait.acts)
      if (wanted(a)) d.others.push_back(place_of(a));
  };
  if (b->pending == 0 && b->tx != 0) {
    uint64_t landed = 0;
    for (const MbarrierAct& a : wait.acts)
      if (a.kind == ActKind::complete_tx && a.phase == b->phase) landed += a.amount;
    d.message += fmt::format(". Phase {} of {} has all its arrivals; {} bytes have landed, and {} are expected",
                             b->phase, name, landed, int64_t(landed) + b->tx);
    d.help =
        "let expect_tx name exactly the bytes that land in the phase: for a tensor copy the whole box; if the copies "
        "of a CTA pair signal one mbarrier, the bytes of both CTAs; or find the copy that was not issued";
    return add([&](const MbarrierAct& a) { return a.kind != ActKind::arrive && a.phase == b->phase; });
  }
  const bool begun = b->pending != b->expected || b->tx;  // then something else is missing
  const Seen seen = seen_by(wait);
  if (!begun && seen.next < b->phase) {
    d.message +=
        fmt::format(". The wait is for phase {} of {}; its warp has never waited for phase {}, which has ended",
                    b->phase, name, seen.next);
    d.help = fmt::format(
        "wait for each phase in turn: a wait for phase {} has parity {}; flip the parity once after each wait, from "
        "the first wait on",
        seen.next, seen.next & 1);
    return add([&](const MbarrierAct& a) { return a.kind == ActKind::arrive || a.kind == ActKind::complete_tx; });
  }
  if (!begun && seen.phases && seen.phases < seen.next) {
    d.message += fmt::format(
        ". Of the {} phases of {} that have ended this warp has seen {}: it waited too late for the others, and a "
        "later phase has the parity that it waits for",
        b->phase, name, seen.phases);
    d.help =
        "begin the next phase only when all waiting warps have seen this one end: let all warps meet after the wait "
        "(bar.sync, bar.warp.sync) before one of them gives the stage back";
    return add([&](const MbarrierAct& a) { return a.kind == ActKind::arrive || a.kind == ActKind::complete_tx; });
  }
  const uint64_t usual = usual_arrivals(wait.acts);
  if (b->pending && !usual) {
    d.message += ". Nothing has ever arrived on " + name;
    d.help =
        "find the missing arrive or commit, or one on another mbarrier; or the wait comes first: a producer that waits "
        "for a free stage begins with parity 1";
    return;
  }
  if (b->pending && usual < b->expected) {
    d.message += fmt::format(". T{} expects {} arrivals a phase, and gets {}", name.substr(1), b->expected, usual);
    d.help = "initialise the mbarrier with the number of arrivals that a phase gets, or add the missing arrivals";
  } else if (b->pending) {
    d.help =
        "find the thread that should arrive in this phase: the threads that arrived earlier are named below; or the "
        "wait is for a phase too many, or has the wrong parity";
  }
  add([&](const MbarrierAct& a) { return a.kind == ActKind::arrive; });
}

void WaitGraph::explain(Diagnosis& d) const {
  const Wait* const w = root();
  d.help =
      "find the cause: a missing arrive or commit, a byte count that differs from the bytes that land, or a wrong "
      "parity";
  if (!w || !w->blocked) return;
  if (w->group->reason.kind == Kind::mbarrier) return explain_mbarrier(*w, d);
  if (w->group->reason.kind != Kind::converge) return;
  const std::string at(w->group->function->instruction(w->op()).name());
  d.help = "let all lanes of the warp come to " + at + " together: some of them have branched off, or have exited";
  d.rule =
      "All threads of the warp execute a .sync.aligned instruction together; it may stand in a condition only if all "
      "of them decide alike. Other .sync instructions wait for the lanes that they name.";
  d.section = "9.7.13.1 bar, barrier";
}

}  // namespace tinygpu
