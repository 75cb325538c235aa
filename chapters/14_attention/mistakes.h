// The ladder's kernels with a line or two wrong.
#pragma once
#include <span>

#include "common/harness/mistake.h"

namespace attention {

/// mistakes.txt's.
std::span<const gen5::harness::Mistake> mistakes();

}  // namespace attention
