#include "common/tinygpu/check/early_waits.h"

#include <fmt/format.h>

namespace tinygpu::checks {

uint32_t EarlyWaits::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::mbarriers) ? interests : 0;
}

void EarlyWaits::on_launch(const Launch& launch) { books_.clear(launch); }

void EarlyWaits::on_cta(const Cta& cta, bool, uint64_t) { books_.close(cta); }

void EarlyWaits::look(Barrier& b, const Sync& s) {
  if (b.told || !b.waiter.launch || !b.expecter.launch) return;
  // Who fills a buffer may wait like this for its own earlier copy.
  const bool same = b.waiter.warp == b.expecter.warp && b.waiter.cta.x == b.expecter.cta.x &&
                    b.waiter.cta.y == b.expecter.cta.y && b.waiter.cta.z == b.expecter.cta.z;
  if (same) return;
  b.told = true;
  b.waiter.report({.code = "mbarrier-wait-passes-initially",
                   .severity = Severity::warning,
                   .message = fmt::format("a wait passes before the first phase of the mbarrier at shared offset {:#x} "
                                          "of CTA rank {} has ended, and bytes are expected there in that phase",
                                          s.offset, s.cta->rank),
                   .help = "the first phase has parity 0: let a consumer begin with 0 and flip; only who waits for a "
                           "free slot begins with 1, on the mbarrier on which consumers arrive",
                   .where = b.waiter.where(b.waited),
                   .label = "asks for parity 1, and passes at once",
                   .others = {{b.expecter.where(b.expected), "bytes are expected here"}}});
}

void EarlyWaits::on_sync(const Sync& s) {
  using Kind = Sync::Kind;
  if (s.kind == Kind::init) {
    books_.of(*s.cta)[s.offset] = {};
    return;
  }
  if (s.kind != Kind::inval && s.kind != Kind::phase && s.kind != Kind::passed && s.kind != Kind::expect_tx) return;
  Barriers* barriers = books_.find(*s.cta);
  if (!barriers) return;
  const auto it = barriers->find(s.offset);
  if (it == barriers->end()) return;
  Barrier& b = it->second;
  if (s.kind == Kind::inval || s.kind == Kind::phase) {
    barriers->erase(it);
  } else if (s.kind == Kind::passed && !b.waiter.launch) {
    b.waiter = *s.who;
    b.waited = s.time;
    look(b, s);
  } else if (s.kind == Kind::expect_tx && s.value && s.who && !b.expecter.launch) {
    b.expecter = *s.who;
    b.expected = s.time;
    look(b, s);
  }
}

}  // namespace tinygpu::checks
