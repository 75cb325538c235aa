// What an access to shared memory costs its banks.
#pragma once
#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// Passes of one access, and how many it would be without conflicts.
struct Passes {
  uint32_t passes, ideal;
};
/// Of an access of `bytes` a lane at offsets of lanes `mask`.
Passes passes_of(const uint32_t* offset, uint32_t mask, uint32_t bytes, bool load);

}  // namespace tinygpu::isa
