// Shared and global memory, as one SM sees them. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct MemoryTiming {
  double sectors_per_cycle;   // of 32 bytes, from L2 to one SM
  double stored_per_cycle;    // the same, of stores to L2
  uint32_t l1_latency;        // of a load that hits L1
  uint32_t l1_bytes;          // L1 and shared memory together
  double l1_line;             // L1's pipe, for each line of 128 bytes that a warp's instruction touches
  uint32_t miss_latency;      // what device memory adds to L2's latency, in the mean
  uint32_t miss_least;        // and at least
  uint32_t remote_latency;    // shared memory of another CTA of the cluster
  int64_t pass_cycles;        // of shared memory's pipe, for each pass of the banks
  int64_t word_latency;       // what each further word of a lane adds
  int64_t collect_fixed;      // of the load/store unit, for an access: its addresses,
  int64_t collect_word;       // and each word of a lane
  uint32_t strong_latency;    // what a load of the GPU's scope or a wider one takes longer
  uint64_t l2_capacity;       // bytes that L2 keeps, first in, first out
  uint32_t l2_read_copies;    // lines of L2 that a line which kernels read takes
  uint64_t cp_async_latency;  // what cp.async adds to a load
  double copy_pass;           // L1's pipe, for each pass in which a warp's cp.async writes shared memory
  // What all SMs share.
  uint64_t least_latency;       // nothing that leaves an SM is answered sooner
  double l2_bytes;              // a cycle, all slices, read
  double l2_write_bytes;        // and written
  double l2_write_least;        // bytes of that rate that a written line takes at least
  double l2_request;            // and a line that is asked for
  double l2_read_least;         // bytes of a slice's rate that an answer takes at least
  uint32_t gpcs;                // of the chip,
  uint32_t cpcs_of_gpc;         // and of each of them
  double gpc_bytes;             // a cycle, what the SMs of a GPC read from L2 when no others do,
  double gpc_shares_within;     // cycles between two of them whose bulk copies read a line and share it,
  double gpc_share_of_parts;    // of bulk copies that read parts of lines: those that share them,
  double gpc_share_of_loads;    // of loads of a line that is on its way to another SM of a GPC: those that share it,
  double gpc_shared_bytes;      // what they share of each other's
  double cpc_write_bytes;       // and those of a CPC write
  double l2_far;                // cycles that a line takes longer which only the other half of the chip has
  uint32_t l2_slices;           // of both halves
  double slice_bytes;           // a cycle, one slice, read
  double slice_write_bytes;     // and written
  double dram_bytes;            // a cycle, all of device memory
  uint32_t dram_channels;       // its groups of banks
  double dram_late_share;       // of stretches of device memory: those that take longer than the least,
  double dram_late;             // by up to so many cycles
  double dram_least;            // bytes of a group's rate that a read takes at least,
  double dram_elsewhere;        // and more, if the one before was in another stretch
  double dram_write;            // cycles for a byte written back, those for one read being 1
  uint32_t dram_write_batch;    // lines that a group lets wait at most, to write them in one go,
  double dram_patience;         // cycles that they wait in an idle group that has read,
  double dram_turn;             // and that it takes to turn to them and back
  uint64_t store_queue;         // so far stores may lag behind before their SM waits
  uint32_t stores_waiting;      // lines of stores that wait in an SM for the way to L2, and that later ones merge into
  double atomic_line;           // of a slice, for each line that an instruction's atomics touch,
  double atomic_sector;         // each sector of 32 bytes,
  double atomic_word;           // and for each further lane on the same word,
  double atomic_float_word;     // if it adds numbers
  int64_t shared_atomic_pass;   // of shared memory's pipe, for each pass of an atomic
  int64_t shared_atomic_same;   // and for each further lane on the same word
  uint64_t shared_float_round;  // cycles of a round of the loop that a sum of floats in shared memory is
  bool conflicts_free;          // bank conflicts take no passes (free_work.h)
  uint64_t atomic_scan;         // and what a warp needs to share out the result of an atomic that sums its lanes
  explicit MemoryTiming(const MachineSpec& spec);
};

}  // namespace tinygpu
