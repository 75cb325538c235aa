#include "common/tinygpu/timing/error_band.h"

#include <algorithm>
#include <iterator>

namespace tinygpu {
namespace {

using enum ErrorBand::Cores;
constexpr uint64_t kAnyCycles = ~uint64_t(0);
constexpr double kAnyShare = 1e9;
constexpr ErrorBand kBands[] = {
#include "common/tinygpu/timing/error_bands.inc"
};

}  // namespace

const ErrorBand& error_band(const PredictedLaunch& l) {
  const auto cores = l.async_mma ? async_mma : l.mma_sync ? mma_sync : none;
  const double share = l.cycles ? double(l.device_bytes) / (double(l.cycles) * l.device_bytes_per_cycle) : 0;
  return *std::ranges::find_if(kBands, [&](const ErrorBand& b) {
    return b.cores == cores && l.cycles >= b.from_cycles && l.cycles < b.below_cycles && share >= b.from_device_share &&
           share < b.below_device_share;
  });
}

}  // namespace tinygpu
