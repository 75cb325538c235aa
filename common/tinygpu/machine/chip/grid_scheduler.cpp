#include "common/tinygpu/machine/chip/grid_scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
namespace {

// A partition that runs alone waits for no other; it only lets others look at it from time to time.
constexpr uint64_t kAlone = 1'000'000;
// Grids that have CTAs at a time (CUDA C++ programming guide, compute capability 5.3 to 10.0; an H200, 2026-11-23: of
// 200 grids of one CTA each 128 run at once).
constexpr std::ptrdiff_t kGrids = 128;

}  // namespace

GridScheduler::GridScheduler(Gpu& gpu) : gpu_(gpu), stuck_(*this) {}

GridScheduler::~GridScheduler() = default;

Launch& GridScheduler::add(const LaunchConfig& config, uint64_t start, int priority, bool has_dependent) {
  return add(config, start, 0, priority, has_dependent);
}

Launch& GridScheduler::add_dependent(const LaunchConfig& config, const Launch& primary, int priority,
                                     bool has_dependent) {
  // Its first instruction comes so long behind the moment when the primary lets it start, its own launch included.
  const LaunchTiming& t = gpu_.timing.launch;
  const uint64_t first = primary.dependents_launched() + (config.behind_kernel ? t.graph_wait : t.programmatic);
  const uint64_t start = std::max(primary.start_time, first - std::min(first, t.latency + t.cta));
  return add(config, start, primary.number, priority, has_dependent);
}

Launch& GridScheduler::add(const LaunchConfig& config, uint64_t start, uint64_t primary, int priority,
                           bool has_dependent) {
  launches_.push_back(std::make_unique<Launch>(gpu_, config, gpu_.options, start, sms_, primary, !launches_.empty()));
  queue_.push_back({priority, false, has_dependent});
  added_ = true;
  if (launches_.size() > 1) find_sets();
  stuck_.grid_added();
  return *launches_.back();
}

void GridScheduler::exchange() {
  struct Item {
    uint64_t time;
    SmPartition* partition;
    uint32_t request;  // or that of `deferred`
    uint32_t part;
    bool is_deferred;
  };
  std::vector<Item> items;
  std::vector<SmPartition::Deferred> deferred;
  for (SmPartition* d : busy_) {
    for (uint32_t i = 0; i < d->memory.size(); ++i)
      for (uint32_t part = 0; part < d->memory.parts(i); ++part)
        items.push_back({d->memory.time(i, part), d, i, part, false});
    if (!d->has_deferred()) continue;
    for (SmPartition::Deferred& what : d->take_deferred()) {
      items.push_back({what.time, d, uint32_t(deferred.size()), 0, true});
      deferred.push_back(std::move(what));
    }
  }
  std::ranges::stable_sort(items, {}, &Item::time);
  for (const Item& i : items) {
    if (i.is_deferred)
      i.partition->run_deferred(deferred[i.request]);
    else
      i.partition->memory.serve(i.request, i.part);
  }
  for (SmPartition* d : busy_)
    if (d->memory.size()) d->memory.finish();
}

void GridScheduler::stop_long_ones(uint64_t next) {
  const uint64_t most = gpu_.options.max_cycles;
  for (const auto& l : launches_) {
    if (next < l->start_time + most) continue;
    if (stuck_.hopeless()) stuck_.waits_forever();
    Diagnosis d =
        stuck_.who_waits("max-cycles", fmt::format("the kernel has run for {} cycles, its limit", most), l.get());
    d.help = "if it only needs longer, give it more: gen5 run --max-cycles N, or GEN5_MAX_CYCLES; 0 is no limit";
    throw KernelFault(d);
  }
}

void GridScheduler::run_window(uint64_t next, uint64_t cycle) {
  const auto left = [](const auto& l) { return l->dispatcher.left() != 0; };
  // A warp's second group that waits for the exchange may be left over from the last one.
  const bool alone = active_.size() == 1 && !active_[0]->has_deferred() && std::ranges::none_of(launches_, left) &&
                     std::ranges::none_of(queue_, &Queued::has_dependent);
  uint64_t until = next + (alone ? kAlone : std::min(gpu_.options.window, gpu_.timing.memory.least_latency));
  if (alone) until = std::min(until, std::max(cycle, next + 1));  // a window that ends sooner is the same for it
  if (gpu_.options.max_cycles) {
    stop_long_ones(next);
    for (const auto& l : launches_) until = std::min(until, l->start_time + gpu_.options.max_cycles);
  }
  if (alone) {
    active_[0]->advance_alone(until);
  } else {
    advance(until);
    exchange();
  }
  throw_first_fault();
  now_ = until;
  refill();
  stuck_.check(until);
}

void GridScheduler::advance(uint64_t until) {
  static const int all = host_processors();  // asking takes longer than a short window
  const int threads = gpu_.options.threads > 0 ? gpu_.options.threads : all;
  std::erase_if(active_, [&](SmPartition* d) { return d->next_time() >= until; });
  if (launches_.size() == 1) {
    if (threads == 1 || active_.size() == 1) {
      for (SmPartition* d : active_) d->advance(until);
    } else {
      gpu_.threads.run(threads, active_.size(), [&](size_t k) { active_[k]->advance(until); });
    }
    return;
  }
  for (auto& set : sets_) set.clear();
  sets_.resize(set_of_.size());
  for (SmPartition* d : active_) sets_[set_of_[d->sms[0]->index]].push_back(d);
  if (threads == 1) {
    for (const auto& set : sets_) advance_together(set, until);
  } else {
    gpu_.threads.run(threads, sets_.size(), [&](size_t k) { advance_together(sets_[k], until); });
  }
}

void GridScheduler::advance_together(const std::vector<SmPartition*>& partitions, uint64_t until) const {
  if (partitions.size() == 1) return partitions[0]->advance(until);
  std::vector<SmPartition*> left = partitions;
  while (!left.empty()) {
    size_t best = 0;
    uint64_t first = ~0ull, second = ~0ull;
    for (size_t k = 0; k < left.size(); ++k) {
      const uint64_t t = left[k]->next_time();
      if (t < first) {
        second = first;
        first = t;
        best = k;
      } else {
        second = std::min(second, t);
      }
    }
    if (first >= until) return;
    SmPartition& d = *left[best];
    d.advance(second >= until ? until : std::min(until, std::max(second + gpu_.options.run_ahead, first + 1)));
    // One that gets no further waits for the exchange.
    if (d.fault().what || d.next_time() <= first) left.erase(left.begin() + std::ptrdiff_t(best));
  }
}

void GridScheduler::throw_first_fault() {
  const SmPartition::Fault* first = nullptr;
  for (const SmPartition* d : busy_)
    if (d->fault().what && (!first || d->fault().time < first->time)) first = &d->fault();
  if (first) std::rethrow_exception(first->what);
}

void GridScheduler::fill() {
  std::vector<size_t> order;
  for (size_t i = 0; i < launches_.size(); ++i)
    if (launches_[i]->dispatcher.left()) order.push_back(i);
  std::ranges::stable_sort(order, {}, [&](size_t i) { return queue_[i].priority; });
  // One whose time has not come takes no room from those that go before it, and none that others could have till then.
  const auto first = [&](size_t i) { return launches_[i]->dispatcher.first(); };
  uint64_t soonest = ~0ull;
  for (const size_t i : order) soonest = std::min(soonest, first(i));
  added_ = held_ = false;
  for (const size_t i : order) {
    if (first(i) > std::max(now_, soonest)) {
      held_ = true;
      continue;
    }
    Dispatcher& dispatcher = launches_[i]->dispatcher;
    if (!queue_[i].begun) {
      if (std::ranges::count(queue_, true, &Queued::begun) == kGrids) break;
      queue_[i].begun = true;
      next_grid_ = std::max(next_grid_, dispatcher.first());
      handed_out_ = std::max(handed_out_, double(next_grid_));
      next_grid_ += gpu_.timing.launch.grid_interval;
    }
    dispatcher.fill(launches_[i]->partitions(), handed_out_);
    // No other grid's come before its own are all handed out (an H200, 2026-11-23), whether there is room for them or
    // not.
    if (dispatcher.left()) break;
  }
  find_busy();
}

void GridScheduler::refill() {
  bool retired = false;
  for (SmPartition* d : busy_) retired |= d->retire_clusters();
  if (retired || held_) fill();
}

void GridScheduler::find_sets() {
  set_of_.resize(size_t(gpu_.spec.sms));
  std::iota(set_of_.begin(), set_of_.end(), 0u);
  const auto root = [&](uint32_t sm) {
    while (set_of_[sm] != sm) sm = set_of_[sm];
    return sm;
  };
  for (const auto& l : launches_)
    for (const auto& d : l->partitions())
      for (const Sm* sm : d->sms) set_of_[root(sm->index)] = root(d->sms[0]->index);
  for (uint32_t& sm : set_of_) sm = root(sm);
}

void GridScheduler::find_busy() {
  busy_.clear();
  idle_instructions_ = 0;
  for (const auto& l : launches_)
    for (const auto& d : l->partitions()) {
      if (d->idle())
        idle_instructions_ += d->ended_instructions();
      else
        busy_.push_back(d.get());
    }
}

std::optional<GridScheduler::Event> GridScheduler::run_until(uint64_t cycle) {
  ended_.reset();
  while (true) {
    if (added_) fill();
    for (size_t i = 0; i < launches_.size(); ++i)
      if (queue_[i].has_dependent && launches_[i]->dependents_launched() != ~0ull) {
        queue_[i].has_dependent = false;
        return Event{Event::Kind::lets_dependents_start, launches_[i].get(), {}};
      }
    active_.clear();
    uint64_t next = ~0ull;
    for (SmPartition* d : busy_) {
      if (d->idle()) continue;
      active_.push_back(d);
      next = std::min(next, d->next_time());
    }
    for (size_t i = 0; i < launches_.size(); ++i) {
      // A grid that does not fit at all has nothing to run.
      if ((!active_.empty() && !launches_[i]->over()) || launches_[i]->dependency_over() == ~0ull) continue;
      ended_ = std::move(launches_[i]);
      launches_.erase(launches_.begin() + std::ptrdiff_t(i));
      queue_.erase(queue_.begin() + std::ptrdiff_t(i));
      for (const auto& l : launches_)
        if (l->primary == ended_->number) l->primary_ended(ended_->ended());
      Event over{Event::Kind::over, ended_.get(), ended_->finish()};
      past_instructions_ += over.stats.instructions;
      find_busy();
      return over;
    }
    if (next == ~0ull) stuck_.waits_forever();
    if (next >= cycle) return std::nullopt;
    run_window(next, cycle);
  }
}

}  // namespace tinygpu
