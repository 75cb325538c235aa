// How long a launch takes.
#pragma once
#include <functional>

#include "common/harness/cuda_check.h"

namespace gen5::harness {

/// Times a launch on the default stream that may be repeated. tinygpu's clock has no noise: once. On hardware a first
/// launch loads the module and finds cold caches and a low clock, so that it is left out: the median of those after it.
Elapsed measure(const std::function<void()>& launch);

}  // namespace gen5::harness
