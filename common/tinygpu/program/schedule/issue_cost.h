// What an op takes of a sub-partition: of its issue port and of the units behind it.
#pragma once
#include <vector>

#include "common/tinygpu/program/function.h"
#include "common/tinygpu/program/lower/lower.h"
#include "common/tinygpu/program/sass/sass_match.h"

namespace tinygpu {

/// What each op costs by its class.
void price(const Function& f, LoweredFunction& code, const CostTable& costs);
/// What ptxas made of instructions is what they cost.
void take_shares(Function& f, const std::vector<uint32_t>& first_op, const SassMatch& sass);

}  // namespace tinygpu
