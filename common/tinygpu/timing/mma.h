// tcgen05.mma and commit, by closed forms that are fitted to a B200's bursts (notes/evidence.md). Cycles of the SM
// clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct MmaTime {
  double interval = 0;  // until the unit takes the next one
  double latency = 0;   // issue until a program that waits for its commit goes on
};

/// What an MMA's time depends on. M = 64 or 128 of one CTA, also 32 of .ws, 128 or 256 of a pair.
struct MmaShape {
  int cta_group = 1;
  uint32_t m = 128, n = 8;
  bool a_in_tmem = false;
  /// All kinds take the same time for their K, but for a few cycles of latency.
  enum class Kind : uint8_t { floats, integers, block_scaled } kind = Kind::floats;
  bool weight_stationary = false, sparse = false;
};

struct MmaTiming {
  double columns_per_cycle, smem_bytes_per_cycle;
  double interval_min_ts_pair_m128;    // .cta_group::2, A in Tensor Memory, M = 128
  double interval_fixed_ss_pair_m256;  // and both operands in shared memory, M = 256
  double fixed[2][2][3];      // what latency adds to the unit's cycles: [A in Tensor Memory][pair][M = 64, 128, 256]
  double sooner_integers[2];  // cycles off the latency of kind::i8: [pair]
  double later_scaled[2][2];  // and on that of block-scaled kinds: [A in Tensor Memory][pair]
  double observed;            // of the latency, what commit and wait take after the last MMA is complete
  uint32_t queue;             // MMAs that may wait for the unit; who issues more waits itself
  uint64_t commit_arrive;     // tcgen05.commit's arrive, after what it waits for
  explicit MmaTiming(const MachineSpec& spec);
  /// That of .ws and .sp is estimated: .ws finishes as many cells of D a clock as M = 128 does, .sp reads twice as much
  /// of B.
  MmaTime time(const MmaShape& shape) const;
};

}  // namespace tinygpu
