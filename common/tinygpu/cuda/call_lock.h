// The lock that every API call holds.
#pragma once
#include <atomic>
#include <chrono>
#include <mutex>
#include <new>
#include <thread>

namespace tinygpu::cuda {

/// A host function may call from within a call, so a thread can have it several times.
class CallLock {
 public:
  void lock() {
    // A thread that calls without a pause would have it again before other threads saw that it was free.
    while (claimed_ && owner_ != std::this_thread::get_id()) [[unlikely]] std::this_thread::sleep_for(kPause);
    mutex_.lock();
    take();
  }
  /// Goes before threads that call lock() meanwhile. Asks again and again: ThreadSanitizer does not see a lock that is
  /// waited for with a deadline. One thread at a time.
  bool try_lock_for(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    claimed_ = true;
    bool mine;
    while (!(mine = mutex_.try_lock()) && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(kPause);
    claimed_ = false;
    if (mine) take();
    return mine;
  }
  void unlock() {
    if (--depth_ == 0) owner_ = std::thread::id();
    mutex_.unlock();
  }
  /// In a copy of the process that has this thread alone: it holds the lock as often as before, under another number.
  void copied() {
    auto* fresh = new (&mutex_) std::recursive_mutex;
    for (int i = 0; i < depth_; ++i) fresh->lock();
  }
  /// How often the thread that asks, and has it, has it.
  int depth() const { return depth_; }

 private:
  static constexpr std::chrono::microseconds kPause{100};
  void take() {
    ++depth_;
    owner_ = std::this_thread::get_id();
  }
  std::recursive_mutex mutex_;
  int depth_ = 0;
  std::atomic<std::thread::id> owner_;
  std::atomic<bool> claimed_ = false;
};

}  // namespace tinygpu::cuda
