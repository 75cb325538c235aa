// The host threads that advance the domains of a launch.
#pragma once
#include <cstddef>
#include <functional>
#include <memory>

namespace tinygpu {

/// So many threads of the process's pool. Kept from launch to launch: oneTBB gives back the memory of an arena that
/// its workers have been in only some time after the arena's end, if at all.
class HostThreads {
 public:
  HostThreads();
  ~HostThreads();
  /// Calls f(0) … f(n − 1) on at most `threads` threads, this one included, and waits.
  void run(int threads, size_t n, const std::function<void(size_t)>& f);

 private:
  struct Arena;
  std::unique_ptr<Arena> arena_;
};

}  // namespace tinygpu
