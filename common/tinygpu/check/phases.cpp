#include "common/tinygpu/check/phases.h"

#include <fmt/format.h>

#include "common/tinygpu/machine/sync/mbarrier_name.h"

namespace tinygpu::checks {

uint32_t Phases::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::mbarriers) ? interests : 0;
}

void Phases::on_launch(const Launch& launch) { books_.clear(launch); }

void Phases::on_cta(const Cta& cta, bool, uint64_t) { books_.close(cta); }

void Phases::tell_unseen(const Barrier& b, const Sync& s) {
  s.who->report(Severity::warning, "mbarrier-phase-unobserved",
                fmt::format("an arrive in phase {} of {} of CTA rank {} before any thread has seen phase {} end",
                            b.phase, mbarrier_name(*s.cta, s.offset), s.cta->rank, b.phase - 1),
                "let a test_wait or try_wait of each phase succeed before the next phase's arrivals; a late waiting "
                "thread would see the old parity again");
}

void Phases::tell_early(Barrier& b, const Sync& s) {
  const First& f = *b.first;
  if (!f.waiter.launch || !f.expecter.launch) return;
  // Who fills a buffer may wait like this for its own earlier copy.
  if (f.waiter.cta == f.expecter.cta && f.waiter.warp == f.expecter.warp) return;
  f.waiter.report({.code = "mbarrier-wait-passes-initially",
                   .severity = Severity::warning,
                   .message = fmt::format("a wait passes before the first phase of {} of CTA rank {} has ended, and "
                                          "bytes are expected there in that phase",
                                          mbarrier_name(*s.cta, s.offset), s.cta->rank),
                   .help = "the first phase has parity 0: let a consumer begin with 0 and flip; only a producer that "
                           "waits for a free stage begins with 1, on the mbarrier on which consumers arrive",
                   .where = f.waiter.where(f.waited),
                   .label = "waits with parity 1, and passes at once",
                   .others = {{f.expecter.where(f.expected), "bytes are expected here"}}});
  b.first = nullptr;
}

void Phases::on_sync(const Sync& s) {
  using Kind = Sync::Kind;
  switch (s.kind) {
    case Kind::init: books_.of(*s.cta)[s.offset] = {0, true, std::make_unique<First>()}; break;
    case Kind::inval: books_.of(*s.cta).erase(s.offset); break;
    case Kind::phase: books_.of(*s.cta)[s.offset] = {s.value + 1, false, nullptr}; break;
    case Kind::passed: {
      Barrier& b = books_.of(*s.cta)[s.offset];
      b.seen = true;
      if (!b.first || b.first->waiter.launch) break;
      b.first->waiter = *s.who;
      b.first->waited = s.time;
      tell_early(b, s);
      break;
    }
    case Kind::expect_tx: {
      if (!s.value || !s.who) break;
      Barrier& b = books_.of(*s.cta)[s.offset];
      if (!b.first || b.first->expecter.launch) break;
      b.first->expecter = *s.who;
      b.first->expected = s.time;
      tell_early(b, s);
      break;
    }
    case Kind::arrive: {
      Barrier& b = books_.of(*s.cta)[s.offset];
      if (!s.value || !b.phase || b.seen) break;
      b.seen = true;
      tell_unseen(b, s);
      break;
    }
    default: break;
  }
}

}  // namespace tinygpu::checks
