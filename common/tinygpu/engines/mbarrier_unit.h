// What one SM's mbarrier operations cost, and the way of those that go to another CTA of the cluster.
#pragma once
#include <cstdint>
#include <functional>
#include <unordered_map>

#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access.h"

namespace tinygpu {

class MBarrierUnit final : public Extension {
 public:
  /// The unit of the warp's SM, its numbers read from the machine profile on first use.
  static MBarrierUnit& of(Warp& w);

  uint32_t arrive = 1;           // cycles of the issuing warp for a relaxed operation
  uint32_t arrive_release = 1;   // and with release semantics
  uint32_t expect = 1;           // expect_tx, alone or with an arrive
  uint32_t release_cluster = 0;  // what a release at cluster scope adds
  uint32_t ready = 1;            // test_wait or try_wait on a finished phase: until the next instruction
  uint32_t answer = 1;           // and until its answer is there
  uint32_t spin = 0;             // what ptxas' YIELD adds to a test_wait that is all of a loop
  uint32_t spin_end = 0;         // and leaving the loop to the one that ends it
  uint32_t hint = 0;             // what a time hint adds to a try_wait that gives up
  uint32_t wake = 1;             // completion of a phase until a suspended try_wait returns
  uint32_t remote_hop = 1;       // an operation's way to another CTA
  uint64_t wait_limit = 1;       // cycles that a try_wait without a hint may suspend

  /// Runs `effect(now)` on `target`: at once in the warp's own CTA; else after the hop, in the order in which this warp
  /// issued its remote operations.
  template <class F>
  void deliver(Warp& w, Cta& target, F&& effect) {
    if (&target == &w.cta()) {
      effect(w.time());
      return;
    }
    uint64_t& channel = channels_[&w];
    Domain& domain = w.domain();
    if (!channel) channel = domain.events.new_channel();
    domain.events.schedule(w.time() + remote_hop, channel, std::forward<F>(effect));
  }

 private:
  bool loaded_ = false;
  std::unordered_map<const Warp*, uint64_t> channels_;
};

}  // namespace tinygpu
