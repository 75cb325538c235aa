// A launch's statistics, as far as its power and the errors of its prediction depend on them.
#pragma once
#include "common/tinygpu/machine/chip/launch.h"
#include "common/tinygpu/timing/error_band.h"
#include "common/tinygpu/timing/power.h"

namespace tinygpu {

/// What a launch did, or several that ran side by side.
Activity activity_of(const LaunchStats& stats);
/// How far predictions of its class have been off.
const ErrorBand& error_band_of(const LaunchStats& stats, const MachineSpec& spec);

}  // namespace tinygpu
