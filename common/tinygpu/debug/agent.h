// The debugger's side in the program: it watches every step, stops where it is asked to, shows the machine, and forks
// the process to keep moments of the past.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "common/tinygpu/base/diagnosis.h"
#include "common/tinygpu/machine/observe.h"

namespace tinygpu::debug {

/// A position is a number of steps: warp instructions and starts of CTAs since the process began. With one host thread
/// it is the same moment in every run.
class Agent : public Observer {
 public:
  using Observer::Observer;
  virtual void told(const Diagnosis&) = 0;
  /// The process ends.
  virtual void finish() = 0;
};

/// An agent of the debugger that listens at `socket`; `accesses`: watchpoints may be set. `copied` runs in a copy of
/// the process before anything else: it has no other threads. Null: no debugger listens there,
/// or it has a program already.
std::unique_ptr<Agent> attach(const std::string& socket, bool accesses, std::function<void()> copied);

}  // namespace tinygpu::debug
