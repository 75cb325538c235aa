// The machine as a library: load a module, give it memory, launch kernels, run until something happens, look inside,
// observe. Whatever runs kernels does it through this: the stand-ins for CUDA's libraries (cuda/) and the C interface
// (gen5_machine.h).
//
//   Machine m(options);                       // or a MachineSpec
//   Module& module = m.load(ptx);
//   const uint64_t x = m.memory().allocate(4096);
//   m.launch(module.kernel("saxpy"), {.grid = {8}, .block = {128}, .parameters = bytes_of(x, 2.0f)});
//   const Stop stop = m.run();                // or run_until(cycle)
//   m.memory().read(x, result);
//
// A machine is used by one thread at a time.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/tinygpu/api/launch.h"
#include "common/tinygpu/api/memory.h"
#include "common/tinygpu/api/module.h"
#include "common/tinygpu/api/options.h"
#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/check/checks.h"
#include "common/tinygpu/check/unwritten_memory.h"
#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {
class GridScheduler;
}

namespace tinygpu::checks {
class Coverage;
class OrderPath;
}  // namespace tinygpu::checks

namespace tinygpu::api {

/// The machine that the options name. Throws ProfileError.
MachineSpec spec_of(const Options& options);

/// Why run() has returned.
struct Stop {
  enum class Why : uint8_t {
    done,   // all that was launched is over
    time,   // the cycle has been reached
    event,  // what was waited for has happened
    fault,  // a kernel was stopped; the others that ran, and all that were still to run, are dropped
  } why = Why::done;
  std::optional<Diagnosis> fault;
};

/// A kernel that is over.
struct Finished {
  uint64_t id = 0;  // as launch() gave it
  std::string kernel;
  uint64_t begin = 0;  // of the machine's clock
  LaunchStats stats;
};

/// What lanes wait for, in words: "the mbarrier at offset 1024"; "" if they run.
std::string text_of(const BlockReason& reason);

/// Where lanes of a warp are that run together, and what they wait for ("" if they run).
struct GroupView {
  uint32_t lanes = 0;
  Where where;
  std::string waits_for;
};
struct WarpView {
  uint32_t index = 0, live_lanes = 0;
  std::vector<GroupView> groups;
};
/// A CTA that is resident. Spans are valid until the machine runs again.
struct CtaView {
  uint64_t launch = 0;  // as launch() gave it
  std::string kernel;
  Dim3 id;
  uint32_t sm = 0, cluster_rank = 0;
  uint64_t begin = 0;               // of the machine's clock
  std::span<const uint8_t> shared;  // the window of shared memory from offset 0; the kernel's own begins at 1024
  std::vector<WarpView> warps;
};

class Machine {
 public:
  /// The profile that the options name. Throws ProfileError, and std::runtime_error where the host has no room for it.
  explicit Machine(const Options& options = {});
  Machine(MachineSpec spec, const Options& options);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  const MachineSpec& spec() const { return gpu_.spec; }
  Memory& memory() { return memory_; }
  const Memory& memory() const { return memory_; }
  /// SM cycles since it was made: where the next launch begins, or as far as all has run.
  uint64_t clock() const;
  /// SMs by %smid, in groups of `size` that lie in one GPC, as clusters are given them.
  std::vector<std::vector<uint32_t>> sm_groups(uint32_t size) const;
  /// Lets time pass.
  void advance(uint64_t cycles) { gpu_.clock += cycles; }
  /// Bytes that kernels may malloc.
  void set_heap(uint64_t bytes) { gpu_.heap_limit = bytes; }
  /// Bytes of stack that a thread may have; more where ptxas knows beforehand that a kernel needs more.
  void set_stack(uint64_t bytes) { gpu_.stack_limit = uint32_t(std::min<uint64_t>(bytes, kMostLocal)); }
  /// Kernels launched so far.
  uint64_t launches() const { return gpu_.grids; }

  // ---- Modules
  /// PTX text or a fatbin (a file's bytes). Throws LoadError.
  Module& load(std::span<const uint8_t> image);
  Module& load(std::string_view ptx);
  /// With what has been parsed already.
  std::unique_ptr<Module> load(std::shared_ptr<const ModuleSource> source);
  void unload(const Module& module);

  // ---- Launches
  /// Launches of one stream run one after the other, those of different streams beside each other. It begins when the
  /// machine runs. A number that names it. Throws LaunchRefused.
  uint64_t launch(const Kernel& kernel, LaunchRequest request, uint32_t stream = 0);
  Stop run() { return run_until(~0ull); }
  /// Until all is over, or nothing is left to happen before `cycle` of the clock: it stops between two exchanges with
  /// the chip's memory, so at most some hundred cycles later. Stopping changes no result and no cycle.
  Stop run_until(uint64_t cycle);
  /// The same until `happened`, which is asked between two exchanges.
  Stop run_until(const std::function<bool()>& happened);
  /// What has ended since the last call.
  std::vector<Finished> take_finished();

  // ---- What is seen of them
  /// Checks are attached already. Observers live as long as the machine runs; not while launches are under way.
  void attach(std::vector<Observer*> observers) { attached_ = std::move(observers); }
  /// The checks of the launches to come. A timing-only run has neither the quick ones nor the race check.
  void check_by(Checks checks);
  /// How launches run from now on: order, seed, threads, max_cycles, timing_only and strict_tmem.
  void run_by(const Options& options);
  /// Diagnoses then call things as these lines of CUDA do. `read` is called on any host thread.
  void read_sources(ReadLine read) { gpu_.options.source_line = std::move(read); }
  /// Diagnoses as they come, from any host thread, one at a time. Default: they are kept for take_diagnoses().
  void on_diagnosis(std::function<void(const Diagnosis&)> f);
  std::vector<Diagnosis> take_diagnoses();
  /// With Options::observation.coverage: what all launches so far have not put to the test, as notes.
  void tell_coverage();
  /// printf of device code. Default: it is kept for take_output().
  void on_output(std::function<void(const std::string&)> f);
  std::string take_output();

  // ---- Inspection, between two calls of run_until()
  std::vector<CtaView> ctas() const;
  /// Cells of an SM's Tensor Memory, row by row; empty if it has none, was never used, or the block leaves it.
  std::vector<uint32_t> tensor_memory(uint32_t sm, uint32_t lane, uint32_t column, uint32_t lanes,
                                      uint32_t columns) const;

  /// The machine within, for grids that streams, graphs and events order (cuda/submitted.h).
  Gpu& gpu() { return gpu_; }
  /// Before a launch that gpu() runs: its observers.
  void observe();

 private:
  struct Waiting {
    uint64_t id = 0;
    std::string kernel;
    LaunchConfig config;
    uint64_t not_before = 0;  // when it was launched
  };
  struct Running {
    uint64_t id = 0;
    uint32_t stream = 0;
    std::string kernel;
    const Launch* launch = nullptr;
    uint64_t begin = 0;
    uint64_t workspace = 0;
  };
  struct Queue {
    std::deque<Waiting> waiting;
    uint64_t ready = 0;  // when its last launch ended
    bool running = false;
  };
  void start_waiting();
  void ended(const Launch& launch, LaunchStats stats);
  void drop_all();
  void choose_checks();
  Stop run_for(uint64_t cycle, const std::function<bool()>& happened);

  Gpu gpu_;
  Memory memory_;
  checks::Level level_ = checks::Level::quick;  // that of checks_
  checks::AllChecks checks_;
  Checks wanted_ = Checks::quick;
  std::unique_ptr<checks::Coverage> coverage_;
  std::unique_ptr<checks::OrderPath> order_;
  std::unique_ptr<checks::UnwrittenMemory> unwritten_;
  std::vector<Observer*> attached_;
  std::vector<std::unique_ptr<Module>> modules_;
  uint64_t next_id_ = 1;
  std::map<uint32_t, Queue> queues_;
  std::unique_ptr<GridScheduler> scheduler_;
  uint64_t reached_ = 0;  // all has run up to here, or nothing is left to happen before
  std::vector<Running> running_;
  std::vector<Finished> finished_;
  std::mutex telling_;  // grids that run beside each other report from several host threads
  std::vector<Diagnosis> diagnoses_;
  std::string output_;
};

/// The word through which cooperative groups synchronise a grid: its address travels in %envreg1:%envreg2
/// (cooperative_groups/details/driver_abi.h). {size, barrier}, zero at launch. To be released when the grid is over.
uint64_t make_grid_workspace(Gpu& gpu);

}  // namespace tinygpu::api
