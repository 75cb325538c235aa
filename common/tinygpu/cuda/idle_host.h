// A host that has submitted work and does not call any more may be looking at memory that the work will write: then it
// runs without a call.
#pragma once
#include <memory>

namespace tinygpu::cuda {

class State;

class IdleHost {
 public:
  IdleHost();
  ~IdleHost();
  /// Work has been submitted. False: there is no thread to run it.
  bool watch(State& s);
  /// In the child of a fork(), which has no other threads.
  void forked();

 private:
  struct Watcher;
  std::unique_ptr<Watcher> watcher_;
};

}  // namespace tinygpu::cuda
