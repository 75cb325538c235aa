// A warp's access to memory: addresses resolved at once where all lanes fall into one place, lane by lane (with
// hardware's faults) where not; then charged to the SM's pipes and the chip's memory. Loads, stores, atomics, matrix
// moves and cp.async share it.
#pragma once
#include <functional>

#include "common/tinygpu/engines/lsu/coalescer.h"
#include "common/tinygpu/engines/lsu/memory_operand.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/memory/access_events.h"

namespace tinygpu {

enum class MemoryOp : uint8_t { load, store, atomic, load_matrix, store_matrix, copy };
/// The word that a diagnosis has for it.
const char* verb_of(MemoryOp act);
/// What it does to the memory that it resolves.
AccessKind kind_of(MemoryOp act);
inline bool is_load(MemoryOp a) { return a == MemoryOp::load || a == MemoryOp::load_matrix; }
inline bool is_store(MemoryOp a) { return a == MemoryOp::store || a == MemoryOp::store_matrix; }

/// Host pointers of one access, and what it costs.
struct WarpAccess {
  uint8_t* at[32];        // executing lanes only
  uint32_t global = 0;    // lanes in global memory (constant included)
  uint32_t shared = 0;    // lanes in shared memory
  uint32_t remote = 0;    // of those, in another CTA's
  uint32_t passes = 1;    // of shared memory's banks
  uint32_t ideal = 1;     // and without bank conflicts
  uint32_t bytes = 0;     // a lane
  uint32_t words = 1;     // 32-bit registers a lane, of a load or store
  bool writes = false;    // a store
  bool floating = false;  // an atomic that adds numbers
  bool combined = false;  // an atomic of which one lane leaves the warp, with what all of them add up to
  bool constant = false;  // global lanes are constant memory
  TouchedLines lines;     // of global memory
};

/// Resolves `bytes` per lane at `address` for the lanes of w.exec(). Faults as locate() does.
void resolve(Warp& w, ptx::Space space, const uint64_t* address, uint32_t bytes, uint32_t align, MemoryOp act,
             WarpAccess& out);
/// A load or store of all 32 lanes to global or constant memory, one lane behind the other, which no observer wants to
/// see: the host's bytes of lane 0, once it is charged. Null: it is something else, and nothing has happened.
uint8_t* coalesced_global(Warp& w, const Op& op, ptx::Space space, uint32_t bytes, bool load);

/// Charges the access to the pipes and to the chip's memory. The scoreboard of a load, or an atomic, is released when
/// its values are there.
void charge_access(Warp& w, const Op& op, const WarpAccess& access, MemoryOp act);
/// The same of a load, or a store, that touches global memory alone.
void charge_global_load(Warp& w, const Op& op, const TouchedLines& lines);
void charge_global_store(Warp& w, const TouchedLines& lines);
/// The reading half of cp.async, which writes shared memory in `passes`: `then(when)` is called with the time at which
/// the last bytes are in the SM, L2's latency left out.
void charge_copy(Warp& w, const WarpAccess& access, uint32_t passes, std::function<void(uint64_t when)> then);

/// Serial-phase rule for strong accesses that may be global. True: the group waits for the serial phase and the op will
/// run again; return at once.
bool wait_serial(Warp& w, ptx::Space space, const uint64_t* address);
/// True: a strong load of global memory waits for bulk copies of its SM that are before it on the way to L2. What it
/// reads is what is there when it has passed.
bool wait_to_pass(Warp& w, ptx::Space space, const uint64_t* address);
/// The fence before an access of global memory that releases beyond the CTA. True: the group waits for it, and the op
/// will run again at its time (a request that is made ahead of its time holds up those of other SMs).
bool wait_to_release(Warp& w, const Op& op, ptx::Space space, const uint64_t* address);

/// Lanes `mask` name shared memory of `cta` that may hold a live mbarrier: a warning for each that does.
void warn_mbarrier(Warp& w, Cta& cta, const uint32_t* offset, uint32_t mask, uint32_t bytes, MemoryOp act);
/// Shows observers lanes that reach shared or global memory now. `address` as the instruction has it.
[[gnu::cold]] void tell_lanes(Warp& w, const Op& op, ptx::Space space, MemoryOp act, uint32_t lanes,
                              const uint64_t* address, uint32_t bytes);
/// The same of lanes that all reach the shared memory of `cta`.
[[gnu::noinline]] void tell_shared(Warp& w, const Op& op, MemoryOp act, const Cta& cta, const LaneAccess& lanes);
/// Shows observers what an access takes of the ways to memory, before it is charged.
[[gnu::cold]] void tell_traffic(Warp& w, const WarpAccess& access);

}  // namespace tinygpu
