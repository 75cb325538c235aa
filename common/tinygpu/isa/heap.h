// The heap of device code: malloc and free in kernels.
#pragma once
#include <cstdint>

#include "common/tinygpu/isa/lanes.h"

namespace tinygpu::isa {

/// 0 if there is not so much.
uint64_t allocate_in_heap(Gpu& gpu, uint64_t bytes);
/// Nothing is done for address 0.
void free_in_heap(Warp& w, uint64_t address, int lane);

}  // namespace tinygpu::isa
