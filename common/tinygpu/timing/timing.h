// All that the machine takes from its profile for the clock: read once, when a machine is made.
#pragma once
#include <optional>

#include "common/tinygpu/timing/barriers.h"
#include "common/tinygpu/timing/fences.h"
#include "common/tinygpu/timing/launch.h"
#include "common/tinygpu/timing/mbarrier.h"
#include "common/tinygpu/timing/memory.h"
#include "common/tinygpu/timing/mma.h"
#include "common/tinygpu/timing/registers.h"
#include "common/tinygpu/timing/tensor_memory.h"
#include "common/tinygpu/timing/tma.h"
#include "common/tinygpu/timing/wgmma.h"

namespace tinygpu {

/// Throws std::out_of_range that names the key which the profile lacks.
struct Timing {
  MemoryTiming memory;
  BarrierTiming barriers;
  FenceTiming fences;
  LaunchTiming launch;
  MBarrierTiming mbarrier;
  RegisterTiming registers;
  TmaTiming tma;
  // Of machines that have them (MachineSpec::has_tmem, has_wgmma).
  std::optional<TensorMemoryTiming> tensor_memory;
  std::optional<MmaTiming> mma;
  std::optional<WgmmaTiming> wgmma;
  explicit Timing(const MachineSpec& spec)
      : memory(spec), barriers(spec), fences(spec), launch(spec), mbarrier(spec), registers(spec), tma(spec) {
    if (spec.has_tmem) {
      tensor_memory.emplace(spec);
      mma.emplace(spec);
    }
    if (spec.has_wgmma) wgmma.emplace(spec);
  }
};

}  // namespace tinygpu
