#include "common/tinygpu/check/unseen_phases.h"

#include <fmt/format.h>

namespace tinygpu::checks {

uint32_t UnseenPhases::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::mbarriers) ? interests : 0;
}

void UnseenPhases::on_launch(const Launch& launch) { books_.clear(launch); }

void UnseenPhases::on_cta(const Cta& cta, bool, uint64_t) { books_.close(cta); }

void UnseenPhases::on_sync(const Sync& s) {
  switch (s.kind) {
    case Sync::Kind::init: books_.of(*s.cta)[s.offset] = {}; break;
    case Sync::Kind::inval: books_.of(*s.cta).erase(s.offset); break;
    case Sync::Kind::phase: books_.of(*s.cta)[s.offset] = {s.value + 1, false}; break;
    case Sync::Kind::passed: books_.of(*s.cta)[s.offset].seen = true; break;
    case Sync::Kind::arrive: {
      Barrier& b = books_.of(*s.cta)[s.offset];
      if (!s.value || !b.phase || b.seen) break;
      b.seen = true;
      s.who->report(
          Severity::warning, "mbarrier-phase-unobserved",
          fmt::format("an arrive in phase {} of the mbarrier at shared offset {:#x} of CTA rank {} before any "
                      "thread has seen phase {} complete",
                      b.phase, s.offset, s.cta->rank, b.phase - 1),
          "let a test_wait or try_wait of each phase succeed before arriving for the next; a waiter that is "
          "late would see the parity come round again");
      break;
    }
    default: break;
  }
}

}  // namespace tinygpu::checks
