// The ends of a process and its forks, as far as the state has to know of them.
#pragma once
#include <atomic>

namespace tinygpu::cuda {

class State;

class ProcessHooks {
 public:
  explicit ProcessHooks(State& s) : s_(s) {}
  /// fork() waits until other threads' calls are over, so that the child gets everything whole: for a short time, as
  /// a kernel may run for minutes, or wait for what the forking thread does next.
  void before_fork();
  void after_fork_in_parent();
  /// The child has one thread: it goes on with one, and leaves the parent's files alone. If there was a call all the
  /// same, the state may be half changed, and every call fails.
  void after_fork_in_child();
  /// The process ends: the files that were asked for are written. If a thread is in a call for seconds then, as with a
  /// kernel that runs forever, none is, and busy_at_end() says that no lock may be waited for.
  void at_exit();

  bool is_child() const { return child_; }
  bool is_lost() const { return lost_; }
  bool ended() const { return ended_; }
  bool busy_at_end() const { return busy_at_end_; }

 private:
  State& s_;
  bool waited_ = false, whole_ = false;  // what a fork() that goes on has the lock for
  bool child_ = false, lost_ = false;    // what fork() has made of the state
  bool ended_ = false;                   // no call can come that would wait for submitted work
  std::atomic<bool> busy_at_end_ = false;
};

}  // namespace tinygpu::cuda
