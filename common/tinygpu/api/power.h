// What launches take in seconds and joules, and how far predictions of their class have been off: for whoever runs
// them.
#pragma once
#include "common/tinygpu/machine/chip/launch_activity.h"

namespace tinygpu::api {

using tinygpu::activity_of;
using tinygpu::error_band_of;
using tinygpu::ErrorBand;
using tinygpu::PoweredRun;
using tinygpu::PowerTiming;

}  // namespace tinygpu::api
