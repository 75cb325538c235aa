// Launches whose timelines are wanted.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>

#include "common/harness/pipeline.h"

namespace gen5::harness {

/// Starts a kernel on the default stream; the stamped one where a buffer for stamps is given (stamps.h).
using StampedLaunch = std::function<void(uint64_t* stamps)>;

/// From the stamps of the kernel's own threads.
Pipeline stamped_pipeline(const PipelineShape& shape, const StampedLaunch& launch);
/// From who watches; from stamps where nobody does, or where `stamps` asks for them. `l2_bytes`: what the kernel read
/// from L2, where somebody watches.
Pipeline run_pipeline(const PipelineShape& shape, bool stamps, const StampedLaunch& launch,
                      std::optional<uint64_t>* l2_bytes = nullptr);

}  // namespace gen5::harness
