#include "common/tinygpu/api/machine.h"

#include <algorithm>
#include <cstring>

#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/base/source_place.h"
#include "common/tinygpu/check/coverage.h"
#include "common/tinygpu/check/order_path.h"
#include "common/tinygpu/engines/tmem/tensor_memory.h"
#include "common/tinygpu/machine/chip/grid_scheduler.h"
#include "common/tinygpu/machine/sync/mbarrier_name.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::api {

std::string text_of(const BlockReason& reason) {
  switch (reason.kind) {
    case BlockReason::Kind::none: return {};
    case BlockReason::Kind::converge: return "other lanes of the warp";
    case BlockReason::Kind::warp_barrier: return "a barrier of the warp";
    case BlockReason::Kind::cta_barrier: return "barrier " + std::to_string(reason.id);
    case BlockReason::Kind::cluster_barrier: return "the cluster's barrier";
    case BlockReason::Kind::mbarrier: return reason.cta ? mbarrier_name(*reason.cta, reason.address) : "an mbarrier";
    case BlockReason::Kind::sleep: return "time to pass";
    case BlockReason::Kind::async_group: return reason.what;
    case BlockReason::Kind::tmem_alloc: return "Tensor Memory";
    case BlockReason::Kind::grid_dependency: return "the grid before";
    case BlockReason::Kind::serial: return "the chip's memory";
  }
  return {};
}

namespace {

WarpView view(const Warp& warp) {
  WarpView out{warp.index(), warp.live(), {}};
  for (const Group& g : warp.groups()) {
    if (!g.mask || !g.function || g.pc >= g.function->ops.size()) continue;
    GroupView group{g.mask, warp.where_of(g.function->ops[g.pc], *g.function), {}};
    if (g.state == Group::State::blocked) group.waits_for = text_of(g.reason);
    out.groups.push_back(std::move(group));
  }
  return out;
}

}  // namespace

MachineSpec spec_of(const Options& options) {
  MachineSpec spec = load_profile(options.machine);
  if (options.clock == Options::Clock::pinned) spec.clock_ghz = options.clock_mhz / 1e3;
  make_free(spec, options.free);
  return spec;
}

uint64_t make_grid_workspace(Gpu& gpu) {
  constexpr uint64_t kBytes = 64;
  const uint64_t address = gpu.memory.allocate(kBytes, 512, MemoryKind::device, "grid workspace");
  if (uint8_t* p = gpu.memory.translate(address, kBytes)) {
    std::memset(p, 0, kBytes);
    std::memcpy(p, &kBytes, 4);
  }
  return address;
}

Machine::Machine(const Options& options) : Machine(spec_of(options), options) {}

Machine::Machine(MachineSpec spec, const Options& options)
    : gpu_(std::move(spec)), memory_(gpu_, options.memory_check) {
  if (options.memory_check) unwritten_ = std::make_unique<checks::UnwrittenMemory>();
  wanted_ = options.observation.checks;
  if (options.observation.coverage) coverage_ = std::make_unique<checks::Coverage>();
  if (const std::string& lines = options.observation.explain_order; !lines.empty()) {
    const size_t comma = lines.find(',');
    SourcePlace a, b;  // the table of options has looked at the text
    SourcePlace::read(lines.substr(0, comma), a);
    SourcePlace::read(lines.substr(comma + 1), b);
    order_ = std::make_unique<checks::OrderPath>(std::move(a), std::move(b));
  }
  run_by(options);
  on_diagnosis([this](const Diagnosis& d) { diagnoses_.push_back(d); });
  on_output([this](const std::string& text) { output_ += text; });
}

Machine::~Machine() = default;

void Machine::run_by(const Options& o) {
  gpu_.options.order = o.order;
  gpu_.options.threads = o.threads;
  gpu_.options.max_cycles = o.max_cycles;
  gpu_.options.timing_only = o.timing_only;
  gpu_.options.strict_tmem = o.strict_tmem;
  choose_checks();
}

void Machine::check_by(Checks checks) {
  wanted_ = checks;
  choose_checks();
}

void Machine::choose_checks() {
  using checks::Level;
  const Level level = wanted_ == Checks::none    ? Level::none
                      : gpu_.options.timing_only ? Level::clock_alone
                      : wanted_ == Checks::races ? Level::races
                                                 : Level::quick;
  if (level == level_) return;
  level_ = level;
  checks_ = checks::AllChecks(level);
}

void Machine::observe() {
  gpu_.options.observers = checks_.observers();
  gpu_.options.observers.insert(gpu_.options.observers.end(), attached_.begin(), attached_.end());
  if (unwritten_) gpu_.options.observers.push_back(unwritten_.get());
  if (coverage_) gpu_.options.observers.push_back(coverage_.get());
  if (order_) gpu_.options.observers.push_back(order_.get());
}

std::vector<std::vector<uint32_t>> Machine::sm_groups(uint32_t size) const {
  return cluster_places(gpu_.chip_memory.places(), size, uint32_t(spec().sms) / size);
}

uint64_t Machine::clock() const {
  return scheduler_ ? std::max({gpu_.clock, scheduler_->now(), reached_}) : gpu_.clock;
}

void Machine::on_diagnosis(std::function<void(const Diagnosis&)> f) {
  gpu_.options.on_diagnosis = [this, f = std::move(f)](const Diagnosis& d) {
    if (wanted_ != Checks::races && checks::is_of_order(d)) return;
    const std::lock_guard lock(telling_);
    f(d);
  };
}

void Machine::tell_coverage() {
  if (!coverage_) return;
  for (const Diagnosis& d : coverage_->shapes()) gpu_.options.on_diagnosis(d);
}

void Machine::on_output(std::function<void(const std::string&)> f) {
  gpu_.options.device_output = [this, f = std::move(f)](const std::string& text) {
    const std::lock_guard lock(telling_);
    f(text);
  };
}

std::vector<Diagnosis> Machine::take_diagnoses() { return std::exchange(diagnoses_, {}); }
std::string Machine::take_output() { return std::exchange(output_, {}); }
std::vector<Finished> Machine::take_finished() { return std::exchange(finished_, {}); }

// ---- Modules

std::unique_ptr<Module> Machine::load(std::shared_ptr<const ModuleSource> source) {
  std::unique_ptr<Module> out;
  on_clean_thread([&] { out = std::make_unique<Module>(gpu_, std::move(source)); });
  return out;
}

Module& Machine::load(std::span<const uint8_t> image) {
  std::unique_ptr<Module> module;
  on_clean_thread([&] {
    auto source = std::make_shared<const ModuleSource>(parse(image::images_of(image::Bytes(image), spec())));
    module = std::make_unique<Module>(gpu_, std::move(source));
  });
  modules_.push_back(std::move(module));
  return *modules_.back();
}

Module& Machine::load(std::string_view ptx) {
  return load(std::span(reinterpret_cast<const uint8_t*>(ptx.data()), ptx.size()));
}

void Machine::unload(const Module& module) {
  std::erase_if(modules_, [&](const auto& m) { return m.get() == &module; });
}

// ---- Launches

uint64_t Machine::launch(const Kernel& kernel, LaunchRequest request, uint32_t stream) {
  if (!request.parameters) request.parameters.emplace();
  Waiting w{next_id_, kernel.name, prepare(spec(), kernel, std::move(request)), clock()};
  queues_[stream].waiting.push_back(std::move(w));
  return next_id_++;
}

void Machine::start_waiting() {
  for (auto& [stream, queue] : queues_) {
    if (queue.running || queue.waiting.empty()) continue;
    Waiting w = std::move(queue.waiting.front());
    queue.waiting.pop_front();
    queue.running = true;
    if (!scheduler_) scheduler_ = std::make_unique<GridScheduler>(gpu_);
    observe();
    if (w.config.cooperative) w.config.grid_workspace = make_grid_workspace(gpu_);
    const uint64_t begin = std::max(queue.ready, w.not_before);
    const Launch& launch = scheduler_->add(w.config, begin);
    running_.push_back({w.id, stream, std::move(w.kernel), &launch, begin, w.config.grid_workspace});
  }
}

void Machine::ended(const Launch& launch, LaunchStats stats) {
  const auto r = std::ranges::find(running_, &launch, &Running::launch);
  if (r->workspace) gpu_.memory.release(r->workspace);
  Queue& queue = queues_[r->stream];
  queue.ready = r->begin + stats.cycles;
  queue.running = false;
  finished_.push_back({r->id, std::move(r->kernel), r->begin, std::move(stats)});
  running_.erase(r);
  if (!scheduler_->empty()) return;
  scheduler_.reset();
  reached_ = 0;
  for (const auto& [stream, q] : queues_) gpu_.clock = std::max(gpu_.clock, q.ready);
}

void Machine::drop_all() {
  gpu_.clock = clock();
  reached_ = 0;
  scheduler_.reset();
  for (const Running& r : running_)
    if (r.workspace) gpu_.memory.release(r.workspace);
  running_.clear();
  queues_.clear();
}

Stop Machine::run_for(uint64_t cycle, const std::function<bool()>& happened) {
  Stop stop;
  on_clean_thread([&] {
    try {
      while (true) {
        if (happened && happened()) {
          stop.why = Stop::Why::event;
          return;
        }
        start_waiting();
        if (!scheduler_) return;
        const uint64_t until = happened ? std::min(cycle, clock() + gpu_.options.window) : cycle;
        if (auto over = scheduler_->run_until(until)) {
          ended(*over->launch, std::move(over->stats));
          continue;
        }
        reached_ = std::max(reached_, until);
        if (until < cycle) continue;
        stop.why = Stop::Why::time;
        return;
      }
    } catch (const KernelFault& fault) {
      drop_all();
      gpu_.options.on_diagnosis(fault.diagnosis);
      stop = {Stop::Why::fault, fault.diagnosis};
    }
  });
  return stop;
}

Stop Machine::run_until(uint64_t cycle) { return run_for(cycle, {}); }
Stop Machine::run_until(const std::function<bool()>& happened) { return run_for(~0ull, happened); }

// ---- Inspection

std::vector<CtaView> Machine::ctas() const {
  std::vector<CtaView> out;
  for (const Running& r : running_)
    for (const auto& partition : r.launch->partitions())
      for (const auto& cluster : partition->clusters)
        for (const auto& cta : cluster->ctas) {
          if (cta->exited) continue;
          CtaView v{r.id, r.kernel, cta->key.id, cta->sm.index, cta->rank, cta->start_time, cta->shared, {}};
          for (const auto& warp : cta->warps)
            if (!warp->done()) v.warps.push_back(view(*warp));
          out.push_back(std::move(v));
        }
  return out;
}

std::vector<uint32_t> Machine::tensor_memory(uint32_t sm, uint32_t lane, uint32_t column, uint32_t lanes,
                                             uint32_t columns) const {
  if (!spec().has_tmem || lane > kTmemLanes || lanes > kTmemLanes - lane || column > kTmemColumns ||
      columns > kTmemColumns - column)
    return {};
  for (const Running& r : running_)
    for (const auto& partition : r.launch->partitions())
      for (Sm* s : partition->sms) {
        if (s->index != sm) continue;
        const TensorMemory* cells = s->extensions.find<TensorMemory>();
        if (!cells) return {};
        std::vector<uint32_t> out(size_t(lanes) * columns);
        cells->read_rows({lane, lanes, column, columns}, out.data(), columns);
        return out;
      }
  return {};
}

}  // namespace tinygpu::api
