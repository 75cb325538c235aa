#include "common/tinygpu/machine/chip/cta.h"

#include "common/tinygpu/machine/chip/gpu.h"

namespace tinygpu {

Cta::Cta(Cluster& c, Sm& s, uint32_t r, const CtaKey& k) : cluster(c), sm(s), key(k), rank(r) {}

uint32_t Cta::threads() const { return uint32_t(cluster.partition.launch.config.block.count()); }

void Cta::wake_mbarrier_waiters(Cta& owner, uint32_t offset, uint64_t when) {
  for (auto& w : warps)
    w->wake(when, [&](const Group& g) {
      return g.reason.kind == BlockReason::Kind::mbarrier && g.reason.cta == &owner && g.reason.address == offset;
    });
}

uint32_t Cluster::live_threads() const {
  uint32_t n = 0;
  for (const auto& c : ctas) n += c->live_threads;
  return n;
}

}  // namespace tinygpu
