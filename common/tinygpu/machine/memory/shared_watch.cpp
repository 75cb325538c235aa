#include "common/tinygpu/machine/memory/shared_watch.h"

#include <fmt/format.h>

#include <algorithm>

namespace tinygpu {

SharedWatch& SharedWatch::of(Cta& cta) {
  SharedWatch& watch = cta.extensions.get<SharedWatch>();
  if (watch.marks_.empty()) watch.marks_.resize(cta.shared.size() / kGrain + 1);
  return watch;
}

SharedWatch& SharedWatch::make_for_store(Cta& cta) {
  if (cta.cluster.domain.launch.config.program->has_async_readers()) return of(cta);
  return cta.extensions.get<SharedWatch>();
}

uint32_t SharedWatch::issued(uint32_t offset, uint32_t bytes, bool writes, const Origin& who) {
  flights_.push_back({++next_, offset, offset + bytes, writes, who});
  low_ = std::min(low_, offset);
  high_ = std::max(high_, offset + bytes);
  return next_;
}

void SharedWatch::landed(uint32_t number) {
  const auto flight = std::ranges::lower_bound(flights_, number, {}, &Flight::number);
  if (flight == flights_.end() || flight->number != number) return;
  const bool at_edge = flight->low == low_ || flight->high == high_;
  flights_.erase(flight);
  if (at_edge) bound();
}

void SharedWatch::bound() {
  const uint32_t low = low_, high = high_;
  low_ = ~0u;
  high_ = 0;
  for (const Flight& f : flights_) {
    low_ = std::min(low_, f.low);
    high_ = std::max(high_, f.high);
    if (low_ == low && high_ == high) return;  // no flight lies outside what was the bound
  }
}

void SharedWatch::check(Warp& w, const Access& a, bool load, const char* verb) const {
  for (uint32_t m = a.mask; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    const uint32_t at = a.offset[lane];
    for (const Flight& f : flights_) {
      if (at >= f.high || at + a.bytes <= f.low || (load && !f.writes)) continue;
      const Where copy = f.who.where();
      w.report(Severity::error, "async-not-complete",
               fmt::format("ordinary {} of {} bytes at shared offset {:#x} while a copy that {} there is in flight: {} "
                           "(ptx line {})",
                           verb, a.bytes, at, f.writes ? "lands" : "reads", copy.ptx_text, copy.ptx_line),
               f.writes
                   ? "wait first for the phase of the copy's mbarrier that counts its bytes; a barrier of threads "
                     "does not wait for copies"
                   : "close the copy's group with cp.async.bulk.commit_group and wait with "
                     "cp.async.bulk.wait_group.read in the thread that issued it, before the buffer is written again",
               lane);
      return;
    }
  }
}

uint32_t SharedWatch::tick() {
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

void SharedWatch::fenced(int warp) {
  if (warp < 0) {
    covered_ = tick();
    return;
  }
  const size_t i = size_t(warp);
  covered_ = std::max({covered_, acquired_[i], all_acquired_});
  fenced_[i] = tick();
}

bool SharedWatch::any_untold() const {
  for (uint32_t warp = 0; warp < kWarps; ++warp)
    if (last_store_[warp] && !told(last_store_[warp], warp)) return true;
  return false;
}

void SharedWatch::report_untold(const Origin& who, const char* reader, uint32_t offset, Severity severity) {
  who.report(
      severity, "proxy-fence-missing",
      fmt::format("{} reads shared offset {:#x}, which ordinary stores have written and no fence.proxy.async "
                  "has handed to the async proxy since: it may read what lay there before",
                  reader, offset),
      "run fence.proxy.async.shared::cta in every storing thread, between its stores and the barrier behind which the "
      "reader is issued (or in the thread that issues it, behind the barrier)");
}

}  // namespace tinygpu
