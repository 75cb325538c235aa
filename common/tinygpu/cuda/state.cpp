#include "common/tinygpu/cuda/state.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/unwritable.h"
#include "common/tinygpu/timing/power.h"
#include "common/tinygpu/timing/profile.h"

namespace tinygpu::cuda {

namespace {

/// Options and profile, or the end of the process with a sentence: nothing could run without them.
template <class F>
auto or_exit(F&& f) {
  try {
    return f();
  } catch (const std::exception& e) {
    say("bad-option", e.what());
    std::_Exit(1);
  }
}

/// The clock that power leaves a launch.
double governed_mhz(const MachineSpec& spec, const LaunchStats& stats) {
  const auto count = [&](const char* name) {
    const auto found = stats.counters.find(name);
    return found == stats.counters.end() ? 0 : found->second;
  };
  const uint64_t copied = std::min(stats.l2_bytes, count(kCopiedBytes));
  return PowerTiming(spec).clock_mhz(
      {stats.cycles, count(kTensorWork), stats.l2_bytes - copied, copied, stats.device_bytes});
}

constexpr size_t kFifo = 1 << 20, kLeastFifo = 512 << 10;

std::map<int, size_t> default_limits() {
  return {{CU_LIMIT_STACK_SIZE, 1024},
          {CU_LIMIT_PRINTF_FIFO_SIZE, kFifo},
          {CU_LIMIT_MALLOC_HEAP_SIZE, 8 << 20},
          {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
          {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
          {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128},
          {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
}

}  // namespace

namespace {

// Never destroyed: programs unregister their fatbins from atexit handlers and destructors in any order.
std::atomic<State*> state = nullptr;
std::mutex making;

/// fork() waits while another thread makes the state, which takes some milliseconds; a child could not go on with it.
[[gnu::constructor]] void handle_forks() {
  pthread_atfork(
      [] {
        making.lock();
        if (State* s = state) s->before_fork();
      },
      [] {
        if (State* s = state) s->forked_a_child();
        making.unlock();
      },
      [] {
        if (State* s = state) s->forked();
        making.unlock();
      });
}

}  // namespace

State& State::get() {
  if (State* s = state.load(std::memory_order_acquire)) return *s;
  const std::lock_guard lock(making);
  if (!state) state = new State;
  return *state;
}

State::State() try
    : options(or_exit(options_from_environment)),
      gpu(or_exit([&] {
        MachineSpec spec = load_profile(options.machine);
        if (options.clock == Options::Clock::pinned) spec.clock_ghz = options.clock_mhz / 1e3;
        return spec;
      })),
      limits_(default_limits()) {
  gpu.options.order = options.order;
  gpu.options.threads = options.threads;
  gpu.options.max_cycles = options.max_cycles;
  gpu.options.timing_only = options.timing_only;
  gpu.options.strict_tmem = options.strict_tmem;
  gpu.options.device_output = [this](const std::string& text) { print(text); };
  gpu.options.on_diagnosis = [this](const Diagnosis& d) { tell(d); };
  log_begin();
  std::atexit([] { get().end(); });
} catch (const std::exception& e) {  // of the machine: options and profile have ended in or_exit()
  say("out-of-memory", e.what(), "the machine's memory is a range of addresses: look at ulimit -v");
  std::_Exit(1);
}

void State::fault(const Diagnosis& d) {
  write_output();
  std::fflush(stdout);
  tell(d);
  sticky = error_of(d);
}

void State::tell(const Diagnosis& d) {
  show(d);
  if (observation_) observation_->add(d);
}

void State::end() {
  if (lost_) return;
  constexpr std::chrono::seconds kPatience{2};
  const std::unique_lock lock(mutex, kPatience);
  if (!lock) {
    busy_at_end_ = true;
    print_error("tinygpu: the program has ended while a kernel runs: of that kernel nothing is told or written\n");
    for (const char* file : {"GEN5_TRACE", "GEN5_PROFILE_JSON", "GEN5_REPORT"})
      if (!variable(file).empty()) say_unwritable(file);
    return;
  }
  ended_ = true;
  synchronize();
  on_clean_thread([&] {
    tell_leaks(*this);
    log_end();
    if (observation_) observation_->finish();
    if (options.counters) print_counters();
  });
}

void State::before_fork() {
  constexpr std::chrono::milliseconds kPatience{50};
  waited_ = mutex.try_lock_for(kPatience);
  whole_ = waited_ && mutex.depth() == 1;  // else a graph's host function forks, in its launch
}

void State::forked_a_child() {
  if (waited_) mutex.unlock();
}

void State::forked() {
  child_ = true;
  log_forked();
  (void)observation_.release();  // what its files still hold back is the parent's to write
  new (&mutex) CallLock;         // it has the parent's thread for its owner
  idle_host_.forked();
  if (whole_) {
    submitted.clear();  // the parent's to do
    totals_.clear();
    device_output_.clear();
    options.threads = gpu.options.threads = 1;
  } else {
    lost_ = true;
    in_host_function = false;
    sticky = CUDA_ERROR_NOT_INITIALIZED;
  }
}

void State::reset() {
  if (lost_) return;
  synchronize();
  sticky = CUDA_SUCCESS;
  for (auto it = modules_.begin(); it != modules_.end();) {
    Module* m = (it++)->second.get();
    if (m->ends_with_context)
      remove_module(m);
    else
      m->unload();
  }
  graphs = Graphs();
  default_stream_.capture = per_thread_stream_.capture = nullptr;
  streams_.clear();
  events_.clear();
  pools_.clear();
  default_pool_ = nullptr;
  limits_ = default_limits();
  gpu.memory.clear();
  for (auto& [address, a] : allocated) a.marked = false;
  marked_bytes = 0;
  gpu.heap_limit = limits_.at(CU_LIMIT_MALLOC_HEAP_SIZE);
  gpu.heap_used = 0;
}

CUresult State::limit(int which, size_t& value) const {
  const auto it = limits_.find(which);
  if (it == limits_.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  value = it->second;
  return CUDA_SUCCESS;
}

CUresult State::set_limit(int which, size_t value) {
  const auto it = limits_.find(which);
  if (it == limits_.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
  if (which == CU_LIMIT_PRINTF_FIFO_SIZE) value = std::max(value, kLeastFifo);  // as the H100's driver does
  it->second = value;
  if (which == CU_LIMIT_MALLOC_HEAP_SIZE) gpu.heap_limit = value;
  return CUDA_SUCCESS;
}

void State::print(const std::string& text) {
  device_output_ += text;
  if (device_output_.size() > kFifo) write_output();
}

Module* State::add_module(std::unique_ptr<Module> m) {
  Module* p = m.get();
  modules_[p] = std::move(m);
  return p;
}

bool State::remove_module(Module* m) {
  if (lost_) return true;
  std::erase_if(kernels_, [&](const Kernel* k) { return k->module == m; });
  return modules_.erase(m) != 0;
}

Stream* State::stream(const void* handle) {
  const uintptr_t n = reinterpret_cast<uintptr_t>(handle);
  if (n == 0 || n == kStreamLegacy) return &default_stream_;
  if (n == kStreamPerThread) return &per_thread_stream_;
  auto it = streams_.find(static_cast<const Stream*>(handle));
  return it == streams_.end() ? nullptr : it->second.get();
}

Stream* State::create_stream(unsigned flags, int priority) {
  auto s = std::make_unique<Stream>();
  s->id = next_stream_++;
  s->flags = flags;
  s->priority = priority;
  Stream* p = s.get();
  streams_[p] = std::move(s);
  return p;
}

bool State::destroy_stream(Stream* s) {
  if (!streams_.count(s)) return false;
  graphs.forget(*s);
  return streams_.erase(s) != 0;
}

Event* State::create_event(unsigned flags) {
  auto e = std::make_unique<Event>();
  e->flags = flags;
  Event* p = e.get();
  events_[p] = std::move(e);
  return p;
}

bool State::destroy_event(Event* e) { return events_.erase(e) != 0; }

void State::record(const void* event, double ms) {
  Event& e = *events_.at(static_cast<const Event*>(event));
  e.recorded = true;
  e.time_ms = ms;
}

CUresult State::submitted_on(const Stream& stream) {
  // Nothing can come beside the legacy stream's work but that of streams that do not block.
  const bool alone = &stream == &default_stream_ && std::ranges::none_of(streams_, [](const auto& s) {
    return s.first->flags & CU_STREAM_NON_BLOCKING;
  });
  if (ended_ || alone || submitted.full() || !idle_host_.watch(*this)) return settle();
  return CUDA_SUCCESS;
}

CUresult State::do_on(const Stream& stream, Work work) {
  Rehearsal judged;
  {
    struct End {
      Rehearsal*& of;
      ~End() { of = nullptr; }
    } end{rehearsal = &judged};
    if (const CUresult e = work(*this); e != CUDA_SUCCESS) return e;
  }
  submitted.add(stream, std::move(work));
  return judged.pageable ? settle() : submitted_on(stream);
}

CUresult State::settle() { return submitted.run(*this); }

void State::host_is_idle() {
  if (ended_ || sticky != CUDA_SUCCESS) return;
  contained([&] { return settle(); });
}

CUresult State::record_on(const void* event, Stream& stream) {
  if (!is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
  Event& e = *events_.at(static_cast<const Event*>(event));
  e.capture = stream.capture ? stream.capture->id : 0;
  e.behind.clear();
  if (stream.capture) {
    e.behind = stream.capture->front[&stream];
  } else if (submitted.empty()) {
    record(event);
  } else {
    submitted.record(stream, e);
    return submitted_on(stream);
  }
  return CUDA_SUCCESS;
}

CUresult State::wait_on(Stream& stream, const void* event) {
  if (!is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
  const Event& e = *events_.at(static_cast<const Event*>(event));
  Capture* c = stream.capture ? stream.capture : graphs.capture(e.capture);
  if (!c) {
    submitted.wait(stream, e);
    return CUDA_SUCCESS;
  }
  if (e.capture != c->id) {
    c->broken = true;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  stream.capture = c;
  std::vector<GraphNode*>& front = c->front[&stream];
  for (GraphNode* n : e.behind)
    if (std::find(front.begin(), front.end(), n) == front.end()) front.push_back(n);
  return CUDA_SUCCESS;
}

CUresult State::elapsed_ms(const void* from, const void* to, float& ms) const {
  auto a = events_.find(static_cast<const Event*>(from)), b = events_.find(static_cast<const Event*>(to));
  if (a == events_.end() || b == events_.end()) return CUDA_ERROR_INVALID_HANDLE;
  if (!a->second->recorded || !b->second->recorded) return CUDA_ERROR_INVALID_HANDLE;
  if ((a->second->flags | b->second->flags) & CU_EVENT_DISABLE_TIMING) return CUDA_ERROR_INVALID_HANDLE;
  ms = float(b->second->time_ms - a->second->time_ms);
  return CUDA_SUCCESS;
}

void* State::create_pool() {
  auto pool = std::make_unique<PoolAttributes>();
  void* handle = pool.get();
  pools_[handle] = std::move(pool);
  return handle;
}

void* State::default_pool() {
  if (!default_pool_) default_pool_ = create_pool();
  return default_pool_;
}

bool State::destroy_pool(const void* pool) { return pool != default_pool_ && pools_.erase(pool) != 0; }

CUresult State::set_pool_attribute(const void* pool, int attribute, const void* value) {
  auto it = pools_.find(pool);
  if (it == pools_.end() || !value) return CUDA_ERROR_INVALID_VALUE;
  if (attribute < CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES || attribute > CU_MEMPOOL_ATTR_USED_MEM_HIGH)
    return CUDA_ERROR_INVALID_VALUE;
  const bool is_int = attribute <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  (*it->second)[attribute] = is_int ? uint64_t(*static_cast<const int*>(value)) : *static_cast<const uint64_t*>(value);
  return CUDA_SUCCESS;
}

CUresult State::pool_attribute(const void* pool, int attribute, void* value) {
  auto it = pools_.find(pool);
  if (it == pools_.end() || !value) return CUDA_ERROR_INVALID_VALUE;
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: {
      auto set = it->second->find(attribute);
      *static_cast<int*>(value) = set == it->second->end() ? 1 : int(set->second);
      return CUDA_SUCCESS;
    }
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
      *static_cast<uint64_t*>(value) = (*it->second)[attribute];
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: *static_cast<uint64_t*>(value) = gpu.memory.used(); return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

void State::synchronize() {
  settle();
  last_kernel_on = nullptr;
  write_output();
}

void State::write_output() {
  if (device_output_.empty()) return;
  std::fwrite(device_output_.data(), 1, device_output_.size(), stdout);
  std::fflush(stdout);
  device_output_.clear();
}

void State::observe() {
  log_launch();
  if (!observation_)
    observation_ = or_exit([&] {
      ObservationOptions wanted = observation_from_environment();
      wanted.races = races_.value_or(wanted.races);
      if (child_) wanted.trace = wanted.profile_json = wanted.report = {};
      return std::make_unique<Observation>(wanted, options);
    });
  gpu.options.observers = observation_->observers();
  if (options.memory_check) gpu.options.observers.push_back(&unwritten_);
  gpu.options.observers.insert(gpu.options.observers.end(), watchers_.begin(), watchers_.end());
}

void State::look_for_races(bool races) {
  if (races_ == races) return;
  races_ = races;
  if (observation_) observation_->finish();
  observation_.reset();
}

void State::add(const std::string& kernel, const LaunchStats& stats) { add({{kernel, stats}}, stats); }

double State::add(const std::vector<std::pair<std::string, LaunchStats>>& launches, LaunchStats all) {
  if (all.counters.empty())
    for (const auto& [kernel, stats] : launches)
      for (const auto& [name, n] : stats.counters) all.counters[name] += n;
  const double mhz = governed_mhz(gpu.spec, all), highest = gpu.spec.clock_ghz * 1e3;
  for (const auto& [kernel, stats] : launches) {
    Totals& t = totals_[kernel];
    ++t.launches;
    t.cycles += stats.cycles;
    t.instructions += stats.instructions;
    for (const auto& [name, n] : stats.counters) t.counters[name] += n;
    t.governed_ms += double(stats.cycles) / (mhz * 1e3);
  }
  if (options.clock != Options::Clock::power) return 1 / (highest * 1e3);
  slower_ms_ += double(all.cycles) * (1 / mhz - 1 / highest) / 1e3;
  return 1 / (mhz * 1e3);
}

void State::print_counters() const {
  for (const auto& [kernel, t] : totals_) {
    std::string text = fmt::format("tinygpu counters: {}\n  {:<32} {}\n  {:<32} {}\n  {:<32} {}\n", kernel, "launches",
                                   t.launches, "cycles", t.cycles, "warp instructions", t.instructions);
    if (t.governed_ms > 0)
      text += fmt::format("  {:<32} {:.0f}\n", "MHz that power leaves", double(t.cycles) / t.governed_ms / 1e3);
    for (const auto& [name, n] : t.counters) text += fmt::format("  {:<32} {}\n", name, n);
    print_error(text);
  }
}

}  // namespace tinygpu::cuda
