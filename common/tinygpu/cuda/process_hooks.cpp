#include "common/tinygpu/cuda/process_hooks.h"

#include <chrono>
#include <new>

#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/exit_code.h"
#include "common/tinygpu/cuda/memory.h"
#include "common/tinygpu/cuda/process.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/state.h"
#include "common/tinygpu/cuda/unwritable.h"

namespace tinygpu::cuda {

void ProcessHooks::before_fork() {
  constexpr std::chrono::milliseconds kPatience{50};
  waited_ = s_.mutex.try_lock_for(kPatience);
  whole_ = waited_ && s_.mutex.depth() == 1;  // else a graph's host function forks, in its launch
}

void ProcessHooks::after_fork_in_parent() {
  if (waited_) s_.mutex.unlock();
}

void ProcessHooks::after_fork_in_child() {
  child_ = true;
  log_forked();
  forget_errors();
  s_.observers.forked();
  new (&s_.mutex) CallLock;  // it has the parent's thread for its owner
  s_.idle_host.forked();
  if (whole_) {
    s_.submitted.clear();  // the parent's to do
    s_.totals.clear();
    s_.output.clear();
    s_.options.threads = 1;
    s_.machine.run_by(s_.options);
  } else {
    lost_ = true;
    s_.in_host_function = false;
    s_.sticky = CUDA_ERROR_NOT_INITIALIZED;
  }
}

void ProcessHooks::at_exit() {
  if (lost_) return;
  constexpr std::chrono::seconds kPatience{2};
  const std::unique_lock lock(s_.mutex, kPatience);
  if (!lock) {
    busy_at_end_ = true;
    print_error("tinygpu: the program has ended while a kernel runs: of that kernel nothing is told or written\n");
    for (const char* file : {"GEN5_TRACE", "GEN5_PROFILE_JSON", "GEN5_REPORT"})
      if (!variable(file).empty()) say_unwritable(file);
    return;
  }
  ended_ = true;
  s_.synchronize();
  on_clean_thread([&] {
    tell_leaks(s_);
    s_.machine.tell_coverage();
    log_end();
    s_.observers.finish();
    if (s_.options.counters) s_.totals.print();
  });
}

}  // namespace tinygpu::cuda
