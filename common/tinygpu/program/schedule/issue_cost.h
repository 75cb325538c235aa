// The cycles that an op takes of a sub-partition's issue port and of its units.
#pragma once
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/lower.h"
#include "common/tinygpu/program/sass/sass_match.h"

namespace tinygpu {

/// Prices each op by its cost class.
void price(const Function& f, LoweredFunction& code, const CostTable& costs);
/// Prices ops by the machine instructions that ptxas made of them, where these are known.
void take_shares(Function& f, const std::vector<uint32_t>& first_op, const SassMatch& sass);

}  // namespace tinygpu
