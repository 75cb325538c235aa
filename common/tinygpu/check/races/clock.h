// Vector clocks. A component counts the epochs of one actor of a cluster: a warp's threads, one lane, a channel on
// which asynchronous operations complete. Clocks do not change once they are made: actors that know the same share one.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace tinygpu::races {

using Component = uint32_t;  // 0: none
using Epoch = uint32_t;      // 0: nothing has happened
using Clock = std::vector<Epoch>;
using ClockRef = std::shared_ptr<const Clock>;  // null: knows nothing

inline Epoch epoch_of(const ClockRef& c, Component i) { return c && i < c->size() ? (*c)[i] : 0; }

/// The earlier knowledge of both. Gives one of them if it knows all of the other's.
ClockRef joined(const ClockRef& a, const ClockRef& b);

/// `c` with some components moved on to at least these epochs.
using Step = std::pair<Component, Epoch>;
ClockRef advanced(const ClockRef& c, const std::vector<Step>& steps);

/// What is known of every cluster of the grid: of one's own, and of others, as global memory told it.
struct Sight {
  using Others = std::vector<std::pair<uint64_t, ClockRef>>;  // sorted by cluster
  ClockRef here;
  std::shared_ptr<const Others> elsewhere;

  const ClockRef& of(uint64_t own, uint64_t cluster) const;
  void join(const Sight& from);
  /// For others: what was known of one's own cluster goes with its name.
  Sight exported(uint64_t own) const;
  /// The other way round.
  Sight imported(uint64_t own) const;
  bool operator==(const Sight&) const = default;
};

/// What an actor knows to have happened, in several senses.
enum View : uint8_t {
  happened,      // happens before
  async_shared,  // and a fence has handed it from the generic to the async proxy, in shared memory
  async_global,  // and in global memory
  nearly,        // would have happened before if scopes were wider, or a relaxed operation were acquire or release
  by_operation,  // would have happened before if the end of a commit, or of a copy to another CTA, told what its thread
                 // had done before it
  caused,        // has come before all the same: the thread of a commit had come so far when it issued it
  relied_on,     // would have happened before by what known kernels rely on (base/relied_on.h): an mbarrier.arrive
                 // without a scope on another CTA's mbarrier
  by_cluster,    // and, for stores of a CTA to its own shared memory: a relaxed arrive of the cluster's barrier
  by_meeting,    // and, for reads: lanes of a warp, or warps of a warpgroup, that have met at what is no barrier
  initialised,   // mbarriers, by fence.mbarrier_init
  tensor,        // of tcgen05: what tcgen05.fence has ordered, completed work and the issue of unfinished
  kViews
};
struct Views {
  Sight of[kViews];
  void join(const Views& from) {
    for (int v = 0; v < kViews; ++v) of[v].join(from.of[v]);
  }
  Views exported(uint64_t own) const;
  Views imported(uint64_t own) const;
  bool operator==(const Views&) const = default;
};

}  // namespace tinygpu::races
