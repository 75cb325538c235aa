// The process-wide state of both stand-ins: the machine, the context with what it holds, and the work that streams have
// been given.
#pragma once
#include <cuda.h>

#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/api/machine.h"
#include "common/tinygpu/cuda/call_lock.h"
#include "common/tinygpu/cuda/device_output.h"
#include "common/tinygpu/cuda/error.h"
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/green_contexts.h"
#include "common/tinygpu/cuda/idle_host.h"
#include "common/tinygpu/cuda/launch_observers.h"
#include "common/tinygpu/cuda/launch_totals.h"
#include "common/tinygpu/cuda/limits.h"
#include "common/tinygpu/cuda/links.h"
#include "common/tinygpu/cuda/memory_pools.h"
#include "common/tinygpu/cuda/modules.h"
#include "common/tinygpu/cuda/process_hooks.h"
#include "common/tinygpu/cuda/streams.h"
#include "common/tinygpu/cuda/submitted.h"
#include "common/tinygpu/cuda/virtual_memory.h"

namespace tinygpu::cuda {

class State {
 public:
  /// The one state; makes the machine at first use.
  static State& get();

  CallLock mutex;                            // held during every API call
  std::atomic<uint64_t> calls = 0;           // so far: whether the host is at work elsewhere
  std::atomic<bool> runtime_in_use = false;  // the runtime has made its primary context: read without the lock
  bool in_host_function = false;             // of a graph, which the thread with the lock runs
  ProcessHooks hooks{*this};

  // ---- The machine
  api::Options options;
  api::Machine machine;
  Gpu& gpu{machine.gpu()};  // for submitted.h alone
  LaunchObservers observers{options, [this] {
                              mutex.copied();
                              idle_host.forked();
                            }};
  LaunchTotals totals{machine, options.clock};
  DeviceOutput output;
  /// Simulated milliseconds since the machine was made.
  double now_ms() const { return ms(machine.clock()) + totals.slower_ms(); }
  /// Milliseconds of so many cycles at the highest clock.
  double ms(uint64_t cycles) const { return double(cycles) / (machine.spec().clock_ghz * 1e6); }
  /// Lets simulated time pass for work outside kernels.
  void advance_seconds(double seconds) { machine.advance(uint64_t(seconds * machine.spec().clock_ghz * 1e9)); }

  VirtualMemory virtual_memory{machine.memory()};
  GreenContexts green_contexts{machine};
  GraphMemory graph_memory{machine.memory()};

  // ---- The context
  /// A fault poisons it: every later call returns this, as on hardware.
  CUresult sticky = CUDA_SUCCESS;
  void fault(const Diagnosis& d);
  Graphs graphs;
  Streams streams{graphs};
  Events events;
  Modules modules;
  Links links;
  MemoryPools pools;
  Limits limits{machine};
  /// The end of the primary context (cudaDeviceReset): everything allocated, created or set in it is gone, the sticky
  /// error too. Kernels and variables of registered programs and of libraries load again when they are next used.
  void reset();

  // ---- Submitted work
  Submitted submitted{streams.legacy()};
  IdleHost idle_host;
  /// A host language has arrays in device memory and reads them without a call (session.h): what the default stream is
  /// given runs at once.
  std::atomic<bool> host_reads_memory = false;
  /// The stream has been given something: it waits for what may come beside it, if there is room for that.
  CUresult has_submitted(const Stream& stream);
  /// A copy or a fill on a stream. Its arguments are judged now. One of memory that is not pinned is done now, too.
  CUresult do_on(const Stream& stream, Work work);
  /// cudaEventRecord and cudaStreamWaitEvent: on a stream that captures they only say what comes after what.
  CUresult record_on(const void* event, Stream& stream);
  CUresult wait_on(Stream& stream, const void* event);
  /// Everything that has been submitted is done.
  CUresult settle();
  /// The host has not called for a while: the same, but no call is there to return an error.
  void host_is_idle();
  /// A point at which the host waits for the device: printf output appears here, as on hardware.
  void synchronize();
  /// Copies and fills that find this here say whether they are right, and do nothing.
  struct Rehearsal {
    bool pageable = false;  // one side is memory of which the device knows nothing
  };
  Rehearsal* rehearsal = nullptr;

 private:
  State();
};

}  // namespace tinygpu::cuda
