// The ladder's kernels with a line or two wrong.
#pragma once
#include <span>

#include "common/harness/mistake.h"

namespace gemm {

/// mistakes.txt's.
std::span<const gen5::harness::Mistake> mistakes();

namespace kinds {
/// kinds/kinds_mistakes.txt's.
std::span<const gen5::harness::Mistake> mistakes();
}  // namespace kinds

}  // namespace gemm
