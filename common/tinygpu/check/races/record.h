// One access, kept for as long as a later one could race with it.
#pragma once
#include <array>
#include <cstdint>
#include <memory>

#include "common/tinygpu/check/races/threads.h"
#include "common/tinygpu/machine/memory/access_events.h"

namespace tinygpu::races {

/// By what others learn that the access is over: its thread's synchronisation, or the end of an operation.
enum class Ends : uint8_t { program, mbarrier, bulk_group, commit, copies, wgmma, never };

/// Which bytes each lane of an instruction touches.
struct LaneMap {
  uint32_t lanes = 0;  // 0: of none in particular
  uint32_t bytes = 0;  // a lane
  bool dense = false;  // lane after lane
  uint64_t first = 0;
  std::shared_ptr<const std::array<uint64_t, 32>> at;  // where not dense
  bool together = false;                               // one access of them all: it is over where any lane's is
  bool one_value = false;                              // of a store: they write the same value to the same place
  /// Lanes that touch the byte.
  uint32_t of(uint64_t byte) const;
  bool same(const LaneMap& o) const;
};

struct Record {
  Origin who;
  uint64_t cluster = 0;
  Component component = 0;  // 0: no actor can know that it is over
  Epoch epoch = 0;
  LaneComponentsRef lane_components;  // of accesses that lanes make for themselves
  LaneMap map;
  uint32_t element = 0;  // bytes of the scalar accesses that a lane's is made of: a vector's elements; 0: an operation
  ClockRef knew;         // of its own cluster, when a thread made it: whether it knew of the issue of a later operation
  uint64_t time = 0;
  uint64_t instance = 0;  // which execution of an instruction by the warp; 0: of an operation
  const char* operand = "";
  std::shared_ptr<const TensorBox> box;  // of a tensor copy, and where it begins in shared memory
  uint32_t box_offset = 0;
  uint32_t cta = 0;  // linear, in the grid
  AccessKind kind = AccessKind::read;
  Proxy proxy = Proxy::generic;
  Ends ends = Ends::program;
  bool operation = false;  // asynchronous
  bool at_end = false;     // and not carried out when its CTA ended
  bool read_only = false;  // a read of what nobody writes while the kernel runs: no order makes a write visible to it
  ptx::MemoryOrder order;
  bool writes() const { return kind != AccessKind::read; }
};

/// Who makes an access, and what it knows.
struct Actor {
  uint64_t cluster = 0;
  const Threads* threads = nullptr;  // whose lanes' own earlier accesses come before this one
  uint32_t lanes = 0;                // of an operation: those that have issued it
  Epoch now = 0, copies = 0;         // their own accesses, and copies, up to these are before it
  const Views* sees = nullptr;
};

/// The lanes among `earlier` whose access `r` the actor does not know to be over, in this view; ~0 if it is an
/// operation that is not told apart by lanes. `own`: lanes of the actor itself, if one lane alone acts.
uint32_t not_seen(const Record& r, uint32_t earlier, const Actor& by, uint32_t own, View view);

/// Whether both are strong, of one proxy, of equal elements, and name each other in their scopes (PTX ISA 8.7, morally
/// strong; 8.2, "Memory Operations on Vector Data Types": a vector's is one of each element). Bytes that both touch are
/// the same elements then: each is aligned to its size.
bool strong_pair(const Record& a, const Record& b);

}  // namespace tinygpu::races
