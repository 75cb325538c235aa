// The host threads that advance the partitions of a launch.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace tinygpu {

/// The processors that this process may run on.
int host_processors();
/// Bytes of memory that the host has.
uint64_t host_memory();

/// Threads of its own, kept from launch to launch. None of a library that is there for the whole process, such as
/// oneTBB: that takes its locks when the process ends, and waits forever in the child of a fork() for one that a thread
/// of the parent held.
class HostThreads {
 public:
  HostThreads();
  ~HostThreads();
  /// Calls f(0) … f(n − 1) on at most `threads` threads, this one included, and waits.
  void run(int threads, size_t n, const std::function<void(size_t)>& f);

 private:
  class Pool;
  std::unique_ptr<Pool> pool_;
};

}  // namespace tinygpu
