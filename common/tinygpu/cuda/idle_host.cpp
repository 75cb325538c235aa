#include "common/tinygpu/cuda/idle_host.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "common/tinygpu/base/clean_thread.h"
#include "common/tinygpu/cuda/host_touches.h"
#include "common/tinygpu/cuda/state.h"

namespace tinygpu::cuda {
namespace {

// A host that has not called for so long may be waiting for what kernels write. It is if it touches little memory of
// the device, again and again: who fills a buffer touches much. What else a host does without calling takes no time of
// the device, however long: what it submits then runs beside what it has submitted before.
constexpr std::chrono::milliseconds kQuiet{200};
constexpr std::chrono::milliseconds kLook{20};
constexpr int kLooks = 3;
constexpr uint64_t kLittle = 64 << 10, kHugePage = 2 << 20;
// Then it runs whatever the host does: one that looks at much memory shall not wait forever.
constexpr std::chrono::seconds kPatience{5};

/// The host has not called since `seen`. It waits for what has been submitted, or nothing says that it does not; false
/// if it calls.
bool host_waits(State& s, uint64_t seen) {
  {
    const std::lock_guard lock(s.mutex);
    if (s.submitted.empty()) return true;
  }
  const auto begin = std::chrono::steady_clock::now();
  int looks = 0;
  while (looks < kLooks && std::chrono::steady_clock::now() - begin < kPatience) {
    if (!forget_host_touches()) return true;
    std::this_thread::sleep_for(kLook);
    if (s.calls != seen) return false;
    const auto touched =
        host_touched([&](uint64_t begin, uint64_t end) { return s.gpu.memory.host_reaches(begin, end); });
    if (!touched) return true;
    const bool little = *touched && (*touched <= kLittle || *touched == kHugePage);
    looks = little ? looks + 1 : 0;
  }
  return true;
}

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
        if (s.calls == seen && host_waits(s, seen)) break;
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
