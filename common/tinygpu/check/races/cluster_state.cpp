#include "common/tinygpu/check/races/cluster_state.h"

#include "common/tinygpu/machine/chip/launch.h"

namespace tinygpu::races {

CtaState::CtaState(Components& components, const Cta& c) : cta(c) {
  for (uint32_t w = 0; w < c.warps.size(); ++w) warps.emplace_back(components, c, w);
}

MbarrierState& CtaState::mbarrier(Components& components, uint32_t offset) {
  MbarrierState& m = mbarriers[offset];
  if (!m.component) m.component = components.make();
  return m;
}

std::vector<uint32_t>& CtaState::cells() {
  if (cells_.empty()) cells_.resize((cta.shared.size() + kCell - 1) / kCell);
  return cells_;
}

ClusterState::ClusterState(const Cluster& cluster) : number(cluster.linear) {
  components.next = PrimaryGrid::kOver + 1;
  for (const auto& c : cluster.ctas) ctas.push_back(std::make_unique<CtaState>(components, *c));
}

CtaState* ClusterState::cta(const CtaKey& key) {
  for (const auto& c : ctas)
    if (c->cta.key == key) return c.get();
  return nullptr;
}

Threads* ClusterState::threads(const Origin& who) {
  CtaState* c = cta(who.cta);
  return c && who.warp >= 0 && size_t(who.warp) < c->warps.size() ? &c->warps[size_t(who.warp)] : nullptr;
}

void ClusterState::collect() {
  histories.collect([&](FunctionRef<void(uint32_t)> mark) {
    for (const auto& c : ctas)
      for (const uint32_t handle : c->cells()) mark(handle);
  });
}

}  // namespace tinygpu::races
