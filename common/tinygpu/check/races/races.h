// Races: accesses to shared, tensor and global memory that happens-before does not order (PTX ISA 8, 9.7.16.6), found
// whatever the schedule was. Threads and asynchronous operations are agents with vector clocks; memory remembers who
// touched it last. notes/tinygpu.md has the edges, and what is not followed.
#pragma once
#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/tinygpu/check/races/cluster_state.h"
#include "common/tinygpu/check/races/facts.h"
#include "common/tinygpu/check/races/findings.h"
#include "common/tinygpu/check/races/primary_grid.h"
#include "common/tinygpu/machine/chip/sm_partition.h"

namespace tinygpu::races {

/// An asynchronous operation between issue and completion.
struct Operation {
  AsyncOperation::Kind kind = AsyncOperation::Kind::mma;
  Origin who;
  std::shared_ptr<ClusterState> cluster;
  const Threads* threads = nullptr;
  uint32_t lanes = 0;
  uint64_t issued = 0;  // when
  Epoch now = 0, copies = 0;
  Views sees;
  // How its reads and writes end; of mbarriers, by the object of the use.
  Ends ends = Ends::never;
  Component reads = 0, writes = 0;
  Epoch read = 0, written = 0;
  LaneComponentsRef lane_components;
  std::vector<AsyncOperation::SharedUse> uses;
  uint64_t used = 0;        // those that have happened: of a multicast, each CTA's part by itself
  std::vector<Step> steps;  // of a commit: what its arrival says is over
  Views released;           // and orders; of st.async.release: what it hands over
  Sight before;             // of a store or copy to other CTAs, and of a commit: what its thread knew and had done
};

/// Operations of a tensor core that one thread has issued, of a kind that others treat alike (9.7.16.6.2).
struct TensorPipeline {
  Component order;  // of the thread
  AsyncOperation::Kind kind;
  MmaPipeline mma;
  bool four_rows;
  auto operator<=>(const TensorPipeline&) const = default;
};

/// Operations of tensor cores that have executed before one does, by pairs that follow each other: of each pipeline all
/// up to an epoch.
using Predecessors = std::map<TensorPipeline, Epoch>;

/// Cells of Tensor Memory that somebody has touched.
struct TensorEntry {
  TmemRect cells;
  bool writes = false;
  AsyncOperation::Kind kind = AsyncOperation::Kind::mma;
  const char* what = "";
  Record done;          // by what its end is known
  Record issued;        // by what its issue is known: the thread's program
  Component order = 0;  // and, to tcgen05.fence, by what the order of issue is
  Epoch order_epoch = 0;
  MmaPipeline mma;
  bool pair = false, four_rows = false;
  int warp = -1;
  Component used = 0;  // of a load: by what it is known that its registers have been waited for; of epochs like `done`
  std::shared_ptr<const Predecessors> before;  // null: none
  TensorPipeline pipeline() const { return {order, kind, mma, four_rows}; }
};

/// Columns of Tensor Memory, and who has taken them.
struct TakenColumns {
  TmemRect cells;
  Record by;
};

/// What one partition's host thread knows.
struct PartitionState {
  std::shared_ptr<ClusterState> find(const Cluster& c);
  /// The threads that `who` names and their cluster; null: it has ended.
  Threads* find(const Origin& who, std::shared_ptr<ClusterState>& cluster);
  std::unordered_map<const Cluster*, std::shared_ptr<ClusterState>> clusters;
  const Cluster* recent = nullptr;  // looked up last
  std::shared_ptr<ClusterState> recent_state;
  std::map<uint64_t, Operation> operations;
  std::unordered_map<uint32_t, std::vector<TensorEntry>> tensor;  // by SM
  std::unordered_map<uint32_t, std::vector<TakenColumns>> taken;
  FactsOf facts;
  /// The tensor map in global memory that a warp has just named, until it issues the copy that reads it.
  struct NamedMap {
    CtaKey cta;
    int warp = -1;  // none
    uint64_t address = 0;
  } map;
  uint64_t instances = 0;
  bool ending = false;  // what is told is of copies in flight when their CTA ends
};

/// What of a grid is followed.
enum class Follow : uint8_t {
  all,
  // Its shared and Tensor Memory: a strong load or an atomic may have seen all that was done there. Of what threads
  // load and store in shared memory the first accesses of each kernel.
  first_cluster,
};

class Races final : public Observer {
 public:
  explicit Races(Follow follow = Follow::all) : Races(follow, std::make_shared<PrimaryGrids>()) {}
  std::unique_ptr<Observer> another() override { return std::unique_ptr<Observer>(new Races(follow_, primaries_)); }
  bool first_cluster_only() const override { return follow_ == Follow::first_cluster; }
  void on_launch(const Launch&) override;
  void on_end(const Launch&, const LaunchStats*) override;
  void on_cta(const Cta&, bool starts, uint64_t time) override;
  void on_issue(const AsyncOperation&) override;
  void on_complete(const AsyncOperation&) override;
  void on_sync(const Sync&) override;
  void on_access(const MemoryAccess&) override;
  void on_tensor_allocation(const TmemAllocation&) override;

 private:
  Races(Follow follow, std::shared_ptr<PrimaryGrids> primaries)
      : Observer(operations | synchronisation | shared_accesses | tensor_allocations |
                 (follow == Follow::all ? uint32_t(global_accesses) : 0)),
        follow_(follow),
        primaries_(std::move(primaries)) {}
  PartitionState& of(const SmPartition& d) { return partitions_[d.index]; }
  /// A copy is going to signal an mbarrier: its initialisation has been handed to the async proxy.
  void check_signal(ClusterState& c, const Operation& op, const AsyncOperation::SharedUse& use);
  /// A CTA ends: copies into its shared memory that are in flight would have met what it has done.
  void end_copies(PartitionState& d, ClusterState& c, const Cta& cta);
  /// And what others do to its shared memory is over.
  void check_exit(const PartitionState& d, ClusterState& c, CtaState& cta);
  // synchronisation.cpp
  void on_mbarrier(PartitionState& d, ClusterState& c, const Sync& s);
  void on_fence(PartitionState& d, ClusterState& c, Threads& t, const Sync& s);
  void on_group(PartitionState& d, ClusterState& c, Threads& t, const Sync& s);
  void cluster_barrier(ClusterState& c, const Sync& s);
  void grid_dependency(Threads& t, const Sync& s);
  // memory.cpp
  void access(const MemoryAccess& a, ClusterState& c, const Actor& actor, const Record& record);
  void program_access(const MemoryAccess& a, PartitionState& d, ClusterState& c, Threads& t, uint32_t lanes);
  void operation_access(const MemoryAccess& a, PartitionState& d);
  void map_access(const AsyncOperation& o, PartitionState& d);
  void strong_access(const MemoryAccess& a, ClusterState& c, Threads& t, uint32_t lanes);
  /// `what` has not been told with another `with` in this launch: of a missing fence one pair of places is enough.
  bool is_news(const void* what, const void* with);
  /// Nobody has been told `about` this instruction in this launch.
  bool first(const char* about, const Op* op);
  // tensor_memory.cpp
  class TensorUse;
  void tensor_use(PartitionState& d, const AsyncOperation& o, const Operation& op);

  const Follow follow_;
  static constexpr uint32_t kFollowedAccesses = 8192;   // of warps to shared memory, of a kernel's first cluster
  std::unordered_map<const Function*, uint32_t> left_;  // of those
  uint32_t* left_here_ = nullptr;                       // of the launch's kernel; null: all are followed
  std::vector<PartitionState> partitions_;
  struct alignas(64) Shard {
    std::mutex mutex;
    std::unordered_map<uint64_t, std::vector<uint32_t>> regions;
    Histories histories;
  };
  static constexpr uint64_t kRegion = 1 << 16;
  std::vector<Shard> global_;
  std::mutex heads_mutex_;
  std::atomic<bool> any_heads_ = false;
  ReleaseHeads heads_;  // of strong writes to global memory
  std::mutex told_mutex_;
  std::unordered_map<const void*, const void*> told_;
  std::set<std::pair<std::string_view, const Op*>> told_about_;
  /// This grid has begun beside the one on which it depends, and this actor has not waited for that one.
  bool before_primary_ends(const Sight& known) const {
    return primary_ && primary_->has_launched_dependents() && !PrimaryGrid::over(known);
  }
  const std::shared_ptr<PrimaryGrids> primaries_;  // of all that watch the same machine
  std::shared_ptr<PrimaryGrid> self_, primary_;    // this grid, and the one on which it depends; null: there is none
  EarlyTouches early_;
  std::mutex sequential_mutex_;
  Sight sequential_;  // what fence.sc has in its order
};

}  // namespace tinygpu::races
