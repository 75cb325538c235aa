// The kernels with a line or two wrong.
#pragma once
#include <span>

#include "common/harness/mistake.h"

namespace megakernel {

/// mistakes.txt's.
std::span<const gen5::harness::Mistake> mistakes();

}  // namespace megakernel
