#include "common/tinygpu/timing/mma.h"

#include <algorithm>

namespace tinygpu {

MmaTiming::MmaTiming(const MachineSpec& s)
    : columns_per_cycle(s.number("tcgen05.mma.columns_per_cycle")),
      smem_bytes_per_cycle(s.number("tcgen05.mma.smem_bytes_per_cycle")),
      interval_min_ts_pair_m128(s.number("tcgen05.mma.interval_min.ts.cg2.m128")),
      interval_fixed_ss_pair_m256(s.number("tcgen05.mma.interval_fixed.ss.cg2.m256")),
      fixed{{{s.number("tcgen05.mma.fixed.ss.cg1.m64"), s.number("tcgen05.mma.fixed.ss.cg1.m128"), 0},
             {0, s.number("tcgen05.mma.fixed.ss.cg2.m128"), s.number("tcgen05.mma.fixed.ss.cg2.m256")}},
            {{s.number("tcgen05.mma.fixed.ts.cg1.m64"), s.number("tcgen05.mma.fixed.ts.cg1.m128"), 0},
             {0, s.number("tcgen05.mma.fixed.ts.cg2.m128"), s.number("tcgen05.mma.fixed.ts.cg2.m256")}}},
      sooner_integers{s.number("tcgen05.mma.sooner.i8.cg1"), s.number("tcgen05.mma.sooner.i8.cg2")},
      later_scaled{{s.number("tcgen05.mma.later.scaled.ss.cg1"), s.number("tcgen05.mma.later.scaled.cg2")},
                   {s.number("tcgen05.mma.later.scaled.ts.cg1"), s.number("tcgen05.mma.later.scaled.cg2")}},
      observed(s.number("tcgen05.mma.observed")),
      queue(uint32_t(s.number("tcgen05.mma.queue"))),
      commit_arrive(uint64_t(s.number("tcgen05.commit.arrive"))) {}

MmaTime MmaTiming::time(const MmaShape& s) const {
  const bool pair = s.cta_group == 2;
  const double at_once = pair && s.m == 128 && !s.sparse ? 2 : s.weight_stationary ? 128.0 / s.m : 1;
  const double ideal = s.n / (columns_per_cycle * at_once);
  const double bytes = (s.a_in_tmem ? 0.0 : 32.0 * s.m / s.cta_group) + (s.sparse ? 64.0 : 32.0) * s.n / s.cta_group;
  double interval = std::max(ideal, bytes / smem_bytes_per_cycle);
  if (s.a_in_tmem && pair && s.m == 128) interval = std::max(interval, interval_min_ts_pair_m128);
  if (!s.a_in_tmem && pair && s.m == 256) interval = std::max(interval, interval_fixed_ss_pair_m256 + s.n / 8.0);
  double latency = fixed[s.a_in_tmem][pair][s.m / 128] + ideal;
  if (s.kind == MmaShape::Kind::integers) latency -= sooner_integers[pair];
  if (s.kind == MmaShape::Kind::block_scaled) latency += later_scaled[s.a_in_tmem][pair];
  return {interval, latency};
}

}  // namespace tinygpu
