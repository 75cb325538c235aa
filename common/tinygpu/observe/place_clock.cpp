#include "common/tinygpu/observe/place_clock.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::observe {

std::unique_ptr<Observer> PlaceClock::another() {
  const std::lock_guard lock(mutex_);
  beside_ = true;
  return std::make_unique<PlaceClock>();
}

void PlaceClock::on_launch(const Launch& launch) {
  const std::lock_guard lock(mutex_);
  issued_.clear();
  moments_.clear();
  start_ = launch.start_time;
  beside_ = false;
}

void PlaceClock::on_issue(const AsyncOperation& o) {
  const std::lock_guard lock(mutex_);
  issued_[o.id] = o.issued;
  add(o.who, o.issued, o.issued);
}

void PlaceClock::on_access(const MemoryAccess& a) {
  if (!a.operation || !a.operation->operation) return;
  const std::lock_guard lock(mutex_);
  if (const auto issued = issued_.find(a.operation->operation); issued != issued_.end())
    add(*a.operation, a.time, issued->second);
}

void PlaceClock::add(const Origin& who, uint64_t time, uint64_t issued) {
  const int line = int(who.function->instruction(*who.op).pos.line);
  uint64_t& first = moments_.try_emplace({who.cta.id, who.warp, line, time}, issued).first->second;
  first = std::min(first, issued);
}

std::optional<uint64_t> PlaceClock::of(const Where& place) const {
  const std::lock_guard lock(mutex_);
  if (place.cycle < 0 || place.cta[0] < 0 || beside_) return std::nullopt;
  const uint64_t time = start_ + uint64_t(place.cycle);
  if (place.operation.empty()) return time;
  const Dim3 cta{uint32_t(place.cta[0]), uint32_t(place.cta[1]), uint32_t(place.cta[2])};
  const auto at = moments_.find({cta, place.warp, place.ptx_line, time});
  return at == moments_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace tinygpu::observe
