// What an op takes of a sub-partition: of its issue port and of the units behind it.
#pragma once
#include <vector>

#include "common/tinygpu/program/program.h"
#include "common/tinygpu/program/sass/sass_match.h"

namespace tinygpu {

/// By its class.
void price(Op& op, const ptx::Instruction& inst, bool entry, const OpCost& cost);

/// An instruction as it can be found again in what ptxas made of it.
PtxFeatures features_of(const Op& op, const ptx::Instruction& inst);
/// What ptxas made of them is what they cost.
void take_shares(Function& f, const std::vector<uint32_t>& first_op, const SassMatch& sass);

}  // namespace tinygpu
