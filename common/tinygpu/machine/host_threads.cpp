#include "common/tinygpu/machine/host_threads.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <chrono>

#include "common/tinygpu/base/thread_sanitizer.h"

namespace tinygpu {
namespace {

// Handing calls to other threads and waiting for them costs some microseconds: work that takes less stays in this one.
constexpr std::chrono::microseconds kWorthSharing{20};

}  // namespace

struct HostThreads::Arena {
  explicit Arena(int n) : threads(n), arena(n) {}
  const int threads;
  tbb::task_arena arena;
  std::chrono::steady_clock::duration last{kWorthSharing};  // what the calls before took
};

HostThreads::HostThreads() = default;
HostThreads::~HostThreads() = default;

void HostThreads::run(int threads, size_t n, const std::function<void(size_t)>& f) {
  if (!arena_ || arena_->threads != threads) arena_ = std::make_unique<Arena>(threads);
  const auto start = std::chrono::steady_clock::now();
  if (arena_->last < kWorthSharing) {
    for (size_t i = 0; i < n; ++i) f(i);
    arena_->last = std::chrono::steady_clock::now() - start;
    return;
  }
  // Two places, so that calls that one thread makes in turn count as unordered all the same.
  char fork, join;
  happened_before(&fork);
  arena_->arena.execute([&] {
    tbb::parallel_for(
        size_t(0), n,
        // What it reads of its own closure comes before the order that it tells of: it is not judged.
        [&](size_t i) __attribute__((no_sanitize("thread"))) {
          happened_after(&fork);
          f(i);
          happened_before(&join);
        },
        tbb::simple_partitioner());
  });
  happened_after(&join);
  arena_->last = std::chrono::steady_clock::now() - start;
}

}  // namespace tinygpu
