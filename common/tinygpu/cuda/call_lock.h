// The lock that every API call holds.
#pragma once
#include <chrono>
#include <mutex>
#include <thread>

namespace tinygpu::cuda {

/// A host function may call from within a call, so a thread can have it several times.
class CallLock {
 public:
  void lock() {
    mutex_.lock();
    ++depth_;
  }
  /// Asks again and again: ThreadSanitizer does not see a lock that is waited for with a deadline.
  bool try_lock_for(std::chrono::milliseconds patience) {
    const auto end = std::chrono::steady_clock::now() + patience;
    while (!mutex_.try_lock()) {
      if (std::chrono::steady_clock::now() >= end) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ++depth_;
    return true;
  }
  void unlock() {
    --depth_;
    mutex_.unlock();
  }
  /// How often the thread that asks, and has it, has it.
  int depth() const { return depth_; }

 private:
  std::recursive_mutex mutex_;
  int depth_ = 0;
};

}  // namespace tinygpu::cuda
