// Ctrl-C, and the other signals that ask a process to end: taken when there is time to tidy up.
#pragma once
#include <csignal>

namespace tinygpu::cli {

/// As long as this lives, such a signal waits; the process ends by it behind this, or when it is raised again. What was
/// ignored stays so. Only for a process with one thread.
class EndSignals {
 public:
  EndSignals();
  ~EndSignals() { restore(); }
  EndSignals(const EndSignals&) = delete;
  EndSignals& operator=(const EndSignals&) = delete;
  /// Of a child, before it becomes another program.
  void restore();
  /// Waits until a child has ended: 0; or for a signal that asks to end: its number.
  int await_child();

 private:
  sigset_t taken_, before_;
  struct sigaction child_before_;
};

}  // namespace tinygpu::cli
