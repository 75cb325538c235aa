// The process-wide state of both stand-ins: the machine, what is loaded on it, streams, events and errors.
#pragma once
#include <cuda.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "common/tinygpu/check/unwritten_memory.h"
#include "common/tinygpu/cuda/call_lock.h"
#include "common/tinygpu/cuda/error.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/idle_host.h"
#include "common/tinygpu/cuda/module.h"
#include "common/tinygpu/cuda/observation.h"
#include "common/tinygpu/cuda/options.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/stream.h"
#include "common/tinygpu/cuda/submitted.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu::cuda {

/// Handles that both APIs define as numbers: 0 (legacy default stream), 1 (legacy), 2 (per thread).
constexpr uintptr_t kStreamLegacy = 1, kStreamPerThread = 2;

class State {
  Stream default_stream_, per_thread_stream_;  // ahead of what knows them

 public:
  /// The one state; makes the machine at first use.
  static State& get();

  Options options;
  struct Allocated {
    uint64_t bytes = 0;
    bool marked = false;  // as memory that nobody has written
  };
  std::map<uint64_t, Allocated> allocated;  // device memory by address; kept for Options::memory_check
  uint64_t marked_bytes = 0;
  Gpu gpu;
  CallLock mutex;                            // held during every API call
  std::atomic<bool> runtime_in_use = false;  // the runtime has made its primary context: said without the lock
  bool in_host_function = false;             // of a graph, which the thread with the lock runs

  // ---- Errors
  /// A fault poisons the context: every later call returns it (sticky), as on hardware.
  CUresult sticky = CUDA_SUCCESS;
  /// The stream whose last work is the kernel that ran last; null: something came behind it, or the host waited.
  const Stream* last_kernel_on = nullptr;
  void fault(const Diagnosis& d);

  // ---- Submitted work
  Submitted submitted{default_stream_};
  /// The stream has been given something: it runs now, unless something else may come beside it.
  CUresult submitted_on(const Stream& stream);
  /// A copy or a fill on a stream. Its arguments are judged now. One of memory that is not pinned is done now, too.
  CUresult do_on(const Stream& stream, Work work);
  /// Everything that has been submitted is done.
  CUresult settle();
  /// The host has not called for a while: the same, without anybody to tell an error to.
  void host_is_idle();
  /// Copies and fills that find this here say whether they are right, and do nothing.
  struct Rehearsal {
    bool pageable = false;  // one side is memory of which the device knows nothing
  };
  Rehearsal* rehearsal = nullptr;
  /// API calls so far: whether the host is at work elsewhere.
  std::atomic<uint64_t> calls = 0;
  /// The end of the primary context (cudaDeviceReset): everything allocated, created or set in it is gone, the sticky
  /// error too. Kernels and variables of registered programs and of libraries load again when they are next used.
  void reset();
  /// fork() waits until other threads' calls are over, so that the child gets everything whole: for a short time, as
  /// a kernel may run for minutes, or wait for what the forking thread does next.
  void before_fork();
  void forked_a_child();
  /// In the child, which has one thread: it goes on with one, and leaves the parent's files alone. If there was a call
  /// all the same, nobody knows how things stand, and every call fails.
  void forked();
  /// The process ends: what it was asked for is written. If a thread is in a call for seconds then, as with a kernel
  /// that runs forever, nothing is, and busy_at_end() says that nobody shall wait for it.
  void end();
  bool busy_at_end() const { return busy_at_end_; }

  // ---- Modules
  Module* add_module(std::unique_ptr<Module> m);
  bool remove_module(Module* m);
  bool has_module(const Module* m) const { return modules_.count(m) != 0; }

  // ---- Kernels: handles are valid while their module lives
  void know(Kernel* k) { kernels_.insert(k); }
  bool is_kernel(const void* p) const { return kernels_.count(static_cast<const Kernel*>(p)) != 0; }

  // ---- Streams and events
  /// The stream of a handle, default streams included; nullptr if the handle is not live.
  Stream* stream(const void* handle);
  Stream* create_stream(unsigned flags, int priority);
  bool destroy_stream(Stream* s);
  Event* create_event(unsigned flags);
  bool destroy_event(Event* e);
  Event& event(const void* handle) { return *events_.at(static_cast<const Event*>(handle)); }  // a live one
  /// Stamps a live event with the present simulated time, or with another.
  void record(const void* event) { record(event, now_ms()); }
  void record(const void* event, double ms);
  /// Milliseconds between two recorded events. INVALID_HANDLE if one isn't live, not recorded, or made without timing.
  CUresult elapsed_ms(const void* from, const void* to, float& ms) const;
  /// cudaEventRecord and cudaStreamWaitEvent: on a stream that captures they only say what comes after what.
  CUresult record_on(const void* event, Stream& stream);
  CUresult wait_on(Stream& stream, const void* event);
  Graphs graphs;
  bool is_event(const void* e) const { return events_.count(static_cast<const Event*>(e)) != 0; }

  // ---- Memory pools: attributes only, all pools take from the machine's memory
  void* default_pool();
  void* create_pool();
  bool destroy_pool(const void* pool);
  bool is_pool(const void* pool) const { return pools_.count(pool) != 0; }
  CUresult set_pool_attribute(const void* pool, int attribute, const void* value);
  CUresult pool_attribute(const void* pool, int attribute, void* value);

  /// Simulated milliseconds since the machine was made.
  double now_ms() const { return ms(gpu.clock) + slower_ms_; }
  /// Milliseconds of so many cycles at the highest clock.
  double ms(uint64_t cycles) const { return double(cycles) / (gpu.spec.clock_ghz * 1e6); }
  /// Lets simulated time pass for work outside kernels.
  void advance_seconds(double seconds) { gpu.clock += uint64_t(seconds * gpu.spec.clock_ghz * 1e9); }

  // ---- Limits (cudaLimit and CUlimit have the same numbers): UNSUPPORTED_LIMIT for a number that is none
  CUresult limit(int which, size_t& value) const;
  CUresult set_limit(int which, size_t value);

  /// A point at which the host waits for the device: printf output appears here, as on hardware.
  void synchronize();
  /// Output of device code. So much is kept until the host waits; more is written out early, and nothing is lost: on an
  /// H100 under CUDA 13.0, 2.2 MB of lines came out whole through a FIFO of 1 MiB (2026-11-22).
  void print(const std::string& text);

  /// Before a launch: who watches it. Ends the process with a sentence where the options cannot be had.
  void observe();
  /// Further observers of the launches to come; they replace those of the last call.
  void watch(std::vector<Observer*> observers) { watchers_ = std::move(observers); }

  /// The race check in the launches to come, or the quick ones, whatever GEN5_CHECK says.
  void look_for_races(bool races);

  /// What the launches of this process added up to, for GEN5_COUNTERS.
  void add(const std::string& kernel, const LaunchStats& stats);
  /// The same of launches that ran side by side: `all` is what they took together. Milliseconds of a cycle of it.
  double add(const std::vector<std::pair<std::string, LaunchStats>>& launches, LaunchStats all);
  void print_counters() const;

 private:
  State();
  void write_output();
  /// A diagnosis of a kernel: for the user's eyes, and for the report.
  void tell(const Diagnosis& d);
  std::unordered_map<const Module*, std::unique_ptr<Module>> modules_;
  std::set<const Kernel*> kernels_;
  std::map<const Stream*, std::unique_ptr<Stream>> streams_;
  std::map<const Event*, std::unique_ptr<Event>> events_;
  uint64_t next_stream_ = 3;
  using PoolAttributes = std::map<int, uint64_t>;
  std::map<const void*, std::unique_ptr<PoolAttributes>> pools_;
  void* default_pool_ = nullptr;
  std::string device_output_;
  std::map<int, size_t> limits_;
  double slower_ms_ = 0;  // that launches took longer than at the highest clock
  std::unique_ptr<Observation> observation_;
  std::atomic<bool> busy_at_end_ = false;
  bool waited_ = false, whole_ = false;  // what a fork() that goes on has the lock for
  bool child_ = false, lost_ = false;    // what fork() has made of it
  std::optional<bool> races_;            // what look_for_races said
  checks::UnwrittenMemory unwritten_;
  std::vector<Observer*> watchers_;
  IdleHost idle_host_;
  bool ended_ = false;  // nobody will ask for anything any more
  struct Totals {
    uint64_t launches = 0, cycles = 0, instructions = 0;
    double governed_ms = 0;  // at the clock that power leaves
    std::map<std::string, uint64_t> counters;
  };
  std::map<std::string, Totals> totals_;
};

/// No exception leaves an API call: what reaches this is a limit of tinygpu's own (its memory, a machine number
/// missing).
template <class F>
CUresult contained(F&& f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    say("host-out-of-memory", "the host has no memory left for the machine model");
    return CUDA_ERROR_OUT_OF_MEMORY;
  } catch (const std::exception& e) {
    say("internal", e.what());
    return CUDA_ERROR_UNKNOWN;
  }
}

/// What a query does with its answer: INVALID_VALUE where the caller has no place for it.
template <class T>
CUresult answer(T* to, std::type_identity_t<T> value) {
  if (!to) return CUDA_ERROR_INVALID_VALUE;
  *to = value;
  return CUDA_SUCCESS;
}

/// f(state, stream) for a live handle.
template <class F>
CUresult with_stream(State& s, const void* handle, F&& f) {
  Stream* p = s.stream(handle);
  return p ? CUresult(f(s, *p)) : CUDA_ERROR_INVALID_HANDLE;
}

/// The host waits for the device, and learns of a fault.
inline CUresult wait_for_device(State& s) {
  s.synchronize();
  return s.sticky;
}

/// Runs one API call under the lock. A host function in a graph may make none, and could destroy what runs.
template <class F>
CUresult locked(F&& f) {
  State& s = State::get();
  std::lock_guard lock(s.mutex);
  ++s.calls;
  if (s.in_host_function) return CUDA_ERROR_NOT_PERMITTED;
  return contained([&] { return CUresult(f(s)); });
}

/// What an API call does with work that has been submitted: all but those that submit some, and questions that have
/// nothing to do with it, run it first.
enum class Pending : uint8_t { runs, stays };

/// The same; a sticky error comes first.
template <Pending pending = Pending::runs, class F>
CUresult guarded(F&& f) {
  return locked([&](State& s) {
    if (s.sticky != CUDA_SUCCESS) return s.sticky;
    if constexpr (pending == Pending::runs) {
      if (const CUresult e = s.settle(); e != CUDA_SUCCESS) return e;
      if (s.sticky != CUDA_SUCCESS) return s.sticky;
    }
    return CUresult(f(s));
  });
}

}  // namespace tinygpu::cuda
