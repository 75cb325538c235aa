#include "common/tinygpu/machine/chip/dispatcher.h"

#include <algorithm>
#include <tuple>

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu {

Dispatcher::Dispatcher(const LaunchConfig& c, uint64_t first, double interval)
    : config_(c),
      clusters_{c.grid.x / c.cluster.x, c.grid.y / c.cluster.y, c.grid.z / c.cluster.z},
      cluster_size_(uint32_t(c.cluster.count())),
      total_(clusters_.count()),
      handed_out_(double(first)),
      interval_(interval) {}

Dim3 Dispatcher::id(uint64_t n) const {
  return {uint32_t(n % clusters_.x), uint32_t(n / clusters_.x % clusters_.y), uint32_t(n / clusters_.x / clusters_.y)};
}

bool Dispatcher::take(Dim3& first_cta) {
  if (!left()) return false;
  const Dim3 c = id(next_++);
  first_cta = {c.x * config_.cluster.x, c.y * config_.cluster.y, c.z * config_.cluster.z};
  return true;
}

void Dispatcher::fill(const std::vector<std::unique_ptr<Domain>>& domains) {
  const auto sooner = [](const Domain& a, const Domain& b) {
    return std::make_tuple(a.room_since(), a.clusters.size(), a.index) <
           std::make_tuple(b.room_since(), b.clusters.size(), b.index);
  };
  while (left()) {
    Domain* place = nullptr;
    for (auto& d : domains)
      if (d->has_room() && (!place || sooner(*d, *place))) place = d.get();
    if (!place) return;
    handed_out_ = std::max(handed_out_, double(place->room_since()));
    const uint64_t linear = next_++;
    place->start_cluster(id(linear), linear, uint64_t(handed_out_));
    handed_out_ += interval_;
  }
}

}  // namespace tinygpu
