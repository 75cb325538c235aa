#include "common/tinygpu/machine/chip/stuck_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "common/tinygpu/machine/chip/flight.h"

namespace tinygpu {
namespace {

// Waits that only run into their time limits, this often in a row with nothing else left to happen: a deadlock.
constexpr uint64_t kStuckLimit = 200;
// Polls without any effect in between: worth a word, provided the poller does little else. By then a loop that cannot
// end has mostly been found to be one.
constexpr uint64_t kPollLimit = 4'000'000;
constexpr uint64_t kInstructionsPerPoll = 64;
// Endless loops are looked for after so many instructions, and again when there are a quarter more, but not sooner than
// after four times as many: a lesson on one ends soon, and a long kernel is not looked at all the time. First nothing
// may change for kSettle cycles, longer than any latency; then each warp is looked at in kSamples of its backward
// branches, or in more if a branch in kSpared instructions so far gives more.
constexpr uint64_t kWatchFirst = 250'000, kWatchEvery = 4 * kWatchFirst, kSettle = 50'000, kSamples = 16,
                   kSpared = 2048;

constexpr size_t kPlacesShown = 24;

/// "all lanes wait", "lane 3 waits", "lanes 0x0000ffff wait".
std::string who_does(uint32_t lanes, const char* verb) {
  if (lanes == ~0u) return fmt::format("all lanes {}", verb);
  if ((lanes & (lanes - 1)) == 0) return fmt::format("lane {} {}s", __builtin_ctz(lanes), verb);
  return fmt::format("lanes {:#010x} {}", lanes, verb);
}

/// What the lanes of `g` wait for.
std::string describe(const Warp& w, const Group& g) {
  const BlockReason& r = g.reason;
  const std::string wait = who_does(g.mask, "wait") + " ";
  switch (r.kind) {
    case BlockReason::Kind::mbarrier: {
      std::string what = wait + fmt::format("on the mbarrier at shared offset {:#x}", r.address);
      if (!r.cta) return what;
      const MBarrier* b = r.cta->mbarriers.find(r.address);
      if (!b) return what + ", which is not initialised";
      what +=
          fmt::format(" for parity {}: it is in phase {} (parity {}), {} of {} arrivals missing, {} bytes outstanding",
                      r.id, b->phase, b->phase & 1, b->pending, b->expected, b->tx);
      if (b->phase > 0 && b->pending == b->expected && b->tx == 0)
        what += fmt::format("; phase {} is over, and whoever waits for that one asks for parity {}", b->phase - 1,
                            (b->phase - 1) & 1);
      return what;
    }
    case BlockReason::Kind::cta_barrier:
      return wait + fmt::format("at barrier {}: {} of {} threads have arrived", r.id,
                                w.cta().barriers[r.id & 15].arrived, w.cta().barriers[r.id & 15].expected);
    case BlockReason::Kind::cluster_barrier:
      return wait + fmt::format("at the cluster barrier: {} of {} threads have arrived", w.cluster().barrier_arrived,
                                w.cluster().live_threads());
    case BlockReason::Kind::converge:
    case BlockReason::Kind::warp_barrier:
      return wait +
             fmt::format("for lanes {:#010x} of the warp (member mask {:#010x})", r.id & w.live() & ~g.mask, r.id);
    case BlockReason::Kind::tmem_alloc: return wait + "for free Tensor Memory columns";
    default: return wait + fmt::format("for {}", r.what);
  }
}

/// Effects that are still to come, by the instruction that asked for them.
std::vector<LabelledPlace> in_flight(const std::vector<const Launch*>& launches) {
  struct Kind {
    uint64_t count = 0, first = ~0ull;
    Origin who;
  };
  std::map<const Op*, Kind> kinds;
  for (const Launch* launch : launches)
    for (const auto& domain : launch->domains())
      domain->events.each([&](uint64_t time, const Origin& who) {
        Kind& k = kinds[who.op];
        ++k.count;
        k.first = std::min(k.first, time - launch->start_time);
        k.who = who;
      });
  std::vector<LabelledPlace> out;
  for (const auto& [op, k] : kinds)
    out.push_back({k.who.where(), fmt::format("in flight: {} of these, the first until cycle {}", k.count, k.first)});
  return out;
}

/// An instruction at which lanes wait for others of their warp, which will not come.
std::optional<std::string> waits_for_lanes(const Flight& flight) {
  for (const Domain* domain : flight.busy())
    for (const Warp* w : domain->warps())
      for (const Group& g : w->groups())
        if (!w->done() && g.state == Group::State::blocked && g.blocked_at &&
            g.reason.kind == BlockReason::Kind::converge)
          return g.function->instruction(*g.blocked_at).opcode;
  return std::nullopt;
}

}  // namespace

StuckWatch::StuckWatch(Flight& flight) : flight_(flight), watch_at_(kWatchFirst) {}

void StuckWatch::deadlock(const char* how) const {
  Diagnosis d = who_waits("deadlock", how);
  d.help =
      "find who should arrive: a missing arrive or commit, a byte count that differs from what lands, or a wrong "
      "parity";
  if (const auto at = waits_for_lanes(flight_)) {
    d.help = "let all lanes of the warp come to " + *at +
             " together: it stands where some of them have branched off, or have exited";
    d.rule =
        "A .sync.aligned instruction is executed by all threads of the warp, at the same place; in a condition "
        "only where all of them decide alike. Others wait for the lanes that they name.";
    d.section = "9.7.13.1 bar, barrier";
  }
  throw KernelFault(d);
}

void StuckWatch::waits_forever() const {
  deadlock("the kernel waits forever: nothing is in flight that could end these waits");
}

Diagnosis StuckWatch::who_waits(std::string code, std::string how, const Launch* of) const {
  std::vector<const Launch*> launches;
  for (const auto& l : flight_.launches())
    if (!of || l.get() == of) launches.push_back(l.get());
  Diagnosis d;
  d.code = std::move(code);
  d.kind = FaultKind::deadlock;
  d.message = std::move(how);
  d.where.kernel = launches.front()->config.kernel->name;
  struct Same {
    uint64_t warps = 0;
    LabelledPlace place;
  };
  // The same wait in many CTAs: once, with a count.
  std::map<std::tuple<std::string, int, int, std::string>, Same> places;
  const auto look_at = [&](const Domain& domain) {
    for (const Warp* w : domain.warps())
      for (const Group& g : w->groups()) {
        if (w->done()) continue;
        const uint32_t pc = std::min<uint32_t>(g.pc, uint32_t(g.function->ops.size()) - 1);
        // Who sleeps for no time looks again as soon as the others are where it is: it spins.
        const bool blocked =
            g.state == Group::State::blocked && !(g.reason.kind == BlockReason::Kind::sleep && g.timeout <= w->time());
        const std::string label = blocked ? describe(*w, g) : who_does(g.mask, "spin");
        Where at = w->where_of(g.function->ops[pc], *g.function);
        Same& same = places[{launches.size() > 1 ? at.kernel : "", int(w->index()), at.ptx_line, label}];
        if (same.warps++ == 0) same.place = {std::move(at), label};
      }
  };
  for (const Launch* launch : launches)
    for (const auto& domain : launch->domains()) look_at(*domain);
  for (auto& [key, same] : places) {
    if (same.warps > 1) same.place.label += fmt::format("  [and in {} more CTAs]", same.warps - 1);
    if (d.others.size() < kPlacesShown) d.others.push_back(std::move(same.place));
  }
  if (places.size() > kPlacesShown)
    d.others.back().label += fmt::format("; {} more waits are not shown", places.size() - kPlacesShown);
  for (LabelledPlace& p : in_flight(launches)) d.others.push_back(std::move(p));
  if (!d.others.empty()) {
    d.where = std::move(d.others[0].where);
    d.label = std::move(d.others[0].label);
    d.others.erase(d.others.begin());
  }
  return d;
}

void StuckWatch::watch_loops(bool on) {
  for (const auto& launch : flight_.launches())
    for (auto& d : launch->domains()) {
      d->watching = on;
      for (Warp* w : d->warps()) w->watch(on);
    }
}

void StuckWatch::grid_added() {
  if (watch_ == Watch::off) return;
  watch_ = Watch::off;
  watch_loops(false);
}

void StuckWatch::check_loops(uint64_t time, uint64_t instructions) {
  uint64_t progress = 0;
  bool pending = flight_.more_to_come();
  for (Domain* d : flight_.busy()) {
    progress += d->progress;
    pending |= !d->events.empty() || d->has_deferred_effects();
  }
  const auto again = [&] {
    watch_ = Watch::off;
    watch_loops(false);
    watch_at_ = instructions + std::max(kWatchEvery, instructions / 4);
  };
  if (watch_ == Watch::off) {
    if (instructions < watch_at_) return;
    watch_ = Watch::settling;
    watch_progress_ = progress;
    watch_time_ = time;
    return watch_loops(true);
  }
  if (pending || progress != watch_progress_) return again();
  if (watch_ == Watch::settling) {
    if (time - watch_time_ < kSettle) return;
    watch_ = Watch::looking;
    uint64_t warps = 0;
    for (Domain* d : flight_.busy()) warps += d->warps().size();
    const uint64_t samples = std::max(kSamples, instructions / kSpared / std::max<uint64_t>(1, warps));
    for (Domain* d : flight_.busy())
      for (Warp* w : d->warps()) w->spin_watch()->restart(uint32_t(std::min<uint64_t>(samples, ~0u)));
    return;
  }
  bool stuck = true, spent = true;
  for (Domain* d : flight_.busy())
    for (Warp* w : d->warps()) {
      uint32_t lanes = w->spin_watch()->closed();
      for (const Group& g : w->groups())
        if (g.state == Group::State::blocked && g.timeout == ~0ull && !g.waits_for_serial()) lanes |= g.mask;
      if ((w->live() & ~lanes) == 0) continue;
      stuck = false;
      spent &= w->spin_watch()->spent();
    }
  if (stuck) deadlock("the kernel spins forever: these warps go in circles, and nothing is left that could end that");
  if (spent || instructions > 2 * watch_at_) again();
}

void StuckWatch::check(uint64_t time) {
  bool any = false, all_stuck = true, polling = true;
  uint64_t polls = 0, instructions = flight_.idle_instructions();
  for (Domain* d : flight_.busy()) {
    instructions += d->ended_instructions();
    if (d->idle()) continue;
    any = true;
    // Everybody blocked, no effect in flight: only time limits of waits can still pass.
    bool stuck = d->events.empty();
    for (const Warp* w : d->warps())
      for (const Group& g : w->groups())
        if (!w->done() &&
            (g.state == Group::State::runnable || g.waits_for_serial() || g.reason.kind == BlockReason::Kind::sleep))
          stuck = false;
    if (stuck) d->stuck++;
    all_stuck &= d->stuck > kStuckLimit;
    polls += d->polls;
    // What is in flight may end the polling.
    if ((d->polls == 0 && d->stuck == 0) || !d->events.empty()) polling = false;
    for (const Warp* w : d->warps()) instructions += w->instructions();
  }
  if (any && all_stuck) waits_forever();
  if (any && polling && polls > kPollLimit) {
    if (!polling_told_ && instructions - polled_instructions_ < kInstructionsPerPoll * polls) {
      polling_told_ = true;
      Diagnosis d = who_waits("polling", "these warps only poll, and nothing has changed for a long time");
      d.severity = Severity::warning;
      d.help =
          "they may give up by themselves, or the host may end it by a write; if not, find who should have written "
          "what they wait for, and bound the run with gen5 run --max-cycles";
      Launch& first = *flight_.launches().front();
      first.reports.add_now(std::move(d), first.config.kernel);
    }
    polled_instructions_ = instructions;
    for (Domain* d : flight_.busy()) d->polls = 0;
  }
  check_loops(time, instructions);
}

}  // namespace tinygpu
