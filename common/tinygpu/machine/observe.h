// What a run tells those who watch it. Checks, traces and profiles are Observers; nothing else keeps books of a run,
// and no observer changes it. A run without observers pays one predictable branch an access, and none an
// instruction.
//
// Agents are threads and asynchronous operations (PTX ISA 8.2). An operation is an agent of its own from the moment it
// is issued until its effect is there.
#pragma once
#include <compare>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/tinygpu/machine/memory/access_events.h"
#include "common/tinygpu/machine/origin.h"

namespace tinygpu {

class Cta;
class SmPartition;
struct Group;
struct LaunchConfig;
struct LaunchStats;
struct TensorBox;

/// MMAs of which this is equal execute in the order of issue: same accumulator, shape and kind (PTX ISA 9.7.16.6.2).
struct MmaPipeline {
  uint16_t column = 0, lane = 0;  // where the accumulator begins in Tensor Memory
  uint16_t m = 0, n = 0;          // 0: it is no MMA
  uint8_t kind = 0;               // MmaKind
  bool sparse = false, weight_stationary = false;
  explicit operator bool() const { return m != 0; }
  auto operator<=>(const MmaPipeline&) const = default;
};

/// An asynchronous operation. Times are SM cycles of the GPU's clock. Who is told of one may keep it.
struct AsyncOperation : std::enable_shared_from_this<AsyncOperation> {
  enum class Kind : uint8_t {
    bulk_load,      // cp.async.bulk into shared memory
    bulk_store,     // cp.async.bulk out of it; reductions too
    tensor_load,    // cp.async.bulk.tensor into shared memory
    tensor_store,   // and out of it
    mma,            // tcgen05.mma
    tmem_copy,      // tcgen05.cp
    tmem_shift,     // tcgen05.shift
    tmem_load,      // tcgen05.ld
    tmem_store,     // tcgen05.st
    commit,         // tcgen05.commit
    copies_arrive,  // cp.async.mbarrier.arrive
    wgmma,          // wgmma.mma_async
    async_copy,     // cp.async
    async_store,    // st.async, red.async
    cancel,         // clusterlaunchcontrol.try_cancel
  } kind = Kind::mma;
  uint64_t id = 0;     // unique in its launch: the partition's index, and a number in it
  Origin who;          // the thread that issued it
  uint32_t sm = 0;     // %smid of the unit that carries it out
  uint64_t bytes = 0;  // that it moves
  uint64_t issued = 0;
  uint64_t begin = 0;  // when the unit takes it up
  uint64_t busy = 0;   // cycles from then on in which the unit takes nothing else
  uint64_t end = 0;    // when its effect is there
  uint32_t parts = 1;  // of its effect that are not there yet: a multicast copy lands in several CTAs
  /// Operations that it executes behind, where the tensor core keeps an order; that it waits for, a commit.
  std::vector<uint64_t> after;
  MmaPipeline pipeline;
  /// What a tensor copy moves, known from its completion on (engines/tma/tensor_box.h).
  std::shared_ptr<const TensorBox> box;
  uint32_t shared = 0;  // and where the box begins in shared memory
  /// Shared memory that it is going to read or write, as far as that is known when it is issued.
  struct SharedUse {
    struct Range {
      uint32_t offset, bytes;
      int lane;  // of a warp's copy; else −1
    };
    const Cta* cta;
    bool writes;
    std::vector<Range> ranges;
    /// The mbarrier whose complete_tx says that what is written here is there; null: none.
    const Cta* signalled = nullptr;
    uint32_t signal = 0;  // its offset
  };
  std::vector<SharedUse> shared_uses;
  /// Cells of Tensor Memory, the same.
  struct TensorUse {
    uint32_t sm;  // %smid
    TmemRect cells;
    bool writes;
    const char* what;  // "tcgen05.ld", "A of tcgen05.mma" …
  };
  std::vector<TensorUse> cells;

  static constexpr int kPartitionShift = 40;
  uint32_t partition() const { return uint32_t(id >> kPartitionShift); }
};
/// "cp.async.bulk.tensor load", "tcgen05.mma" …
const char* name_of(AsyncOperation::Kind kind);

/// Something happened to an mbarrier, or to a barrier of threads.
struct Sync {
  enum class Kind : uint8_t {
    init,
    inval,
    arrive,       // value: how many
    expect_tx,    // value: bytes
    complete_tx,  // value: bytes
    phase,        // a phase is complete; value: its number
    passed,       // a wait has seen phase `value` complete
    barrier,      // a round of barrier `offset` of the CTA's threads is complete
    cluster,      // a round of the cluster's barrier
    // What lanes do towards such a round, or an mbarrier:
    barrier_arrive,  // a warp's lanes count in the round of barrier `offset`; value: those of them that wait for its
                     // end
    cluster_arrive,
    cluster_wait,  // they go on when the round in which they have arrived is complete
    sent,          // an arrive on the way to another CTA's mbarrier; those of a warp come in the order of issue
    // What a warp's instruction does for itself:
    acquire,          // a strong load or an atomic: it may have seen what others have released
    fence,            // fence, membar
    proxy_fence,      // fence.proxy.async; value: kSharedMemory, kGlobalMemory
    tcgen05_fence,    // value: 0 before_thread_sync, 1 after_thread_sync
    wait_group,       // a wait for asynchronous operations is over: cp.async and bulk groups (value: how many may be
                      // pending), wgmma (how many of the warp's operations are complete), tcgen05.wait
    commit_group,     // of cp.async and bulk copies, of wgmma (value: how many operations the warp has issued)
    warp_sync,        // bar.warp.sync: these lanes have met
    grid_dependency,  // griddepcontrol; value: 0 wait, 1 launch_dependents
  } kind = Kind::arrive;
  static constexpr uint64_t kSharedMemory = 1, kGlobalMemory = 2;
  const Cta* cta = nullptr;  // whose shared memory holds the object; of the warp
  uint32_t offset = 0;       // of the mbarrier in it; number of the barrier
  uint64_t value = 0;
  uint64_t time = 0;
  const Origin* who = nullptr;  // thread or operation; null: none in particular

  /// Of the instruction: as it says, or as PTX has it where it says nothing.
  ptx::MemoryOrder order() const;
};

/// Lanes of a warp that did not run from `begin` to `end`: why is their group's BlockReason, where is `op`.
struct Wait {
  const Warp& warp;
  const Group& group;
  const Op& op;
  uint64_t begin, end;
};

/// One warp instruction. Waiting for operands, then for the issue port, then its issue and what it charged.
struct Executed {
  const Warp& warp;
  const Function& function;
  const Op& op;
  uint32_t lanes;     // that its guard let through
  uint64_t ready;     // the instruction before it is out of the way
  uint64_t operands;  // every operand that comes late is there
  uint64_t issued;    // the sub-partition's port took it
  uint64_t done;      // the next one may follow
  bool again;         // it had to wait, with no effect yet, and will be executed again
};

class Launch;

/// Watches the launches of a Gpu. Calls about one SM come from one host thread and in the order in which things
/// happen to it; SMs of different clusters may run on different host threads.
class Observer {
 public:
  /// What it wants to be told of.
  enum Interest : uint32_t {
    operations = 1,  // and the numbers of those that act (Origin::operation)
    synchronisation = 2,
    waits = 4,
    instructions = 8,
    shared_accesses = 16,
    global_accesses = 32,
    tensor_accesses = 64,
    tensor_allocations = 256,
    traffic = 128,
    accesses = shared_accesses | global_accesses | tensor_accesses
  };
  explicit Observer(uint32_t interests) : interests(interests) {}
  virtual ~Observer() = default;
  const uint32_t interests;
  /// For a launch that runs beside one that this one watches: an observer that has no other to watch, and adds to what
  /// this one keeps. Null: this one can watch both.
  virtual std::unique_ptr<Observer> another() { return nullptr; }
  /// Of these, what it wants to be told of in this launch.
  virtual uint32_t interests_in(const LaunchConfig&) const { return interests; }
  /// It follows a grid's first cluster alone: warps of the others tell it nothing.
  virtual bool first_cluster_only() const { return false; }

  virtual void on_launch(const Launch&) {}
  /// The launch is over; `stats` is null where a fault ended it.
  virtual void on_end(const Launch&, const LaunchStats*) {}
  virtual void on_cta(const Cta&, bool /*starts, or ends*/, uint64_t /*time*/) {}
  virtual void on_issue(const AsyncOperation&) {}
  virtual void on_complete(const AsyncOperation&) {}
  virtual void on_sync(const Sync&) {}
  virtual void on_wait(const Wait&) {}
  virtual void on_instruction(const Executed&) {}
  virtual void on_access(const MemoryAccess&) {}
  virtual void on_tensor_access(const TmemAccess&) {}
  virtual void on_tensor_allocation(const TmemAllocation&) {}
  virtual void on_traffic(const MemoryTraffic&) {}
};

/// The observers of a launch, by what they want to be told of.
class Observers {
 public:
  Observers(const std::vector<Observer*>& all, const LaunchConfig& launch);
  bool want(Observer::Interest i) const { return wanted_ & i; }
  uint32_t wanted() const { return wanted_; }
  template <class F>
  void all(F&& f) const {
    for (const Listener& l : all_) f(*l.observer);
  }
  template <class F>
  void tell(Observer::Interest i, F&& f) const {
    if (!want(i)) return;
    for (const Listener& l : all_)
      if (l.interests & i) f(*l.observer);
  }

 private:
  struct Listener {
    Observer* observer;
    uint32_t interests;
  };
  std::vector<Listener> all_;
  uint32_t wanted_ = 0;
};

/// An operation that observers are told of; null without observers.
using ToldOperation = std::shared_ptr<AsyncOperation>;

/// An operation has been issued: `who` is what acts from here on. `sm` carries it out; `more` tells what else is known.
ToldOperation tell_issue(
    SmPartition& partition, AsyncOperation::Kind kind, Origin& who, uint32_t sm, uint64_t now, uint64_t bytes = 0,
    FunctionRef<void(AsyncOperation&)> more = [](AsyncOperation&) {});
/// A part of its effect, and the whole with the last one, is there at `end`; the unit took it up at `begin`.
void tell_complete(SmPartition& partition, const ToldOperation& operation, uint64_t begin, uint64_t end);
void tell(const Cta& cta, Sync::Kind kind, uint32_t offset, uint64_t value, uint64_t time, const Origin* who);
/// What the current instruction of a warp does for itself.
void tell(const Warp& warp, Sync::Kind kind, uint64_t value = 0);

}  // namespace tinygpu
