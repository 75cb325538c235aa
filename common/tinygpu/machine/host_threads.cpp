#include "common/tinygpu/machine/host_threads.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "common/tinygpu/base/clean_thread.h"

namespace tinygpu {
namespace {

// Handing calls to other threads and waiting for them costs some microseconds: work that takes less stays in this one.
constexpr std::chrono::microseconds kWorthSharing{20};

/// The next window comes soon: who sleeps has to be woken. About 20 µs.
constexpr int kSpins = 500;

/// Returns when `word` is another one.
void wait_while(const std::atomic<int>& word, int value) {
  for (int i = 0; i < kSpins; ++i) {
    if (word.load(std::memory_order_acquire) != value) return;
    _mm_pause();
  }
  word.wait(value, std::memory_order_acquire);
}

}  // namespace

int host_processors() {
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0) return CPU_COUNT(&mine);
  return std::max(1, int(std::thread::hardware_concurrency()));
}

uint64_t host_memory() { return uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE)); }

/// The caller opens a round, takes part, and closes it. Who is not there in time is not waited for, so a round takes no
/// longer where the host has no core for a helper; and in the child of a fork(), which has no helpers, the caller does
/// all. Nothing in here runs, or takes a lock, when the process ends.
class HostThreads::Pool {
 public:
  explicit Pool(int threads) : threads(threads), parts_(size_t(threads)), helpers_(size_t(threads - 1)) {
    for (Helper& h : helpers_) {
      h.pool = this;
      h.own = size_t(&h - helpers_.data()) + 1;
      h.thread = start_thread(
          [](void* to) -> void* {
            Helper& h = *static_cast<Helper*>(to);
            std::fesetenv(FE_DFL_ENV);
            h.pool->help(h.own);
            return nullptr;
          },
          &h);
      if (!h.thread) break;
    }
  }
  ~Pool() {
    over_ = true;
    begin();
    for (Helper& h : helpers_)
      if (h.thread && getpid() == process_) pthread_join(*h.thread, nullptr);
  }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  const int threads;
  std::chrono::steady_clock::duration last{kWorthSharing};  // what the calls before took

  void run(size_t n, const std::function<void(size_t)>& f) {
    f_ = &f;
    used_ = std::min(parts_.size(), n);
    for (size_t k = 0; k < used_; ++k) {
      parts_[k].next.store(n * k / used_, std::memory_order_relaxed);
      parts_[k].end = n * (k + 1) / used_;
    }
    inside_.store(kOpen, std::memory_order_release);
    begin();
    work(0);
    inside_.fetch_and(~kOpen, std::memory_order_acq_rel);
    for (int left; (left = inside_.load(std::memory_order_acquire)) != 0;) wait_while(inside_, left);
    if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  }

 private:
  static constexpr int kOpen = 1, kOne = 2;
  /// Neighbours go to the same thread each time, as its caches have them; who is through takes what others have left.
  struct alignas(64) Part {
    std::atomic<size_t> next = 0;
    size_t end = 0;
  };
  struct Helper {
    Pool* pool = nullptr;
    size_t own = 0;  // its part
    std::optional<pthread_t> thread;
  };

  void begin() {
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }

  void help(size_t own) {
    for (int seen = 0;;) {
      wait_while(round_, seen);
      seen = round_.load(std::memory_order_acquire);
      if (over_) return;
      int inside = inside_.load(std::memory_order_relaxed);
      while ((inside & kOpen) && !inside_.compare_exchange_weak(inside, inside + kOne, std::memory_order_acquire)) {
      }
      if (!(inside & kOpen)) continue;
      work(own);
      if (inside_.fetch_sub(kOne, std::memory_order_acq_rel) == kOne) inside_.notify_all();
    }
  }

  void work(size_t own) {
    try {
      for (size_t k = 0; k < used_; ++k) {
        Part& p = parts_[(own + k) % used_];
        if (p.next.load(std::memory_order_relaxed) >= p.end) continue;
        for (size_t i; (i = p.next.fetch_add(1, std::memory_order_relaxed)) < p.end;) (*f_)(i);
      }
    } catch (...) {
      const std::lock_guard lock(throwing_);
      thrown_ = std::current_exception();
    }
  }

  std::atomic<int> round_ = 0;
  std::atomic<int> inside_ = 0;  // kOpen while helpers may come, and kOne for each that is in there
  std::atomic<bool> over_ = false;
  const std::function<void(size_t)>* f_ = nullptr;
  size_t used_ = 0;
  std::vector<Part> parts_;
  std::mutex throwing_;
  std::exception_ptr thrown_;
  const pid_t process_ = getpid();
  std::vector<Helper> helpers_;
};

HostThreads::HostThreads() = default;
HostThreads::~HostThreads() = default;

void HostThreads::run(int threads, size_t n, const std::function<void(size_t)>& f) {
  if (!pool_ || pool_->threads != threads) pool_ = std::make_unique<Pool>(threads);
  const auto start = std::chrono::steady_clock::now();
  if (pool_->last < kWorthSharing) {
    for (size_t i = 0; i < n; ++i) f(i);
  } else {
    pool_->run(n, f);
  }
  pool_->last = std::chrono::steady_clock::now() - start;
}

}  // namespace tinygpu
