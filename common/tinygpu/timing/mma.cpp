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
      observed(s.number("tcgen05.mma.observed")),
      commit_arrive(uint64_t(s.number("tcgen05.commit.arrive"))) {}

MmaTime MmaTiming::time(int cta_group, uint32_t m, uint32_t n, bool a_in_tmem, bool weight_stationary,
                        bool sparse) const {
  const bool pair = cta_group == 2;
  const double at_once = pair && m == 128 && !sparse ? 2 : weight_stationary ? 128.0 / m : 1;
  const double ideal = n / (columns_per_cycle * at_once);
  const double bytes = (a_in_tmem ? 0.0 : 32.0 * m / cta_group) + (sparse ? 64.0 : 32.0) * n / cta_group;
  double interval = std::max(ideal, bytes / smem_bytes_per_cycle);
  if (a_in_tmem && pair && m == 128) interval = std::max(interval, interval_min_ts_pair_m128);
  if (!a_in_tmem && pair && m == 256) interval = std::max(interval, interval_fixed_ss_pair_m256 + n / 8.0);
  return {interval, fixed[a_in_tmem][pair][m / 128] + ideal};
}

}  // namespace tinygpu
