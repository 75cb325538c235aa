// What loads, stores, atomics, matrix moves and cp.async share: addresses of a warp, resolved at once where all lanes
// fall into one place, lane by lane (with hardware's faults) where not; when values are there; the wait for the serial
// phase.
#pragma once
#include <functional>

#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// The state space that an instruction names (PTX ISA 5.1); generic if it names none.
ptx::Space space_of(const ptx::Instruction& inst);

/// True for the windows that .shared, .shared::cta and .shared::cluster address.
inline bool is_shared(ptx::Space s) {
  return s == ptx::Space::shared || s == ptx::Space::shared_cta || s == ptx::Space::shared_cluster;
}

/// What every instruction with one address operand begins its details with; the base slot is op.a, the displacement
/// op.imm.
struct MemoryOperand {
  ptx::Space space;
  bool wide;               // the base is 64 bits wide
  bool strong;             // an ordered load or store: global lanes belong to the serial phase
  ptx::MemoryOrder order;  // of loads, stores and atomics
  bool cached;             // a load whose lines come into L1
};
inline const MemoryOperand& memory_operand(const Op& op) { return op.get<MemoryOperand>(); }

/// Decodes the address operand into op.a, op.imm and MemoryOperand::wide.
void decode_address(Decoder& d, Op& op, const ptx::Operand& o);

/// One address per lane, of all 32 lanes.
inline void lane_addresses(Warp& w, const Op& op, uint64_t* out) {
  if (op.a == kNoSlot) {
    for (int i = 0; i < 32; ++i) out[i] = uint64_t(op.imm);
  } else if (memory_operand(op).wide) {
    const uint64_t* base = w.at<uint64_t>(op.a);
    for (int i = 0; i < 32; ++i) out[i] = base[i] + uint64_t(op.imm);
  } else {
    const uint32_t* base = w.at<uint32_t>(op.a);
    for (int i = 0; i < 32; ++i) out[i] = uint32_t(base[i] + uint32_t(op.imm));
  }
}

/// What an instruction does at the addresses that it resolves.
enum class Act : uint8_t { load, store, atomic, load_matrix, store_matrix, copy };
/// The word that a diagnosis has for it.
const char* verb_of(Act act);
/// What it does to the memory that it resolves.
AccessKind kind_of(Act act);
inline bool is_load(Act a) { return a == Act::load || a == Act::load_matrix; }
inline bool is_store(Act a) { return a == Act::store || a == Act::store_matrix; }

/// Lines of 128 bytes of device memory that a warp's access touches: a lane's bytes lie in one.
struct TouchedLines {
  uint32_t count = 0;
  uint32_t line[32];     // L2Cache::lines_of
  uint8_t sectors[32];   // bit i: the i-th 32 bytes
  uint8_t repeated[32];  // of an atomic: see LineUse
  uint8_t bytes[32][4];  // that lanes name in each sector, those named twice too; up to 255
  /// Sectors that a store sends: those of the line, and one that says which bytes, if it writes a part of any. (ncu's
  /// cycles of an H200's SM on the way to L2: 4 for a whole line, 5 for parts of four sectors, 2 for a part of one.)
  uint32_t stored(uint32_t k) const {
    uint32_t n = 0, part = 0;
    for (uint32_t s = 0; s < 4; ++s)
      if (sectors[k] >> s & 1) {
        ++n;
        part |= bytes[k][s] < 32;
      }
    return n + part;
  }
};

/// Host pointers of one warp-wide access.
struct Access {
  uint8_t* at[32];        // executing lanes only
  uint32_t global = 0;    // lanes in global memory (constant included)
  uint32_t shared = 0;    // lanes in shared memory
  uint32_t remote = 0;    // of those, in another CTA's
  uint32_t passes = 1;    // shared-memory passes
  uint32_t ideal = 1;     // and how many it would be if no bank were asked for two words
  uint32_t bytes = 0;     // a lane
  uint32_t words = 1;     // 32-bit registers a lane, of a load or store
  bool writes = false;    // a store
  bool floating = false;  // an atomic that adds numbers
  uint32_t sectors = 0;   // 32-byte sectors of global memory touched
  TouchedLines lines;     // of device memory
  bool constant = false;
};

/// Resolves `bytes` per lane at `address` for the lanes of w.exec(). Faults as locate() does.
void resolve(Warp& w, ptx::Space space, const uint64_t* address, uint32_t bytes, uint32_t align, Act act, Access& out);

/// The lines of global memory that lanes `mask` touch, `bytes` each, are what `out` touches.
void touch_global(Warp& w, const uint64_t* address, uint32_t mask, uint32_t bytes, Access& out);

/// Lanes `mask` name shared memory of `cta` that may hold a live mbarrier: a warning for each that does.
void warn_mbarrier(Warp& w, Cta& cta, const uint32_t* offset, uint32_t mask, uint32_t bytes, Act act);

/// Observers are told of lanes that reach shared or global memory now. `address` as the instruction has it.
[[gnu::cold]] void tell_lanes(Warp& w, const Op& op, ptx::Space space, Act act, uint32_t lanes, const uint64_t* address,
                              uint32_t bytes);
/// The same of lanes that all reach the shared memory of `cta`.
[[gnu::noinline]] void tell_shared(Warp& w, const Op& op, Act act, const Cta& cta, const LaneAccess& lanes);

/// Observers are told of what an access takes of the ways to memory, before it is charged.
[[gnu::cold]] void tell_traffic(Warp& w, const Access& access);
/// Charges the ways to memory for an access of `op`. A load's, or an atomic's, scoreboard is released when its values
/// are there.
void finish_access(Warp& w, const Op& op, const Access& access, Act act);
/// The same of a load, or a store, that touches global memory alone, `sectors` of 32 bytes in all.
void finish_global_load(Warp& w, const Op& op, const TouchedLines& lines, uint32_t sectors);
void finish_global_store(Warp& w, const TouchedLines& lines, uint32_t sectors);
/// The reading half of cp.async, which writes in `passes`: `then(when)` hears when the last bytes have come to the SM,
/// L2's latency left out.
void read_for_copy(Warp& w, const Access& access, uint32_t passes, std::function<void(uint64_t when)> then);

/// Serial-phase rule for strong accesses that may be global. True: the group waits for the serial phase and the op will
/// run again; return at once.
bool wait_serial(Warp& w, ptx::Space space, const uint64_t* address);
/// The fence before an access of global memory that releases beyond the CTA; then in its turn.
void release_before(Warp& w, const Op& op, ptx::Space space, const uint64_t* address);

}  // namespace tinygpu::isa
