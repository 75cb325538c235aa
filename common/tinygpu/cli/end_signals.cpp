#include "common/tinygpu/cli/end_signals.h"

#include <initializer_list>

namespace tinygpu::cli {

EndSignals::EndSignals() {
  sigemptyset(&taken_);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) {
    struct sigaction now;
    if (sigaction(s, nullptr, &now) == 0 && now.sa_handler != SIG_IGN) sigaddset(&taken_, s);
  }
  // Where it is ignored, waiting for a child fails.
  struct sigaction usual = {};
  usual.sa_handler = SIG_DFL;
  sigaction(SIGCHLD, &usual, &child_before_);
  sigaddset(&taken_, SIGCHLD);
  sigprocmask(SIG_BLOCK, &taken_, &before_);
}

void EndSignals::restore() {
  sigaction(SIGCHLD, &child_before_, nullptr);
  sigprocmask(SIG_SETMASK, &before_, nullptr);
}

int EndSignals::await_child() {
  int s;
  do {
    s = sigwaitinfo(&taken_, nullptr);
  } while (s < 0);
  return s == SIGCHLD ? 0 : s;
}

}  // namespace tinygpu::cli
