// The load/store unit of an SM: its pipes to shared memory and to L1, and when an access has passed them.
#pragma once
#include <algorithm>

#include "common/tinygpu/engines/lsu/lane_layout.h"
#include "common/tinygpu/engines/lsu/store_queue.h"
#include "common/tinygpu/machine/chip/gpu.h"
#include "common/tinygpu/machine/chip/reservation_table.h"
#include "common/tinygpu/machine/extension.h"

namespace tinygpu {

class LoadStoreUnit final : public Extension {
 public:
  /// Times of the machine on which `w` runs.
  explicit LoadStoreUnit(const Warp& w);
  /// The unit of the warp's SM, made when the SM makes its first access.
  static LoadStoreUnit& of(Warp& w) {
    if (!w.sm().lsu) [[unlikely]]
      w.sm().lsu = &w.sm().extensions.get<LoadStoreUnit>(w);
    return *w.sm().lsu;
  }

  /// An access to shared memory takes its turn; when the values of a load, or an atomic, are there.
  uint64_t shared(Warp& w, const SharedCost& cost);
  /// The same, inlined into its caller: for the commonest accesses.
  [[gnu::always_inline]] uint64_t shared_inline(Warp& w, const SharedCost& cost);

  /// When an access leaves the SM, and when the last of it has.
  struct Passage {
    uint64_t begin, end;
  };
  /// Of an access that touches `lines` of global memory and moves `sectors`. A store waits while those on their way to
  /// L2 are too many.
  Passage global(Warp& w, uint32_t lines, uint32_t sectors, bool writes) {
    const double moves = sectors / (writes ? timing.stored_per_cycle : timing.sectors_per_cycle);
    const int64_t earliest = writes ? std::max(int64_t(w.time()), int64_t(w.sm().stores_held)) : int64_t(w.time());
    return pass(w, std::max(lines * timing.l1_line, moves), earliest);
  }
  /// Of a cp.async, which writes shared memory in `passes`.
  Passage copy(Warp& w, uint32_t passes, uint32_t sectors) {
    return pass(w, std::max(passes * timing.copy_pass, sectors / timing.sectors_per_cycle), int64_t(w.time()));
  }
  /// When the pipe to L1 has taken all that it was given.
  uint64_t global_free() const { return uint64_t(global_pipe_.end()); }
  /// Stores that wait as one of `w` comes: for that pipe, or because L2 takes them more slowly than the SM sends them.
  StoreQueue& waiting_stores(const Warp& w) {
    const uint64_t now = w.time(), held = w.sm().stores_held;
    const bool lag = held && now < held + timing.store_queue;
    if (global_free() <= now && !lag) stores_.clear();
    return stores_;
  }

  /// The host's bytes of [address, address + length) of global memory, which an access is about to touch; null if they
  /// are not of one allocation.
  uint8_t* global_bytes(Warp& w, uint64_t address, uint64_t length);

  const MemoryTiming timing;
  const bool free_loads;  // loads from global memory take no time (timing/free_work.h)
  const uint32_t shared_latency, shared_atomic_latency, global_latency, global_atomic_latency, constant_latency;
  LaneLayouts layouts{timing, shared_latency};

 private:
  /// A sub-partition's path to shared memory, in two steps: registers are collected, then the banks give their passes.
  /// Accesses of one warp stay in order, so the last one's times are kept exactly.
  struct SharedPath {
    LongReservationTable collect, banks;
    uint64_t last = 0;  // Warp::number()
    int64_t last_collect = 0, last_banks = 0;
  };
  /// An allocation of global memory.
  struct Window {
    uint64_t base = 0, size = 0;
    uint8_t* host = nullptr;
    bool host_writes = false;  // host threads may write there meanwhile
  };
  Passage pass(Warp& w, double work, int64_t earliest) {
    const int64_t cycles = std::max<int64_t>(1, int64_t(work)), start = take(global_pipe_, earliest, cycles);
    stall(w, int64_t(w.time()), start);
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

  SharedPath shared_path_[4];
  LongReservationTable global_pipe_;  // of L1 and the path to L2
  StoreQueue stores_{timing.stores_waiting};
  uint64_t epoch_ = 0;  // of the memory that windows_ are of
  Window windows_[4];   // allocations used last
  unsigned next_ = 0;
};

inline uint64_t LoadStoreUnit::shared_inline(Warp& w, const SharedCost& cost) {
  const int64_t now = int64_t(w.time());
  SharedPath* path = &shared_path_[w.sub_partition()];
  asm("" : "+r"(path));  // or compilers compute its address again before each access
  const bool same_warp = path->last == w.number();
  path->last = w.number();
  int64_t start = now;
  if (same_warp && path->last_collect > start) start = path->last_collect;
  start = take(path->collect, start, cost.collect);
  path->last_collect = start + cost.collect;
  start += cost.before_banks;
  if (same_warp && path->last_banks > start) start = path->last_banks;
  start = take(path->banks, start, cost.banks);
  start = take(w.sm().shared_port, start, cost.passes);
  path->last_banks = start + cost.banks;
  stall(w, now, start);
  return uint64_t(start + cost.result);
}

}  // namespace tinygpu
