#include "common/tinygpu/machine/chip/gpu.h"

#include "common/tinygpu/machine/chip/grid_scheduler.h"

namespace tinygpu {

Gpu::Gpu(MachineSpec s)
    : spec(std::move(s)),
      timing(spec),
      memory(spec.global_bytes),
      l2(memory, timing.memory.l2_capacity, timing.memory.l2_read_copies),
      chip_memory(l2, timing.memory, uint32_t(spec.sms)) {}

LaunchStats Gpu::launch(const LaunchConfig& config) {
  GridScheduler scheduler(*this);
  scheduler.add(config, clock);
  LaunchStats stats = scheduler.run().stats;
  clock += stats.cycles;
  return stats;
}

}  // namespace tinygpu
