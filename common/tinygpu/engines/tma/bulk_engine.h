// The bulk-copy unit (TMA) of one SM: a server with a latency and a rate. Every operation is issued at once and has its
// effect later, through the partition's event queue: a load lands its bytes and then completes its transactions on an
// mbarrier; a store reads shared memory, later writes global memory, and counts in the issuing thread's bulk group.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "common/tinygpu/engines/tma/tensor_box.h"
#include "common/tinygpu/machine/memory/access.h"
#include "common/tinygpu/machine/memory/server.h"
#include "common/tinygpu/timing/tma.h"

namespace tinygpu {

/// The bulk groups of a warp's 32 threads (PTX ISA 9.7.9.27.2).
class BulkGroups final : public Extension {
 public:
  struct Group {
    uint32_t reads = 0, writes = 0;  // operations whose source is not read, whose writes are not made
  };
  static BulkGroups& of(Warp& w);
  /// The group that takes the thread's next operation.
  std::shared_ptr<Group> open(int lane);
  void commit(int lane);
  /// At most `pending` of the thread's most recent groups are incomplete (read: their sources not all read).
  bool done(int lane, uint32_t pending, bool read);

 private:
  struct Thread {
    std::shared_ptr<Group> open;
    struct Committed {
      std::shared_ptr<Group> group;  // null: nothing was in it
      uint64_t repeats = 1;
    };
    std::deque<Committed> committed;  // the oldest is incomplete
    uint64_t count = 0;               // of groups in it
    void drop_complete();
  };
  std::array<Thread, 32> threads_;
};

/// Text of the wait that finished bulk operations end; compared by address.
extern const char* const kBulkWait;

class BulkEngine final : public Extension {
 public:
  static BulkEngine& of(Warp& w) { return w.sm().extensions.get<BulkEngine>(); }

  /// Where an mbarrier is signalled for a landing in `cta`.
  struct Signal {
    Cta* cta = nullptr;
    uint32_t offset = 0;
  };
  struct Landing {
    Cta* cta;
    uint32_t offset;
    Signal signal;
  };

  // ---- Tensor maps
  /// The map at a generic address, through the SM's descriptor cache. Faults: misaligned, never encoded, changed in
  /// this kernel without a fence.proxy.tensormap acquire.
  const TensorMap& map(Warp& w, uint64_t address, int lane);
  /// tensormap.replace or cp_fenceproxy wrote the map: it needs an acquire before its next use here.
  void map_written(uint64_t address) { modified_.insert(address); }
  /// fence.proxy.tensormap::generic.acquire [address].
  void map_acquired(uint64_t address) {
    modified_.erase(address);
    maps_.erase(address);
  }

  // ---- Operations
  /// Shared memory ← a box, in each of `landings`.
  void tensor_load(Warp& w, int lane, const TensorBox& box, std::vector<Landing> landings, bool multicast);
  /// A box ← shared memory of the warp's CTA; `operation` null: a store. All of `lanes` have it in their bulk groups;
  /// the first is named where something is wrong.
  void tensor_store(Warp& w, uint32_t lanes, const TensorBox& box, uint32_t offset, const ReduceOperation* operation);
  /// Bytes at either end of a copy that are counted and not moved: those in shared memory stay what they are.
  struct Ignored {
    uint32_t left = 0, right = 0;
  };
  /// Shared memory ← global memory.
  void bulk_load(Warp& w, int lane, uint64_t from, uint32_t bytes, Ignored ignored, std::vector<Landing> landings,
                 bool multicast);
  /// Another CTA's shared memory ← this CTA's, copied or reduced.
  void bulk_to_cluster(Warp& w, int lane, uint32_t from, uint32_t bytes, const Landing& to,
                       const ReduceOperation* operation, ReduceType type);
  /// Global memory ← shared memory, copied (bytes that `byte_mask` names of every 16) or reduced.
  void bulk_store(Warp& w, uint32_t lanes, uint64_t to, uint32_t from, uint32_t bytes, uint32_t byte_mask,
                  const ReduceOperation* operation, ReduceType type);
  /// Makes `effect(now)` happen in global memory's serial phase, at or after `when`.
  static void in_serial(SmPartition& partition, uint64_t when, uint64_t channel, const Origin& who,
                        std::function<void(uint64_t)> effect);

 private:
  struct CachedMap {
    std::array<uint8_t, TensorMap::kBytes> bytes;
    TensorMap map;
  };
  /// A copy under way: its origin, the observers' record, when the engine took it up and when it has moved the last
  /// piece.
  struct Flight {
    Origin who;
    ToldOperation told;
    uint64_t begin, through;
  };
  /// A copy to shared memory under way, which all of its effects have in common.
  struct Load {
    Flight flight;
    std::vector<Landing> landings;
    uint64_t bytes;   // that an mbarrier counts
    uint32_t filled;  // bytes of shared memory from the operand's address on; 0 if it leaves gaps
    std::function<void(Cta&, uint32_t offset, uint64_t now)> copy;
  };
  /// Takes the engine for a copy of `bytes` that lands in `parts`, at `now` or when it is free. `uses` tells observers
  /// where in shared memory.
  Flight start(Warp& w, int lane, AsyncOperation::Kind kind, uint64_t now, TmaTiming::Pace pace, uint64_t bytes,
               size_t parts, FunctionRef<void(AsyncOperation&)> uses);
  /// Observers hear which box a copy moves, and where in shared memory it begins.
  static void tell_box(const Flight& flight, const std::shared_ptr<const TensorBox>& box, uint32_t offset);
  /// At `when`, in `to`, which is one of its landings.
  static void land(SmPartition& partition, uint64_t when, const std::shared_ptr<const Load>& load, const Landing& to);
  /// When bytes of a copy are in the shared memory of `sm` which would be there at `when` if nothing else came: an SM
  /// takes what it and others have asked for one after the other.
  static uint64_t received(Sm& sm, const TmaTiming& timing, uint64_t when, uint64_t bytes);
  /// Asks the chip's memory for the lines that have been added, over the `busy` cycles of the flight. It lands
  /// `latency` behind the flight's last piece, or later.
  void fetch(Warp& w, double busy, uint64_t latency, std::shared_ptr<const Load> load);
  /// Sends the lines that have been added. The engine waits when too many are on their way.
  void send(Warp& w, const Flight& flight, double busy, bool reduces);
  template <class Read, class Write>
  void store(Warp& w, uint32_t lanes, const Flight& flight, uint64_t read_at, bool serial, Read&& read, Write&& write);

  uint64_t free_at_ = 0;
  Server arrivals_;          // of what copies bring into the SM's shared memory, whoever has asked for it
  uint64_t fetched_at_ = 0;  // the map used last is in the cache from then on
  std::unordered_map<uint64_t, CachedMap> maps_;
  std::unordered_set<uint64_t> modified_;
};

}  // namespace tinygpu
