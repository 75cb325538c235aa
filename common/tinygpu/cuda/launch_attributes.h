// Launch attributes: cudaLaunchAttribute and CUlaunchAttribute are the same type under two names.
#pragma once
#include <cuda.h>

#include "common/tinygpu/cuda/launch.h"

namespace tinygpu::cuda {

class State;
struct Stream;

/// Reads `count` attributes into the request. Those that only steer scheduling (a launch's own priority, preferred
/// cluster, cache hints, programmatic events) are accepted and change nothing here, but for programmatic stream
/// serialization.
/// `event_after` receives the event that an attribute asks to be recorded with the launch.
CUresult read_attributes(const CUlaunchAttribute* attributes, unsigned count, LaunchRequest& request,
                         const void*& event_after);

/// Launches on the stream, or writes down what it captures, and records the event of the attributes, if any.
CUresult launch_with(State& s, Stream& stream, const CUlaunchAttribute* attributes, unsigned count,
                     LaunchRequest& request);

}  // namespace tinygpu::cuda
