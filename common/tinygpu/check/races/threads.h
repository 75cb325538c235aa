// What the threads of a warp know. Lanes that know the same share a row: most warps have one or two.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/tinygpu/check/races/clock.h"
#include "common/tinygpu/machine/chip/cta.h"
#include "common/tinygpu/ptx/memory_order.h"

namespace tinygpu::races {

/// Numbers the actors of a cluster.
struct Components {
  Component next = 1;
  Component make() { return next++; }
};

/// An actor that is a warp's 32 lanes: one component for all of them together, and one for each lane that has acted for
/// itself.
struct LaneComponents {
  Component whole = 0;
  std::array<Component, 32> lane{};
};
using LaneComponentsRef = std::shared_ptr<LaneComponents>;

struct Row {
  uint32_t lanes = 0;
  Views sees;  // `tensor`: what tcgen05.fence::after_thread_sync has brought
  Sight tensor_out, tensor_received;
  // Of fences: what fence.release has put before later relaxed operations, what relaxed ones have brought.
  std::shared_ptr<const Views> fenced, unfenced;
  ptx::Scope fence_scope = ptx::Scope::none;
  Epoch copies = 0;  // each lane knows its own cp.async copies complete up to this one
  bool same(const Row& o) const;
};

/// How much of what others have released reaches the one who waits.
enum class Strength : uint8_t {
  full,
  relaxed,  // nothing before an acquire fence
  narrow,   // nothing: scopes do not reach
  unnamed,  // nothing either, as no scope is written; but known kernels rely on it
};

class Threads {
 public:
  Threads(Components& components, const Cta& cta, uint32_t warp);

  /// What these lanes know and have done, to be handed to others; what they do from now on is not in it. Carries with
  /// relaxed semantics what such an operation carries.
  Views release(uint32_t lanes, bool relaxed = false);
  void acquire(uint32_t lanes, const Views& from, Strength strength = Strength::full);
  /// The lanes know more of what has happened: operations that they have waited for.
  void learn(uint32_t lanes, const std::vector<Step>& steps);
  /// These lanes have met.
  void met(uint32_t lanes);
  /// All lanes have met at an instruction that waits for them and promises nothing for memory (.sync.aligned). Gives
  /// what they have done, and what of it they have fenced.
  Views met_at_instruction();
  /// They have met others so, who had done this.
  void met_others(const Views& done);

  void async_fence(uint32_t lanes, bool shared, bool global);
  void fence(uint32_t lanes, const ptx::MemoryOrder& order, Sight* sequential);
  void init_fence(uint32_t lanes);
  void tensor_before(uint32_t lanes);
  void tensor_after(uint32_t lanes);

  const Row& row_of(int lane) const;
  const std::vector<Row>& rows() const { return rows_; }
  uint32_t live() const { return warp_.live(); }
  /// What an operation that these lanes issue starts with; then another epoch begins.
  Views fork(uint32_t lanes, Epoch& now);
  Epoch now() const { return now_; }

  // ---- Asynchronous operations. Each kind that a thread's operations complete by has a component.
  enum class Channel : uint8_t {
    bulk_read,
    bulk_write,
    tensor_issued,
    tensor_done,
    tmem_load,
    tmem_used,  // counts loads as tmem_load does: registers of all up to that one have been waited for
    tmem_store
  };
  /// `lane` −1: of the warp.
  Component channel(Channel kind, int lane, uint32_t group = 0);
  /// Operations so far.
  Epoch& count(Channel kind, int lane, uint32_t group = 0);

  /// cp.async: copies of the whole warp so far, and where lanes have closed groups.
  Epoch copies_issued = 0;
  struct CopyGroup {
    uint32_t lanes;
    Epoch through;
  };
  std::deque<CopyGroup> copy_groups;
  void copies_waited(uint32_t lanes, uint64_t pending, bool all);
  /// Bulk groups, by lane: (component pairs) up to which operations are in the group.
  struct BulkGroup {
    Epoch reads, writes;
  };
  std::array<std::deque<BulkGroup>, 32> bulk_groups;
  void bulk_commit(uint32_t lanes);
  void bulk_waited(uint32_t lanes, uint64_t pending, bool only_read);

  const LaneComponentsRef program, copies;
  const uint32_t index;
  const Cta& cta;
  bool wgmma_fenced = false;  // it has executed wgmma.fence
  /// Barrier of the cluster: lanes that have arrived and not waited; lanes that wait.
  uint32_t cluster_arrived = 0, cluster_waits = 0, cluster_over = 0;

 private:
  /// Rows whose lanes are among `lanes`; splits those that have others too.
  template <class F>
  void each_row(uint32_t lanes, F&& f);
  void merge();
  std::vector<Step> own_steps(const Row& row, uint32_t lanes);
  Component lane_component(LaneComponents& c, int lane);

  struct Counter {
    uint32_t key;
    Component component;
    Epoch count;
  };
  Counter& counter(Channel kind, int lane, uint32_t group);

  Components& components_;
  const Warp& warp_;
  Epoch now_ = 1;
  std::vector<Row> rows_;
  std::deque<Counter> counters_;
};

}  // namespace tinygpu::races
