#include "common/tinygpu/cuda/state.h"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "common/tinygpu/base/readable_name.h"
#include "common/tinygpu/cuda/calls.h"
#include "common/tinygpu/cuda/exit_code.h"
#include "common/tinygpu/cuda/or_exit.h"
#include "common/tinygpu/cuda/show.h"
#include "common/tinygpu/cuda/unwritable.h"

namespace tinygpu::cuda {

namespace {

// Never destroyed: programs unregister their fatbins from atexit handlers and destructors in any order.
std::atomic<State*> state = nullptr;
std::mutex making;

/// fork() waits while another thread makes the state, which takes some milliseconds; a child could not go on with it.
[[gnu::constructor]] void handle_forks() {
  pthread_atfork(
      [] {
        making.lock();
        if (State* s = state) s->hooks.before_fork();
      },
      [] {
        if (State* s = state) s->hooks.after_fork_in_parent();
        making.unlock();
      },
      [] {
        if (State* s = state) s->hooks.after_fork_in_child();
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
    : options(or_exit(api::options_from_environment)),
      machine(or_exit([&] { return api::spec_of(options); }), options) {
  machine.read_sources(source_line);
  machine.on_output([this](const std::string& text) { output.add(text); });
  machine.on_diagnosis([this](const Diagnosis& d) {
    show(d);
    observers.add(d);
  });
  machine.memory().on_unmarked = [](uint64_t bytes) {
    static bool told = false;
    if (std::exchange(told, true)) return;
    print_error(
        fmt::format("tinygpu: reads of memory that was never written are told for 4 GB at a time: not for this "
                    "allocation of {} bytes, or others beyond\n",
                    bytes));
  };
  show_full_names(options.full_names);
  log_begin();
  set_code_of_errors(options.exit_code);
  std::atexit([] { get().hooks.at_exit(); });
} catch (const std::exception& e) {  // of the machine: options and profile have ended in or_exit()
  say("out-of-memory", e.what(), "the machine's memory is a range of addresses: look at ulimit -v");
  std::_Exit(1);
}

void State::fault(const Diagnosis& d) {
  output.write();
  std::fflush(stdout);
  show(d);
  observers.add(d);
  sticky = error_of(d);
}

void State::reset() {
  if (hooks.is_lost()) return;
  synchronize();
  sticky = CUDA_SUCCESS;
  modules.reset();
  graphs = Graphs();
  graph_memory.reset();
  streams.reset();
  events.reset();
  pools.reset();
  limits.reset();
  machine.memory().clear();
}

CUresult State::has_submitted(const Stream& stream) {
  const bool at_once = host_reads_memory && &stream == &streams.legacy();
  if (at_once || hooks.ended() || submitted.full() || !idle_host.watch(*this)) return settle();
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
  return judged.pageable ? settle() : has_submitted(stream);
}

CUresult State::settle() { return submitted.run(*this); }

void State::host_is_idle() {
  if (hooks.ended() || sticky != CUDA_SUCCESS) return;
  contained([&] { return settle(); });
}

CUresult State::record_on(const void* event, Stream& stream) {
  if (!events.has(event)) return CUDA_ERROR_INVALID_HANDLE;
  Event& e = events.at(event);
  e.capture = stream.capture ? stream.capture->id : 0;
  e.behind.clear();
  if (stream.capture) {
    e.behind = stream.capture->front[&stream];
  } else if (submitted.empty()) {
    events.record(event, now_ms());
  } else {
    submitted.record(stream, e);
    return has_submitted(stream);
  }
  return CUDA_SUCCESS;
}

CUresult State::wait_on(Stream& stream, const void* event) {
  if (!events.has(event)) return CUDA_ERROR_INVALID_HANDLE;
  const Event& e = events.at(event);
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

void State::synchronize() {
  settle();
  output.write();
}

}  // namespace tinygpu::cuda
