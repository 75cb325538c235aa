#include "common/tinygpu/machine/chip/gpu.h"

#include "common/tinygpu/machine/chip/flight.h"

namespace tinygpu {

Gpu::Gpu(MachineSpec s)
    : spec(std::move(s)),
      timing(spec),
      memory(spec.global_bytes),
      l2(memory, timing.memory.l2_capacity, timing.memory.l2_read_copies),
      chip_memory(l2, timing.memory, uint32_t(spec.sms)) {}

LaunchStats Gpu::launch(const LaunchConfig& config) {
  // A grid that may begin early has its first instruction so long behind the moment when the one before lets it, its
  // own launch included.
  const LaunchTiming& t = timing.launch;
  const uint64_t early = before.lets_start + t.programmatic, usual = t.latency + t.cta;
  const bool beside = config.programmatic && before.over == clock && early < clock + usual;
  const uint64_t start = beside ? std::max(before.start, early - std::min(early, usual)) : clock;
  const GridBefore left_by = beside ? std::move(before) : GridBefore{};
  before = {};
  Flight flight(*this);
  flight.add(config, start, beside ? &left_by : nullptr);
  Flight::Ended ended = flight.run();
  const uint64_t over = std::max(clock, start + ended.stats.cycles);
  before = ended.launch->left();
  before.over = clock = over;
  return std::move(ended.stats);
}

}  // namespace tinygpu
