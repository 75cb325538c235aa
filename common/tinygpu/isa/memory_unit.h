// An SM's ways to memory: their pipes, in the time of the machine, and what is remembered about accesses.
#pragma once
#include <algorithm>

#include "common/tinygpu/isa/lane_pattern.h"
#include "common/tinygpu/machine/chip/reservation_table.h"

namespace tinygpu::isa {

/// Memory pipes of one SM and the latencies of its machine.
struct MemoryUnit final : Extension {
  explicit MemoryUnit(const Warp& w);
  /// A sub-partition's way to shared memory, in two steps: registers are collected, then the banks give their passes.
  /// What the warp that came last did is known exactly.
  struct SharedPipe {
    LongReservationTable collect, banks;
    uint64_t last = 0;  // Warp::number()
    int64_t last_collect = 0, last_banks = 0;
  };
  struct Window {
    uint64_t base = 0, size = 0;
    uint8_t* host = nullptr;
    bool host_writes = false;  // threads of the host may write there meanwhile
  };
  const MemoryTiming timing;
  const uint32_t shared_latency, shared_atomic_latency, global_latency, global_atomic_latency, constant_latency;
  SharedPipe shared_pipe[4];
  LongReservationTable global_port;  // of L1 and the path to L2
  uint64_t epoch = 0;                // of the memory that `recent` describes
  Window recent[4];                  // allocations used last
  unsigned next = 0;
  LanePatterns patterns{timing, shared_latency};  // of shared memory
};
/// The one of the warp's SM; null if there is none yet.
inline MemoryUnit* known_memory_unit(Warp& w) { return static_cast<MemoryUnit*>(w.sm().memory_unit); }
inline MemoryUnit& memory_unit(Warp& w) {
  if (!w.sm().memory_unit) [[unlikely]]
    w.sm().memory_unit = &w.sm().extensions.get<MemoryUnit>(w);
  return *known_memory_unit(w);
}

/// The host's bytes of [address, address + length) of global memory, which an access is about to touch; null if they
/// are not of one allocation.
uint8_t* global_bytes(Warp& w, uint64_t address, uint64_t length);

/// The pipes of a memory unit while one access takes its turn.
class Turn {
 public:
  Turn(Warp& w, MemoryUnit& unit) : w_(w), unit_(unit), now_(int64_t(w.time())) {}

  /// An access of the warp to shared memory; when a load's values, or an atomic's, are there.
  static uint64_t shared(Warp& w, MemoryUnit& unit, const SharedCharge& charge);
  /// The same, written out where it is called: for what most accesses come by.
  [[gnu::always_inline]] static uint64_t shared_here(Warp& w, MemoryUnit& unit, const SharedCharge& charge);
  /// When an access leaves the SM, and when the last of it has.
  struct Passage {
    uint64_t begin, end;
  };
  /// Of an access that touches `lines` and moves `sectors`. Stores wait while too many are on their way.
  Passage global(uint32_t lines, uint32_t sectors, bool writes) {
    const MemoryTiming& t = unit_.timing;
    const double moves = sectors / (writes ? t.stored_per_cycle : t.sectors_per_cycle);
    return pass(std::max(lines * t.l1_line, moves), writes ? std::max(now_, int64_t(w_.sm().stores_held)) : now_);
  }
  /// Of a copy into shared memory, which it writes in `passes`.
  Passage copy(uint32_t passes, uint32_t sectors) {
    const MemoryTiming& t = unit_.timing;
    return pass(std::max(passes * t.copy_pass, sectors / t.sectors_per_cycle), now_);
  }

 private:
  Passage pass(double work, int64_t earliest) {
    const int64_t cycles = std::max<int64_t>(1, int64_t(work)), start = take(unit_.global_port, earliest, cycles);
    stall(w_, now_, start);
    return {uint64_t(start), uint64_t(start + cycles - 1)};
  }
  // A pipe accepts work a little ahead of its own pace; past that queue the warp stalls at issue.
  static constexpr int64_t kQueue = 32;
  /// When the work begins, or would if it were done in one go and over when it is.
  [[gnu::always_inline]] static int64_t take(LongReservationTable& pipe, int64_t earliest, int64_t cycles) {
    return pipe.take(earliest, cycles).end - cycles;
  }
  static void stall(Warp& w, int64_t now, int64_t start) {
    if (start > now + kQueue) w.charge(uint64_t(start - kQueue - now));
  }
  Warp& w_;
  MemoryUnit& unit_;
  const int64_t now_;
};

inline uint64_t Turn::shared_here(Warp& w, MemoryUnit& unit, const SharedCharge& charge) {
  const int64_t now = int64_t(w.time());
  MemoryUnit::SharedPipe* pipe = &unit.shared_pipe[w.sub_partition()];
  asm("" : "+r"(pipe));  // or compilers work out where it lies before each access
  const bool own = pipe->last == w.number();
  pipe->last = w.number();
  int64_t start = now;
  if (own && pipe->last_collect > start) start = pipe->last_collect;
  start = take(pipe->collect, start, charge.collect);
  pipe->last_collect = start + charge.collect;
  start += charge.before_banks;
  if (own && pipe->last_banks > start) start = pipe->last_banks;
  start = take(pipe->banks, start, charge.banks);
  start = take(w.sm().shared_port, start, charge.passes);
  pipe->last_banks = start + charge.banks;
  stall(w, now, start);
  return uint64_t(start + charge.result);
}

}  // namespace tinygpu::isa
