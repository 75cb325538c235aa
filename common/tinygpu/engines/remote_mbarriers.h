// The way of mbarrier operations that go to another CTA of the cluster.
#pragma once
#include <cstdint>
#include <functional>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

/// A warp's operations on mbarriers of other CTAs.
class RemoteMBarriers final : public Extension {
 public:
  static RemoteMBarriers& of(Warp& w) { return w.extensions.get<RemoteMBarriers>(); }

  /// Runs `effect(now)` on `target` in the name of `who`: at once in the warp's own CTA; else after the hop, in the
  /// order in which this warp issued its remote operations.
  template <class F>
  void deliver(Warp& w, Cta& target, const Origin& who, F&& effect) {
    if (&target == &w.cta()) {
      effect(w.time());
      return;
    }
    SmPartition& partition = w.partition();
    if (!channel_) channel_ = partition.events.new_channel();
    partition.events.schedule(w.time() + w.timing().mbarrier.remote_hop, channel_, who, std::forward<F>(effect));
  }

 private:
  uint64_t channel_ = 0;  // 0: it has none yet
};

}  // namespace tinygpu
