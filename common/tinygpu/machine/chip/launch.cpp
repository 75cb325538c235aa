#include "common/tinygpu/machine/chip/launch.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/loads_on_their_way.h"
#include "common/tinygpu/machine/memory/stores_on_their_way.h"

namespace tinygpu {
namespace {

/// When the end of a partition's part of the grid can begin: all that happened there is over, and what it wrote is
/// there. `cold`: what its first stores waited for counts too.
uint64_t ends(const SmPartition& d, bool cold) {
  const uint64_t way = d.launch.gpu.spec.costs[size_t(CostClass::global_load)].latency;
  const StoresOnTheirWay& s = d.memory.stores();
  uint64_t seen = cold ? std::max(s.written, s.translated) : s.written;
  // Like a fence, the end of a grid that has stored waits for what its SMs load, also for a grid that depends on it (an
  // H200, grid_loading of probe_16_handover: 254 and 1,964 cycles more beside one and five pages).
  for (const Sm* sm : d.sms)
    if (const LoadsOnTheirWay* l = s.written ? sm->extensions.find<LoadsOnTheirWay>() : nullptr)
      seen = std::max(seen, l->landed_behind(d.launch.number));
  return std::max(d.last_time(), s.seen_by_the_end(seen, way));
}

/// From a grid's start until its first CTA is handed to an SM. Of kernels that follow each other in a graph, one starts
/// when the last CTA of the one before it has ended.
uint64_t latency_of(const LaunchTiming& t, const LaunchConfig& config, uint64_t primary) {
  return config.behind_kernel && !primary ? t.graph_next - std::min(t.graph_next, t.cta) : t.latency;
}

uint64_t half_of_host_memory() { return host_memory() / 2; }

/// Of each observer that watches one launch at a time, another one.
std::vector<std::unique_ptr<Observer>> others(const std::vector<Observer*>& observers) {
  std::vector<std::unique_ptr<Observer>> all;
  for (Observer* o : observers) all.push_back(o->another());
  return all;
}

RunOptions watched_by(RunOptions options, const std::vector<std::unique_ptr<Observer>>& own) {
  for (size_t i = 0; i < own.size(); ++i)
    if (own[i]) options.observers[i] = own[i].get();
  return options;
}

}  // namespace

Launch::Launch(Gpu& g, const LaunchConfig& c, const RunOptions& o, uint64_t start,
               std::vector<std::unique_ptr<Sm>>& sms, uint64_t depends_on, bool beside)
    : number(++g.grids),
      primary(depends_on),
      gpu(g),
      config(c),
      options(o),
      own_observers(beside ? others(o.observers) : std::vector<std::unique_ptr<Observer>>()),
      observers(watched_by(o, own_observers).observers, config),
      start_time(start),
      dispatcher(config, start + latency_of(g.timing.launch, config, primary), g.timing.launch.cta_interval),
      reports(options, config.kernel->name, g.noted),
      memory_limit_(half_of_host_memory()),
      dependency_over_(primary ? ~0ull : 0),
      fit_(occupancy(g.spec, *config.kernel, uint32_t(config.block.count()), config.dynamic_shared)),
      l2_before_(g.chip_memory.l2_read()),
      device_before_(g.chip_memory.device_bytes()) {
  const uint32_t size = dispatcher.cluster_size();
  const uint32_t partitions = std::max(1u, std::min(uint32_t(g.spec.sms), g.timing.launch.usable_sms(size)) / size);
  const LaunchTiming& timing = g.timing.launch;
  const double others = double(std::min<uint64_t>(partitions, dispatcher.left()) * size - 1);
  cold_start_ = {ColdMiss(uint64_t(timing.parameters + timing.parameters_sm * others)),
                 ColdMiss(uint64_t(timing.translation + timing.translation_sm * others))};
  const std::vector<ChipPlace>& places = g.chip_memory.places();
  std::vector<std::vector<uint32_t>> sets;
  if (size > 1)
    sets = cluster_places(places, size, partitions);
  else
    for (uint32_t sm : hand_out_order(places, dispatcher.left())) sets.push_back({sm});
  if (config.only_on)
    std::erase_if(sets, [&](const auto& set) {
      return !std::ranges::all_of(set, [&](uint32_t sm) { return (*config.only_on)[sm]; });
    });
  sms.resize(size_t(g.spec.sms));
  for (uint32_t d = 0; d < sets.size(); ++d) {
    std::vector<Sm*> on;
    for (const uint32_t sm : sets[d]) {
      if (!sms[sm]) sms[sm] = std::make_unique<Sm>(sm, whole_sm(g.spec));
      on.push_back(sms[sm].get());
    }
    partitions_.push_back(std::make_unique<SmPartition>(*this, d, std::move(on)));
    partitions_.back()->now = start;
  }
  observers.all([&](Observer& watcher) { watcher.on_launch(*this); });
}

Launch::~Launch() {
  if (told_) return;
  observers.all([&](Observer& o) { o.on_end(*this, nullptr); });
  reports.show_all();
}

bool Launch::over() const {
  return !dispatcher.left() && std::ranges::all_of(partitions_, [](const auto& d) { return d->idle(); });
}

uint64_t Launch::dependents_launched() const {
  if (dispatcher.left()) return ~0ull;
  uint64_t when = start_time;
  for (const auto& d : partitions_) {
    when = std::max(when, d->dependents_launched());
    if (when == ~0ull) break;
  }
  return when;
}

uint64_t Launch::ended() const {
  // Grids that follow each other so closely find translations; a grid by itself is timed as ncu sees it, cold.
  uint64_t last = start_time;
  for (const auto& d : partitions_) last = std::max(last, ends(*d, false));
  return last;
}

void Launch::primary_ended(uint64_t time) {
  const LaunchTiming& t = gpu.timing.launch;
  dependency_over_ = time + (config.behind_kernel ? t.graph_wait : t.programmatic_wait);
  for (const auto& d : partitions_) d->primary_over(dependency_over_);
}

LaunchStats Launch::finish() {
  LaunchStats stats;
  uint64_t last = start_time;
  for (auto& d : partitions_) {
    last = std::max(last, ends(*d, true));
    stats.instructions += d->ended_instructions();
    for (const auto& [name, n] : d->counters) stats.counters[name] += n;
  }
  stats.cycles = last + (config.before_kernel ? 0 : gpu.timing.launch.end) - start_time;
  stats.l2_bytes = gpu.chip_memory.l2_read() - l2_before_;
  stats.device_bytes = gpu.chip_memory.device_bytes() - device_before_;
  told_ = true;
  observers.all([&](Observer& o) { o.on_end(*this, &stats); });
  reports.show_all();
  return stats;
}

}  // namespace tinygpu
