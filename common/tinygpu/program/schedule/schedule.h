// Last step of the pipeline: when an op of a function may issue.
#pragma once
#include "common/tinygpu/program/allocate/allocate.h"
#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/lower.h"
#include "common/tinygpu/program/sass/sass_match.h"

namespace tinygpu {

/// Static stalls for results of known latency, scoreboards for the others; times of the machine code where `sass` has
/// them. Of `code` it reads the flow and the touches.
void schedule(Function& f, const LoweredFunction& code, const Placement& places, const SassMatch& sass,
              const CostTable& costs);

}  // namespace tinygpu
