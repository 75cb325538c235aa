#include "common/tinygpu/check/races/record.h"

namespace tinygpu::races {

uint32_t LaneMap::of(uint64_t byte) const {
  if (dense) {
    const uint64_t lane = (byte - first) / bytes;
    return byte >= first && lane < 32 ? 1u << lane & lanes : 0;
  }
  if (!at) return lanes;
  uint32_t out = 0;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const int lane = __builtin_ctz(m);
    out |= uint32_t(byte - (*at)[size_t(lane)] < bytes) << lane;
  }
  return out;
}

bool LaneMap::same(const LaneMap& o) const {
  if (lanes != o.lanes || bytes != o.bytes || dense != o.dense || together != o.together || one_value != o.one_value)
    return false;
  if (dense) return first == o.first;
  if (!at || !o.at) return at == o.at;
  for (uint32_t m = lanes; m; m &= m - 1) {
    const size_t lane = size_t(__builtin_ctz(m));
    if ((*at)[lane] != (*o.at)[lane]) return false;
  }
  return true;
}

uint32_t not_seen(const Record& r, uint32_t earlier, const Actor& by, uint32_t own, View view) {
  if (!r.component) return ~0u;
  const ClockRef& clock = by.sees->of[view].of(by.cluster, r.cluster);
  if (epoch_of(clock, r.component) >= r.epoch) return 0;
  if (!r.lane_components) return ~0u;
  uint32_t left = earlier;
  for (uint32_t m = earlier; m; m &= m - 1) {
    const size_t lane = size_t(__builtin_ctz(m));
    if (epoch_of(clock, r.lane_components->lane[lane]) >= r.epoch) left &= ~(1u << lane);
  }
  if (r.map.together && left != earlier) return 0;
  if (!left || view != happened || !by.threads) return left;
  const bool mine = (r.lane_components == by.threads->program && r.epoch <= by.now) ||
                    (r.lane_components == by.threads->copies && r.epoch <= by.copies);
  if (mine && r.map.together && !(by.lanes & ~r.map.lanes)) return 0;
  return mine ? left & ~own : left;
}

namespace {

bool reaches(const Record& from, const Record& to) {
  switch (from.order.scope) {
    case ptx::Scope::cta: return from.cta == to.cta && from.cluster == to.cluster;
    case ptx::Scope::cluster: return from.cluster == to.cluster;
    default: return true;
  }
}

}  // namespace

bool strong_pair(const Record& a, const Record& b) {
  return a.order.strong() && b.order.strong() && a.proxy == b.proxy && a.element == b.element && reaches(a, b) &&
         reaches(b, a);
}

}  // namespace tinygpu::races
