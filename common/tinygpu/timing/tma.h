// The bulk-copy unit (TMA) of an SM: a server with a latency and a rate. Cycles of the SM clock.
#pragma once
#include <array>
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

/// The rows of a box, as they lie in shared memory.
struct BoxRows {
  uint32_t rows, row_bytes, pitch;
  uint64_t bytes;  // that the copy moves
};

struct TmaTiming {
  // Rates of the unit.
  double rows_per_cycle, bytes_per_cycle, store_bytes_per_cycle, reduce_bytes_per_cycle, cluster_bytes_per_cycle;
  double received_bytes_per_cycle;  // of what copies bring into an SM, by whichever SM of a cluster they were asked for
  double odd_row;       // a row that leaves every other one off the 32-byte grid of shared memory: at least, with its
                        // bytes / 64
  double half_sector;   // what a stored row adds that does not end with a sector
  double reduce_piece;  // what each piece of a reduction adds
  double first_piece;   // how much of the first piece's time a store takes longer
  double lead;          // a load's last piece has gone through so long before the unit is free
  // Latencies, from the unit's last piece on.
  uint32_t latency, tensor_latency, far_latency, multicast_latency, gather_latency;
  uint32_t store_latency, tensor_store_latency, visible_latency, cluster_latency;
  int32_t reduce_latency;
  uint32_t descriptor_fetch;     // of a tensor map that is not in the cache
  std::array<double, 8> misses;  // what a copy waits longer when 1, 2, 4 … 128 of its lines come from device memory
  // Of the issuing warp.
  uint32_t issue_load, issue_store, issue_reduce, issue_prefetch;
  uint32_t issue_bulk, issue_bulk_store, issue_bulk_reduce, issue_bulk_prefetch;
  uint32_t commit, wait;  // commit_group, and a wait_group that finds all done
  explicit TmaTiming(const MachineSpec& spec);

  /// What a copy costs the unit: cycles that it is busy, and until it has moved the last piece.
  struct Pace {
    double busy, last;
    static Pace even(double cycles) { return {cycles, cycles}; }
  };
  Pace load(const BoxRows& box) const;
  Pace load(uint32_t bytes) const;
  double store(const BoxRows& box, bool reduces) const;
  double store(uint32_t bytes, bool reduces) const;
  /// L2 is nearer for some lines than for others, and a copy waits for the farthest.
  uint64_t far(uint64_t lines) const;
  /// What a copy waits longer when so many of its lines come from device memory.
  uint64_t miss(uint32_t lines) const;

 private:
  Pace load(double pieces_cycles, uint64_t bytes) const;
};

}  // namespace tinygpu
