// Bank conflicts: how often the 32 banks of shared memory, each 4 bytes wide, have to work for one access.
#pragma once
#include <cstdint>

namespace tinygpu {

/// Passes of the banks that an access takes, and that it would take without conflicts.
struct BankPasses {
  uint32_t passes, ideal;
};
/// Of an access of `bytes` a lane at `offset` (in shared memory) of lanes `mask`.
BankPasses bank_passes(const uint32_t* offset, uint32_t mask, uint32_t bytes, bool load);

/// Distinct words that the busiest bank gives to lanes `mask`, which name `words` words each.
uint32_t busiest_bank(const uint32_t* offset, uint32_t mask, uint32_t words);

}  // namespace tinygpu
