// Tensor Memory: its allocator, tcgen05.ld, st, cp and shift. Cycles of the SM clock.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct TensorMemoryTiming {
  double alloc, alloc_contended, dealloc, relinquish;
  // A load of R registers a thread keeps its partition's port for ld_fixed + ld_register * R, with R <= 2 for ld_min.
  double ld_min, ld_fixed, ld_register, ld_latency;
  double st_fixed, st_register, st_latency;
  double wait_ld, wait_st;
  double cp_fixed, cp_bytes_per_cycle, cp_latency;
  double shift_latency;
  explicit TensorMemoryTiming(const MachineSpec& spec);
};

}  // namespace tinygpu
