#include "common/tinygpu/machine/chip/launch_activity.h"

#include <algorithm>

namespace tinygpu {
namespace {

uint64_t counted(const LaunchStats& stats, const char* name) {
  const auto found = stats.counters.find(name);
  return found == stats.counters.end() ? 0 : found->second;
}

}  // namespace

Activity activity_of(const LaunchStats& stats) {
  const uint64_t copied = std::min(stats.l2_bytes, counted(stats, kCopiedBytes));
  const auto share = [&](const BitCounters& bits) {
    const uint64_t all = counted(stats, bits.all);
    return all ? double(counted(stats, bits.toggled)) / double(all) : -1;
  };
  return {.cycles = stats.cycles,
          .tensor_operations = counted(stats, kTensorWork),
          .l2_bytes = stats.l2_bytes - copied,
          .copied_bytes = copied,
          .dram_bytes = stats.device_bytes,
          .instructions = stats.instructions,
          .toggle = share(kOperandBits),
          .result_toggle = share(kResultBits)};
}

const ErrorBand& error_band_of(const LaunchStats& stats, const MachineSpec& spec) {
  return error_band({.cycles = stats.cycles,
                     .device_bytes = stats.device_bytes,
                     .device_bytes_per_cycle = spec.number("mem.dram.bytes_per_cycle"),
                     .mma_sync = counted(stats, "mma.sync") > 0,
                     .async_mma = counted(stats, "wgmma.mma_async") + counted(stats, "tcgen05.mma") > 0});
}

}  // namespace tinygpu
