#include "common/tinygpu/cuda/idle_host.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {
namespace {

// What the host submits within so long of its last call runs beside what it has submitted before: long enough that it
// rarely depends on how busy the host is.
constexpr std::chrono::milliseconds kQuiet{200};

}  // namespace

struct IdleHost::Watcher {
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<bool> wanted = false;
  bool running = false;

  void run(State& s) {
    while (true) {
      {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return wanted.load(); });
        wanted = false;
      }
      uint64_t seen = s.calls;
      while (true) {
        std::this_thread::sleep_for(kQuiet);
        if (s.calls == seen) break;
        seen = s.calls;
      }
      const std::lock_guard lock(s.mutex);
      if (s.calls == seen) s.host_is_idle();
    }
  }
};

IdleHost::IdleHost() : watcher_(std::make_unique<Watcher>()) {}
IdleHost::~IdleHost() = default;

bool IdleHost::watch(State& s) {
  Watcher& w = *watcher_;
  if (w.wanted) return true;
  const std::lock_guard lock(w.mutex);
  w.wanted = true;
  if (!w.running) {
    struct Of {
      Watcher& watcher;
      State& state;
    };
    auto* of = new Of{w, s};
    const auto thread = start_thread(
        [](void* p) -> void* {
          const std::unique_ptr<Of> own(static_cast<Of*>(p));
          own->watcher.run(own->state);
          return nullptr;
        },
        of);
    w.running = thread.has_value();
    if (thread)
      pthread_detach(*thread);
    else
      delete of;
  }
  w.wake.notify_one();
  return w.running;
}

void IdleHost::forked() {
  (void)watcher_.release();  // a thread of the parent may have been in it
  watcher_ = std::make_unique<Watcher>();
}

}  // namespace tinygpu::cuda
