// The search with a line wrong.
#pragma once
#include <span>

#include "common/harness/mistake.h"

namespace search {

/// mistakes.txt's.
std::span<const gen5::harness::Mistake> mistakes();

}  // namespace search
