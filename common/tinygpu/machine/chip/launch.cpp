#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <thread>

#include <unistd.h>

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
namespace {

// Waits that only run into their time limits, this often in a row with nothing else left to happen: a deadlock.
constexpr uint64_t kStuckLimit = 200;
// Polls without any effect in between: worth a word, provided the poller does little else. By then a loop that cannot
// end has mostly been found to be one.
constexpr uint64_t kPollLimit = 4'000'000;
constexpr uint64_t kInstructionsPerPoll = 64;
// Endless loops are looked for after so many instructions, and again when there are a quarter more. First nothing may
// change for kSettle cycles, longer than any latency; then each warp is looked at in kSamples of its backward branches,
// or in more if a branch in kSpared instructions so far gives more.
constexpr uint64_t kWatchEvery = 4'000'000, kSettle = 50'000, kSamples = 16, kSpared = 2048;
// So many instructions that break the same rule are shown in a launch; of the others, how many they are.
constexpr std::ptrdiff_t kShownOfAKind = 3;

void show(const RunOptions& options, const Diagnosis& d) {
  if (options.on_diagnosis)
    options.on_diagnosis(d);
  else
    std::fputs(d.render().c_str(), stderr);
}

/// Says of each kind how many were not shown.
void show_rest(const RunOptions& options, const std::set<std::pair<std::string, const void*>>& reported,
               const std::string& kernel) {
  for (auto first = reported.begin(), next = first; first != reported.end(); first = next) {
    next = std::find_if(first, reported.end(), [&](const auto& r) { return r.first != first->first; });
    const auto count = std::distance(first, next);
    if (count <= kShownOfAKind) continue;
    Diagnosis d;
    d.code = first->first;
    d.severity = Severity::note;
    d.message = fmt::format("… and {} more of this kind, at other instructions", count - kShownOfAKind);
    d.where.kernel = kernel;
    show(options, d);
  }
}

std::string describe(const Warp& w, const Group& g) {
  const BlockReason& r = g.reason;
  std::string lanes = g.mask == ~0u ? "all lanes" : fmt::format("lanes {:#010x}", g.mask);
  std::string what;
  switch (r.kind) {
    case BlockReason::Kind::mbarrier:
      what = fmt::format("waits on the mbarrier at shared offset {:#x}", r.address);
      if (r.cta) {
        if (MBarrier* b = r.cta->mbarriers.find(r.address)) {
          what += fmt::format(
              " for parity {}: it is in phase {} (parity {}), {} of {} arrivals missing, {} bytes outstanding", r.id,
              b->phase, b->phase & 1, b->pending, b->expected, b->tx);
          if (b->phase > 0 && b->pending == b->expected && b->tx == 0)
            what += fmt::format("; phase {} is over, and whoever waits for that one asks for parity {}", b->phase - 1,
                                (b->phase - 1) & 1);
        } else
          what += ", which is not initialised";
      }
      break;
    case BlockReason::Kind::cta_barrier:
      what = fmt::format("waits at barrier {}: {} of {} threads have arrived", r.id,
                         w.cta().barriers[r.id & 15].arrived, w.cta().barriers[r.id & 15].expected);
      break;
    case BlockReason::Kind::cluster_barrier:
      what = fmt::format("waits at the cluster barrier: {} of {} threads have arrived", w.cluster().barrier_arrived,
                         w.cluster().live_threads());
      break;
    case BlockReason::Kind::converge:
    case BlockReason::Kind::warp_barrier:
      what =
          fmt::format("waits for lanes {:#010x} of its warp (member mask {:#010x})", r.id & w.live() & ~g.mask, r.id);
      break;
    case BlockReason::Kind::tmem_alloc: what = "waits for free Tensor Memory columns"; break;
    default: what = fmt::format("waits for {}", r.what); break;
  }
  return lanes + " " + what;
}

}  // namespace

Launch::Launch(Gpu& g, const LaunchConfig& c, const RunOptions& o, uint64_t start)
    : gpu(g),
      config(c),
      options(o),
      observers(o.observers),
      start_time(start),
      cta_latency(uint64_t(g.spec.number("launch.cta"))) {
  watch_at_ = kWatchEvery;
  memory_limit_ = uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)) / 2;
  cluster_size_ = uint32_t(c.cluster.count());
  cluster_grid_ = {c.grid.x / c.cluster.x, c.grid.y / c.cluster.y, c.grid.z / c.cluster.z};
  total_clusters_ = cluster_grid_.count();
  const uint32_t domains = std::max(1u, uint32_t(g.spec.sms) / cluster_size_);
  for (uint32_t d = 0; d < domains; ++d) {
    std::vector<uint32_t> sms;
    for (uint32_t s = 0; s < cluster_size_; ++s) sms.push_back(d * cluster_size_ + s);
    domains_.push_back(std::make_unique<Domain>(*this, d, sms));
    domains_.back()->now = start;
  }
}

Dim3 Launch::cluster_id(uint64_t n) const {
  return {uint32_t(n % cluster_grid_.x), uint32_t(n / cluster_grid_.x % cluster_grid_.y),
          uint32_t(n / cluster_grid_.x / cluster_grid_.y)};
}

bool Launch::take_cluster(Dim3& first_cta) {
  if (next_cluster_ >= total_clusters_) return false;
  const Dim3 id = cluster_id(next_cluster_++);
  first_cta = {id.x * config.cluster.x, id.y * config.cluster.y, id.z * config.cluster.z};
  return true;
}

void Launch::fill(uint64_t now) {
  // One cluster per domain and round: the grid spreads over the machine before SMs take a second CTA.
  for (bool placed = true; placed && next_cluster_ < total_clusters_;) {
    placed = false;
    for (auto& d : domains_) {
      if (next_cluster_ >= total_clusters_) break;
      if (!d->has_room(config)) continue;
      const uint64_t linear = next_cluster_++;
      d->start_cluster(cluster_id(linear), linear, std::max(now, d->freed_at_));
      placed = true;
    }
  }
}

void Launch::report(const Diagnosis& d, const void* site) {
  std::lock_guard lock(report_mutex_);
  if (!reported_.insert({d.code, site}).second) return;
  if (d.severity == Severity::note && !gpu.noted.insert({config.kernel->name, d.code}).second) return;
  const auto of_kind = [&](const auto& r) { return r.first == d.code; };
  if (std::count_if(reported_.begin(), reported_.end(), of_kind) <= kShownOfAKind) show(options, d);
}

void Launch::serial_phase() {
  struct Item {
    uint64_t time;
    Domain* domain;
    Warp* warp;  // null: `effect` instead
    EventQueue::Action effect;
  };
  std::vector<Item> items;
  for (auto& d : domains_) {
    for (auto& e : d->deferred_effects) items.push_back({e.time, d.get(), nullptr, std::move(e.action)});
    d->deferred_effects.clear();
    for (Warp* w : d->deferred) items.push_back({w->time_, d.get(), w, {}});
    d->deferred.clear();
  }
  for (auto& d : domains_) d->l2.merge();
  std::stable_sort(items.begin(), items.end(), [](const Item& a, const Item& b) { return a.time < b.time; });
  for (const Item& i : items) {
    i.domain->serial = true;
    i.domain->now = i.time;
    if (!i.warp) {
      try {
        i.effect(i.time);
      } catch (...) {
        i.domain->fault_ = std::current_exception();
        i.domain->fault_time_ = i.time;
      }
      i.domain->made_progress();
      i.domain->serial = false;
      continue;
    }
    for (Group& g : i.warp->groups_)
      if (g.state == Group::State::blocked && g.reason.kind == BlockReason::Kind::serial) {
        g.state = Group::State::runnable;
        g.wake = 0;
        // Exactly this group, one op.
        i.warp->current_ = size_t(&g - i.warp->groups_.data());
        i.warp->single_ = true;
        i.warp->deadline_ = ~0ull;
        try {
          i.warp->run_group();
        } catch (...) {
          i.domain->fault_ = std::current_exception();
          i.domain->fault_time_ = i.time;
        }
        i.warp->single_ = false;
        i.domain->strong_access(*i.warp->op_);
        break;
      }
    i.warp->update_ready();
    for (const Group& g : i.warp->groups_)
      if (g.state == Group::State::blocked && g.reason.kind == BlockReason::Kind::serial)
        i.domain->deferred.push_back(i.warp);
    i.domain->serial = false;
  }
}

void Launch::report_deadlock(const char* how) {
  Diagnosis d = who_waits("deadlock", how);
  d.help =
      "find who should arrive: a missing arrive or commit, a byte count that differs from what lands, or a wrong "
      "parity";
  throw KernelFault(d);
}

Diagnosis Launch::who_waits(std::string code, std::string how) const {
  Diagnosis d;
  d.code = std::move(code);
  d.kind = FaultKind::deadlock;
  d.message = std::move(how);
  d.where.kernel = config.kernel->name;
  std::map<std::string, std::pair<int, std::string>> lines;  // same wait in many CTAs: once, with a count
  for (const auto& domain : domains_)
    for (const Warp* w : domain->warps())
      for (const Group& g : w->groups()) {
        if (w->done()) continue;
        const uint32_t pc = std::min<uint32_t>(g.pc, uint32_t(g.function->ops.size()) - 1);
        const Where at = w->where_of(g.function->ops[pc], *g.function);
        // Who sleeps for no time looks again as soon as the others are where it is: it spins.
        const bool blocked =
            g.state == Group::State::blocked && !(g.reason.kind == BlockReason::Kind::sleep && g.timeout <= w->time());
        std::string text = fmt::format("warp {}, {} at {}ptx line {}: {}", w->index(),
                                       blocked ? describe(*w, g) : fmt::format("lanes {:#010x} spin", g.mask),
                                       at.cuda_file.empty() ? "" : fmt::format("{}:{}, ", at.cuda_file, at.cuda_line),
                                       at.ptx_line, at.ptx_text);
        auto& entry = lines[text];
        if (entry.first++ == 0) entry.second = fmt::format("CTA ({},{},{}) ", at.cta[0], at.cta[1], at.cta[2]);
      }
  int shown = 0;
  for (const auto& [text, entry] : lines) {
    if (++shown > 24) {
      d.message += fmt::format("\n   … and {} more", lines.size() - 24);
      break;
    }
    d.message += "\n   " + entry.second + text +
                 (entry.first > 1 ? fmt::format("  [and in {} more CTAs]", entry.first - 1) : "");
  }
  return d;
}

void Launch::watch_loops(bool on) {
  for (auto& d : domains_) {
    d->watching = on;
    for (Warp* w : d->warps_) w->watch(on);
  }
}

void Launch::check_loops(uint64_t instructions) {
  uint64_t progress = 0;
  bool pending = false;
  for (auto& d : domains_) {
    progress += d->progress;
    pending |= !d->events.empty() || !d->deferred_effects.empty();
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
    watch_time_ = time_;
    return watch_loops(true);
  }
  if (pending || progress != watch_progress_) return again();
  if (watch_ == Watch::settling) {
    if (time_ - watch_time_ < kSettle) return;
    watch_ = Watch::looking;
    uint64_t warps = 0;
    for (auto& d : domains_) warps += d->warps_.size();
    const uint64_t samples = std::max(kSamples, instructions / kSpared / std::max<uint64_t>(1, warps));
    for (auto& d : domains_)
      for (Warp* w : d->warps_) w->spin_watch()->restart(uint32_t(std::min<uint64_t>(samples, ~0u)));
    return;
  }
  bool stuck = true, spent = true;
  for (auto& d : domains_)
    for (Warp* w : d->warps_) {
      uint32_t lanes = w->spin_watch()->closed();
      for (const Group& g : w->groups())
        if (g.state == Group::State::blocked && g.timeout == ~0ull && g.reason.kind != BlockReason::Kind::serial)
          lanes |= g.mask;
      if ((w->live() & ~lanes) == 0) continue;
      stuck = false;
      spent &= w->spin_watch()->spent();
    }
  if (stuck)
    report_deadlock("the kernel spins forever: these warps go in circles, and nothing is left that could end that");
  if (spent || instructions > 2 * watch_at_) again();
}

void Launch::check_stuck() {
  bool any = false, all_stuck = true, polling = true;
  uint64_t polls = 0, instructions = 0;
  for (auto& d : domains_) {
    instructions += d->instructions_;
    if (d->idle()) continue;
    any = true;
    // Everybody blocked, no effect in flight: only time limits of waits can still pass.
    bool stuck = d->events.empty();
    for (const Warp* w : d->warps())
      for (const Group& g : w->groups())
        if (!w->done() && (g.state == Group::State::runnable || g.reason.kind == BlockReason::Kind::serial ||
                           g.reason.kind == BlockReason::Kind::sleep))
          stuck = false;
    if (stuck) d->stuck++;
    all_stuck &= d->stuck > kStuckLimit;
    polls += d->polls;
    // What is in flight may end the polling.
    if ((d->polls == 0 && d->stuck == 0) || !d->events.empty()) polling = false;
    for (const Warp* w : d->warps()) instructions += w->instructions();
  }
  if (any && all_stuck) report_deadlock("the kernel waits forever: nothing is in flight that could end these waits");
  if (any && polling && polls > kPollLimit) {
    if (!polling_told_ && instructions - polled_instructions_ < kInstructionsPerPoll * polls) {
      polling_told_ = true;
      Diagnosis d = who_waits("polling", "these warps only poll, and nothing has changed for a long time");
      d.severity = Severity::warning;
      d.help =
          "they may give up by themselves, or the host may end it by a write; if not, find who should have written "
          "what "
          "they wait for, and bound the run with gen5 run --max-cycles";
      report(d, config.kernel);
    }
    polled_instructions_ = instructions;
    for (auto& d : domains_) d->polls = 0;
  }
  check_loops(instructions);
}

LaunchStats Launch::run() {
  // Told when the run is over, however it ends.
  const std::unique_ptr<Launch, void (*)(Launch*)> at_end(
      this, [](Launch* l) { show_rest(l->options, l->reported_, l->config.kernel->name); });
  observers.all([&](Observer& o) { o.on_launch(*this); });
  // A fault leaves through here too.
  struct End {
    const Launch& launch;
    const LaunchStats* stats = nullptr;
    ~End() {
      launch.observers.all([&](Observer& o) { o.on_end(launch, stats); });
    }
  } at_observers_end{*this};
  const int threads = std::max(1, options.threads > 0 ? options.threads : int(std::thread::hardware_concurrency()));
  fill(start_time);
  uint64_t end = start_time;
  std::vector<Domain*> active;
  while (true) {
    active.clear();
    uint64_t next = ~0ull;
    for (auto& d : domains_) {
      if (d->idle()) continue;
      active.push_back(d.get());
      next = std::min(next, d->next_time());
    }
    if (active.empty()) break;
    const bool alone = active.size() == 1 && total_clusters_ <= next_cluster_;
    if (next == ~0ull) report_deadlock("the kernel waits forever: nothing is in flight that could end these waits");
    // Domains run side by side for a window, then strong global accesses happen one by one in order of simulated time:
    // results and cycles do not depend on how many host threads there are.
    uint64_t until = alone ? next + 1'000'000 : next + options.window;
    if (options.max_cycles) {
      const uint64_t last = start_time + options.max_cycles;
      if (next >= last) {
        Diagnosis d = who_waits("max-cycles",
                                fmt::format("the kernel has run for {} cycles, as long as it may", options.max_cycles));
        d.help = "if it only needs longer, give it more: gen5 run --max-cycles N, or GEN5_MAX_CYCLES; 0 is no limit";
        throw KernelFault(d);
      }
      until = std::min(until, last);
    }
    time_ = until;
    if (alone) {
      active[0]->l2.merge();
      active[0]->l2.run_alone(true);
      active[0]->serial = true;
      active[0]->advance(until);
      active[0]->serial = false;
      active[0]->l2.run_alone(false);
    } else {
      std::erase_if(active, [&](Domain* d) { return d->next_time() >= until; });
      if (threads == 1 || active.size() == 1) {
        for (Domain* d : active) d->advance(until);
      } else {
        gpu.threads.run(threads, active.size(), [&](size_t k) { active[k]->advance(until); });
      }
      serial_phase();
    }
    std::exception_ptr fault;
    uint64_t fault_time = ~0ull;
    for (auto& d : domains_)
      if (d->fault_ && d->fault_time_ < fault_time) {
        fault = d->fault_;
        fault_time = d->fault_time_;
      }
    if (fault) std::rethrow_exception(fault);
    uint64_t freed = 0;
    bool retired = false;
    for (auto& d : domains_)
      if (d->retire_) {
        freed = std::max(freed, d->freed_at_);
        d->retire_clusters();
        retired = true;
      }
    if (retired) fill(start_time);
    check_stuck();
  }
  LaunchStats stats;
  for (auto& d : domains_) {
    d->l2.merge();
    end = std::max(end, d->last_time_);
    stats.instructions += d->instructions_;
    for (const auto& [name, n] : d->counters) stats.counters[name] += n;
  }
  stats.cycles = end - start_time;
  at_observers_end.stats = &stats;
  return stats;
}

}  // namespace tinygpu
