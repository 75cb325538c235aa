// Launches whose timelines are wanted.
#pragma once
#include <cstdint>
#include <functional>

#include "common/harness/pipeline.h"

namespace gen5::harness {

/// Starts a kernel on the default stream; the stamped one where a buffer for stamps is given (stamps.h).
using StampedLaunch = std::function<void(uint64_t* stamps)>;

/// From the stamps of the kernel's own threads.
Pipeline stamped_pipeline(const PipelineShape& shape, const StampedLaunch& launch);
/// From who watches; from stamps where nobody does, or where `stamps` asks for them.
Pipeline run_pipeline(const PipelineShape& shape, bool stamps, const StampedLaunch& launch);

}  // namespace gen5::harness
