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
      first_(first),
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

void Dispatcher::fill(const std::vector<std::unique_ptr<SmPartition>>& partitions, double& handed_out) {
  const auto ctas = [](const SmPartition& d) {
    size_t n = 0;
    for (const Sm* sm : d.sms) n += sm->resident.size();
    return n;
  };
  handed_out = std::max(handed_out, double(first_));
  if (!turn_) turn_ = uint64_t(handed_out);
  const auto sooner = [&](const SmPartition& a, const SmPartition& b) {
    const uint64_t since_a = std::max(a.room_since(), turn_), since_b = std::max(b.room_since(), turn_);
    if (since_a != since_b) return since_a < since_b;
    return std::make_tuple(ctas(a), a.index) < std::make_tuple(ctas(b), b.index);
  };
  while (left()) {
    SmPartition* place = nullptr;
    for (auto& d : partitions)
      if (d->has_room() && (!place || sooner(*d, *place))) place = d.get();
    if (!place) return;
    handed_out = std::max(handed_out, double(place->room_since()));
    const uint64_t linear = next_++;
    place->start_cluster(id(linear), linear, uint64_t(handed_out));
    handed_out += interval_;
  }
}

}  // namespace tinygpu
