#include "common/tinygpu/check/proxy_fences.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/tinygpu/check/operation_proxy.h"

namespace tinygpu::checks {
namespace {

void tell_untold(const Origin& who, const std::string& reader, uint64_t offset, Severity severity) {
  who.report(
      severity, "proxy-fence-missing",
      fmt::format("{} reads shared offset {:#x}, which ordinary stores have written and no fence.proxy.async has made "
                  "visible to the async proxy since: it may read old data",
                  reader, offset),
      "execute fence.proxy.async.shared::cta in every storing thread, between its stores and the barrier before the "
      "reading operation (or in the thread that issues this operation, after the barrier)");
}

/// A warning for MMAs: CUTLASS's first Blackwell example has no such fence, and its authors see right results on a
/// B200.
Severity severity_of(const ptx::Instruction& i) {
  return i.traits().subject == ptx::Subject::tensor_memory ? Severity::warning : Severity::error;
}

}  // namespace

uint32_t ProxyFences::interests_in(const LaunchConfig& launch) const {
  return launch.program->uses(Program::async_proxy) ? interests : 0;
}

// ---- What is known of a CTA

void ProxyFences::Stores::set(uint64_t offset, uint64_t bytes, uint32_t mark) {
  if (!bytes || marks_.empty()) return;
  const uint64_t last = std::min<uint64_t>((offset + bytes - 1) / kGrain + 1, marks_.size());
  for (uint64_t i = offset / kGrain; i < last; ++i) marks_[i] = mark;
}

void ProxyFences::Stores::stored(int warp, const LaneAccess& lanes) {
  const uint32_t mark = warp < 0 ? 0 : now_ << kWarpBits | uint32_t(warp);
  if (warp >= 0) last_store_[size_t(warp)] = now_;
  if (lanes.dense) return set(lanes.low, lanes.high - lanes.low, mark);
  for (uint32_t m = lanes.lanes; m; m &= m - 1) {
    const uint32_t offset = lanes.offset[__builtin_ctz(m)];
    marks_[offset / kGrain] = mark;
    if (lanes.bytes > kGrain) marks_[offset / kGrain + 1] = mark;  // an access is aligned, and has up to 32 bytes
  }
}

uint32_t ProxyFences::Stores::tick() {
  // Moments have 26 bits. When they are used up, everything so far counts as told.
  if (++now_ >> (32 - kWarpBits)) {
    std::fill(marks_.begin(), marks_.end(), 0u);
    last_store_.fill(0);
    fenced_.fill(0);
    acquired_.fill(0);
    all_acquired_ = covered_ = 0;
    now_ = 1;
  }
  return now_;
}

void ProxyFences::Stores::fenced(int warp) {
  if (warp < 0) {
    covered_ = tick();
    return;
  }
  const size_t i = size_t(warp);
  covered_ = std::max({covered_, acquired_[i], all_acquired_});
  fenced_[i] = tick();
}

void ProxyFences::Stores::acquired(int warp) {
  if (warp < 0)
    all_acquired_ = tick();
  else
    acquired_[size_t(warp)] = tick();
}

bool ProxyFences::Stores::any_untold() const {
  for (uint32_t warp = 0; warp < kWarps; ++warp)
    if (last_store_[warp] && !told(last_store_[warp], warp)) return true;
  return false;
}

// ---- What happens

void ProxyFences::on_launch(const Launch& launch) { books_.clear(launch); }

void ProxyFences::on_cta(const Cta& cta, bool, uint64_t) { books_.close(cta); }

void ProxyFences::on_issue(const AsyncOperation& o) {
  if (proxy_of(o.kind) == Proxy::generic) return;
  for (const auto& use : o.shared_uses) {
    if (use.writes) continue;
    const Stores* stores = books_.find(*use.cta);
    if (!stores || !stores->any_untold()) continue;
    for (const auto& r : use.ranges)
      for (uint64_t at = r.offset; at < uint64_t(r.offset) + r.bytes; at += 16)
        if (stores->untold(at)) return tell_untold(o.who, "this copy", at, Severity::error);
  }
}

void ProxyFences::on_sync(const Sync& s) {
  switch (s.kind) {
    case Sync::Kind::passed:
    case Sync::Kind::acquire:
      if (Stores* stores = books_.find(*s.cta)) stores->acquired(s.who->warp);
      break;
    case Sync::Kind::barrier:
    case Sync::Kind::cluster:
      if (Stores* stores = books_.find(*s.cta)) stores->acquired(-1);
      break;
    case Sync::Kind::proxy_fence:
      if (!(s.value & Sync::kSharedMemory)) break;
      for (const auto& cta : s.cta->cluster.ctas)
        if (Stores* stores = books_.find(*cta)) stores->fenced(cta.get() == s.cta ? s.who->warp : -1);
      break;
    default: break;
  }
}

void ProxyFences::on_access(const MemoryAccess& a) {
  if (a.lanes) {
    if (a.kind == AccessKind::read) return;
    Stores& stores = books_.of(*a.cta);
    if (!stores.opened()) stores.open(a.cta->shared.size());
    stores.stored(&a.lanes->warp.cta() == a.cta ? int(a.lanes->warp.index()) : -1, *a.lanes);
    return;
  }
  if (a.proxy != Proxy::async) return;
  Stores* stores = books_.find(*a.cta);
  if (!stores) return;
  if (a.kind != AccessKind::read) {
    a.each([&](uint64_t at, uint64_t bytes, int) { stores->forget(at, bytes); });
    return;
  }
  // Copies are asked when they are issued; an MMA names its operands, and reads them when it executes.
  if (!a.tile || !*a.tile->operand || !stores->any_untold()) return;
  bool found = false;
  a.each([&](uint64_t at, uint64_t, int) {
    if (found || !stores->untold(at)) return;
    found = true;
    const ptx::Instruction& i = a.operation->function->instruction(*a.operation->op);
    tell_untold(*a.operation, fmt::format("{} of {}", a.tile->operand, i.name()), at, severity_of(i));
  });
}

}  // namespace tinygpu::checks
