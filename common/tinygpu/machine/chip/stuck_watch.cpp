#include "common/tinygpu/machine/chip/stuck_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/tinygpu/machine/chip/grid_scheduler.h"
#include "common/tinygpu/machine/chip/wait_graph.h"

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

/// Everybody is blocked and no effect is in flight: only time limits of waits can still pass.
bool all_blocked(const SmPartition& partition) {
  if (!partition.events.empty()) return false;
  for (const Warp* w : partition.warps())
    for (const Group& g : w->groups())
      if (!w->done() &&
          (g.state == Group::State::runnable || g.waits_for_serial() || g.reason.kind == BlockReason::Kind::sleep))
        return false;
  return true;
}

/// Everybody is blocked, some until the grid on which this one depends is over.
bool waits_for_primary(const SmPartition& partition) {
  return all_blocked(partition) && std::ranges::any_of(partition.warps(), [](const Warp* w) {
           return std::ranges::any_of(w->groups(), [](const Group& g) {
             return g.state == Group::State::blocked && g.reason.kind == BlockReason::Kind::grid_dependency;
           });
         });
}

/// Effects that are still to come, by the instruction that asked for them.
std::vector<LabelledPlace> in_flight(const std::vector<const Launch*>& launches) {
  struct Kind {
    uint64_t count = 0, first = ~0ull;
    Origin who;
  };
  std::map<const Op*, Kind> kinds;
  for (const Launch* launch : launches)
    for (const auto& partition : launch->partitions())
      partition->events.each([&](uint64_t time, const Origin& who) {
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

}  // namespace

StuckWatch::StuckWatch(GridScheduler& grids) : grids_(grids), watch_at_(kWatchFirst) {}

void StuckWatch::deadlock(const char* how) const {
  std::vector<const Launch*> launches;
  for (const auto& l : grids_.launches()) launches.push_back(l.get());
  const WaitGraph graph(launches);
  Diagnosis d = who_waits("deadlock", how, graph, launches);
  graph.explain(d);
  throw KernelFault(d);
}

void StuckWatch::waits_forever() const {
  deadlock("the kernel waits forever: nothing is in flight that could end these waits");
}

bool StuckWatch::hopeless() const {
  const auto waits = [](const SmPartition* d) {
    return d->idle() || waits_for_primary(*d) || (d->stuck && all_blocked(*d));
  };
  return !grids_.busy().empty() && std::ranges::all_of(grids_.busy(), waits);
}

Diagnosis StuckWatch::who_waits(std::string code, std::string how, const Launch* of) const {
  std::vector<const Launch*> launches;
  for (const auto& l : grids_.launches())
    if (!of || l.get() == of) launches.push_back(l.get());
  return who_waits(std::move(code), std::move(how), WaitGraph(launches), launches);
}

Diagnosis StuckWatch::who_waits(std::string code, std::string how, const WaitGraph& graph,
                                const std::vector<const Launch*>& launches) {
  Diagnosis d;
  d.code = std::move(code);
  d.kind = FaultKind::deadlock;
  d.message = std::move(how);
  d.where.kernel = launches.front()->config.kernel->name;
  d.others = graph.places(kPlacesShown);
  for (LabelledPlace& p : in_flight(launches)) d.others.push_back(std::move(p));
  if (!d.others.empty()) {
    d.where = std::move(d.others[0].where);
    d.label = std::move(d.others[0].label);
    d.others.erase(d.others.begin());
  }
  return d;
}

void StuckWatch::watch_loops(bool on) {
  for (const auto& launch : grids_.launches())
    for (auto& d : launch->partitions()) {
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
  bool pending = grids_.more_to_come();
  for (SmPartition* d : grids_.busy()) {
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
    for (SmPartition* d : grids_.busy()) warps += d->warps().size();
    const uint64_t samples = std::max(kSamples, instructions / kSpared / std::max<uint64_t>(1, warps));
    for (SmPartition* d : grids_.busy())
      for (Warp* w : d->warps()) w->spin_watch()->restart(uint32_t(std::min<uint64_t>(samples, ~0u)));
    return;
  }
  bool stuck = true, spent = true;
  for (SmPartition* d : grids_.busy())
    for (Warp* w : d->warps()) {
      uint32_t lanes = w->spin_watch()->closed();
      for (const Group& g : w->groups())
        if (g.state == Group::State::blocked && g.timeout == ~0ull && !g.waits_for_serial()) lanes |= g.mask;
      if ((w->live() & ~lanes) == 0) continue;
      stuck = false;
      spent &= w->spin_watch()->spent();
    }
  if (stuck)
    deadlock(
        "the kernel spins forever: these warps spin, and no thread or operation is left that could end "
        "it");
  if (spent || instructions > 2 * watch_at_) again();
}

void StuckWatch::check(uint64_t time) {
  bool any = false, all_stuck = true, polling = true;
  uint64_t polls = 0, instructions = grids_.idle_instructions();
  for (SmPartition* d : grids_.busy()) {
    instructions += d->ended_instructions();
    if (d->idle()) continue;
    for (const Warp* w : d->warps()) instructions += w->instructions();
    // The grid on which it depends says whether this goes on.
    if (waits_for_primary(*d)) continue;
    any = true;
    if (all_blocked(*d)) d->stuck++;
    all_stuck &= d->stuck > kStuckLimit;
    polls += d->polls;
    // What is in flight may end the polling.
    if ((d->polls == 0 && d->stuck == 0) || !d->events.empty()) polling = false;
  }
  if (any && all_stuck) waits_forever();
  if (any && polling && polls > kPollLimit) {
    if (!polling_told_ && instructions - polled_instructions_ < kInstructionsPerPoll * polls) {
      polling_told_ = true;
      Diagnosis d = who_waits("polling", "these warps only poll, and nothing has changed for a long time");
      d.severity = Severity::warning;
      d.help =
          "the warps may give up by themselves, or the host may end the wait by a write; if not, find the thread that "
          "should write the value, and limit the run with gen5 run --max-cycles";
      Launch& first = *grids_.launches().front();
      first.reports.add_now(std::move(d), first.config.kernel);
    }
    polled_instructions_ = instructions;
    for (SmPartition* d : grids_.busy()) d->polls = 0;
  }
  check_loops(time, instructions);
}

}  // namespace tinygpu
