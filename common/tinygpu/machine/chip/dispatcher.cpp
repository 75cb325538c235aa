#include "common/tinygpu/machine/chip/dispatcher.h"

#include <algorithm>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu {

Dispatcher::Dispatcher(const LaunchConfig& c)
    : config_(c),
      clusters_{c.grid.x / c.cluster.x, c.grid.y / c.cluster.y, c.grid.z / c.cluster.z},
      cluster_size_(uint32_t(c.cluster.count())),
      total_(clusters_.count()) {}

Dim3 Dispatcher::id(uint64_t n) const {
  return {uint32_t(n % clusters_.x), uint32_t(n / clusters_.x % clusters_.y), uint32_t(n / clusters_.x / clusters_.y)};
}

bool Dispatcher::take(Dim3& first_cta) {
  if (!left()) return false;
  const Dim3 c = id(next_++);
  first_cta = {c.x * config_.cluster.x, c.y * config_.cluster.y, c.z * config_.cluster.z};
  return true;
}

void Dispatcher::fill(const std::vector<std::unique_ptr<Domain>>& domains, uint64_t now) {
  // One cluster per domain and round: the grid spreads over the machine before SMs take a second CTA.
  for (bool placed = true; placed && left();) {
    placed = false;
    for (auto& d : domains) {
      if (!left()) break;
      if (!d->has_room(config_)) continue;
      const uint64_t linear = next_++;
      d->start_cluster(id(linear), linear, std::max(now, d->freed_at()));
      placed = true;
    }
  }
}

}  // namespace tinygpu
