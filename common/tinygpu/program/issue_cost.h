// What an op takes of a sub-partition: of its issue port and of the units behind it.
#pragma once
#include <vector>

#include "common/tinygpu/program/chip_match.h"
#include "common/tinygpu/program/program.h"

namespace tinygpu {

/// By its class.
void price(Op& op, const ptx::Instruction& inst, bool entry, const OpCost& cost);

/// A function's instructions as they can be found again in what ptxas made of it. `first_op`: by instruction.
std::vector<PtxWork> work_of(const Function& f, const std::vector<uint32_t>& first_op);
/// What ptxas made of them is what they cost.
void take_shares(Function& f, const std::vector<uint32_t>& first_op, const ChipShares& chip);

}  // namespace tinygpu
