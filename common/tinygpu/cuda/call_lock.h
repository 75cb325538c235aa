// The lock that every API call holds.
#pragma once
#include <chrono>
#include <mutex>

namespace tinygpu::cuda {

/// A host function may call from within a call, so a thread can have it several times.
class CallLock {
 public:
  void lock() {
    mutex_.lock();
    ++depth_;
  }
  bool try_lock_for(std::chrono::milliseconds patience) {
    if (!mutex_.try_lock_for(patience)) return false;
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
  std::recursive_timed_mutex mutex_;
  int depth_ = 0;
};

}  // namespace tinygpu::cuda
