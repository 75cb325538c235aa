// What fences take. Cycles of the SM clock; the numbers are probe_00_fences's.
#pragma once
#include <cstdint>

#include "common/tinygpu/timing/spec.h"

namespace tinygpu {

struct FenceTiming {
  uint64_t cta;          // at the CTA's scope
  uint64_t gpu;          // at the cluster's or the GPU's, with nothing stored before: to L2 and back
  uint64_t system;       // at the system's
  uint64_t gpu_warp;     // of these, a sub-partition sends the next so much later
  uint64_t proxy;        // fence.proxy.async of global memory
  uint64_t stored;       // from when a store is in L2 until a fence behind it can set out,
  uint64_t stored_bulk;  // and a bulk copy's,
  uint64_t updated;      // or an atomic's
  uint64_t acquire;      // what a load that acquires there takes longer than one that does not
  explicit FenceTiming(const MachineSpec& spec);
};

}  // namespace tinygpu
