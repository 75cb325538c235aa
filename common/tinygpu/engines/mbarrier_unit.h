// The way of mbarrier operations that go to another CTA of the cluster.
#pragma once
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

class MBarrierUnit final : public Extension {
 public:
  static MBarrierUnit& of(Warp& w) { return w.sm().extensions.get<MBarrierUnit>(); }

  /// Runs `effect(now)` on `target` in the name of `who`: at once in the warp's own CTA; else after the hop, in the
  /// order in which this warp issued its remote operations.
  template <class F>
  void deliver(Warp& w, Cta& target, const Origin& who, F&& effect) {
    if (&target == &w.cta()) {
      effect(w.time());
      return;
    }
    uint64_t& channel = channels_[&w];
    Domain& domain = w.domain();
    if (!channel) channel = domain.events.new_channel();
    domain.events.schedule(w.time() + w.timing().mbarrier.remote_hop, channel, who, std::forward<F>(effect));
  }

 private:
  std::unordered_map<const Warp*, uint64_t> channels_;
};

}  // namespace tinygpu
