#include "common/tinygpu/machine/chip/launch.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/stores_on_their_way.h"

namespace tinygpu {
namespace {

// A domain that runs alone has nobody to wait for; it only lets others look at it from time to time.
constexpr uint64_t kAlone = 1'000'000;

/// When the end of a domain's part of the grid can begin: all that happened there is over, and what it wrote is there.
/// `cold`: what its first stores waited for counts too.
uint64_t ends(const Domain& d, bool cold) {
  uint64_t last = d.last_time();
  const uint64_t way = d.launch.gpu.spec.costs[size_t(CostClass::global_load)].latency;
  for (const auto& sm : d.sms)
    if (const StoresOnTheirWay* s = sm->extensions.find<StoresOnTheirWay>())
      last = std::max(last, s->seen_by_the_end(cold ? std::max(s->written, s->translated) : s->written, way));
  return last;
}

uint64_t half_of_host_memory() { return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)) / 2; }

}  // namespace

Launch::Launch(Gpu& g, const LaunchConfig& c, const RunOptions& o, uint64_t start, const GridBefore* before)
    : gpu(g),
      config(c),
      options(o),
      observers(o.observers, config),
      start_time(start),
      dispatcher(config, start + g.timing.launch.latency, g.timing.launch.cta_interval),
      reports(options, config.kernel->name, g.noted),
      memory_limit_(half_of_host_memory()),
      stuck_(*this),
      before_(before) {
  const uint32_t size = dispatcher.cluster_size();
  const uint32_t domains = std::max(1u, std::min(uint32_t(g.spec.sms), g.timing.launch.usable_sms(size)) / size);
  const LaunchTiming& timing = g.timing.launch;
  const double others = double(std::min<uint64_t>(domains, dispatcher.left()) * size - 1);
  cold_start_ = {uint64_t(timing.parameters + timing.parameters_sm * others),
                 uint64_t(timing.translation + timing.translation_sm * others)};
  const std::vector<ChipPlace>& places = g.chip_memory.places();
  std::vector<std::vector<uint32_t>> sms;
  if (size > 1)
    sms = cluster_places(places, size, domains);
  else
    for (uint32_t sm : hand_out_order(places, dispatcher.left())) sms.push_back({sm});
  for (uint32_t d = 0; d < sms.size(); ++d) {
    domains_.push_back(std::make_unique<Domain>(*this, d, sms[d]));
    domains_.back()->now = start;
  }
}

GridBefore Launch::left() const {
  GridBefore g;
  g.start = start_time;
  g.ends.resize(size_t(gpu.spec.sms));
  for (const auto& d : domains_) {
    g.lets_start = std::max(g.lets_start, d->lets_start());
    // Grids that follow each other so closely find translations; a grid by itself is timed as ncu sees it, cold.
    g.ended = std::max(g.ended, ends(*d, false));
    for (size_t i = 0; i < d->sms.size(); ++i) g.ends[d->sms[i]->index] = d->last_ends()[i].latest_first();
  }
  g.per_sm = occupancy(gpu.spec, *config.kernel, uint32_t(config.block.count()), config.dynamic_shared).blocks_per_sm;
  return g;
}

void Launch::exchange() {
  struct Item {
    uint64_t time;
    Domain* domain;
    uint32_t request;  // or that of `deferred`
    bool is_deferred;
  };
  std::vector<Item> items;
  std::vector<Domain::Deferred> deferred;
  for (Domain* d : busy_) {
    for (uint32_t i = 0; i < d->memory.size(); ++i) items.push_back({d->memory.time(i), d, i, false});
    if (!d->has_deferred()) continue;
    for (Domain::Deferred& what : d->take_deferred()) {
      items.push_back({what.time, d, uint32_t(deferred.size()), true});
      deferred.push_back(std::move(what));
    }
  }
  std::ranges::stable_sort(items, {}, &Item::time);
  for (const Item& i : items) {
    if (i.is_deferred)
      i.domain->run_deferred(deferred[i.request]);
    else
      i.domain->memory.serve(i.request);
  }
  for (Domain* d : busy_)
    if (d->memory.size()) d->memory.finish();
}

void Launch::run_window(std::vector<Domain*>& active, uint64_t next) {
  // A warp's second group that waits for the exchange may be left over from the last one.
  const bool alone = active.size() == 1 && !dispatcher.left() && !active[0]->has_deferred();
  uint64_t until = next + (alone ? kAlone : std::min(options.window, gpu.timing.memory.least_latency));
  if (options.max_cycles) {
    const uint64_t last = start_time + options.max_cycles;
    if (next >= last) {
      Diagnosis d = stuck_.who_waits(
          "max-cycles", fmt::format("the kernel has run for {} cycles, as long as it may", options.max_cycles));
      d.help = "if it only needs longer, give it more: gen5 run --max-cycles N, or GEN5_MAX_CYCLES; 0 is no limit";
      throw KernelFault(d);
    }
    until = std::min(until, last);
  }
  if (alone) {
    active[0]->advance_alone(until);
  } else {
    static const int all = host_processors();  // asking takes longer than a short window
    const int threads = options.threads > 0 ? options.threads : all;
    std::erase_if(active, [&](Domain* d) { return d->next_time() >= until; });
    if (threads == 1 || active.size() == 1) {
      for (Domain* d : active) d->advance(until);
    } else {
      gpu.threads.run(threads, active.size(), [&](size_t k) { active[k]->advance(until); });
    }
    exchange();
  }
  throw_first_fault();
  refill();
  stuck_.check(until);
}

void Launch::throw_first_fault() {
  const Domain::Fault* first = nullptr;
  for (const Domain* d : busy_)
    if (d->fault().what && (!first || d->fault().time < first->time)) first = &d->fault();
  if (first) std::rethrow_exception(first->what);
}

void Launch::refill() {
  bool retired = false;
  for (Domain* d : busy_) retired |= d->retire_clusters();
  if (!retired) return;
  dispatcher.fill(domains_);
  find_busy();
}

void Launch::find_busy() {
  busy_.clear();
  idle_instructions_ = 0;
  for (auto& d : domains_) {
    if (d->idle())
      idle_instructions_ += d->ended_instructions();
    else
      busy_.push_back(d.get());
  }
}

LaunchStats Launch::run() {
  // Observers and the reader are told that the run is over however it ends.
  struct End {
    Launch& launch;
    const LaunchStats* stats = nullptr;
    ~End() {
      launch.observers.all([&](Observer& o) { o.on_end(launch, stats); });
      launch.reports.show_all();
    }
  };
  observers.all([&](Observer& o) { o.on_launch(*this); });
  End end{*this};
  const uint64_t l2_before = gpu.chip_memory.l2_read(), device_before = gpu.chip_memory.device_bytes();
  dispatcher.fill(domains_);
  find_busy();
  std::vector<Domain*> active;
  while (true) {
    active.clear();
    uint64_t next = ~0ull;
    for (Domain* d : busy_) {
      if (d->idle()) continue;
      active.push_back(d);
      next = std::min(next, d->next_time());
    }
    if (active.empty()) break;
    if (next == ~0ull) stuck_.waits_forever();
    run_window(active, next);
  }
  LaunchStats stats;
  uint64_t last = start_time;
  for (auto& d : domains_) {
    last = std::max(last, ends(*d, true));
    stats.instructions += d->ended_instructions();
    for (const auto& [name, n] : d->counters) stats.counters[name] += n;
  }
  stats.cycles = last + gpu.timing.launch.end - start_time;
  stats.l2_bytes = gpu.chip_memory.l2_read() - l2_before;
  stats.device_bytes = gpu.chip_memory.device_bytes() - device_before;
  end.stats = &stats;
  return stats;
}

}  // namespace tinygpu
