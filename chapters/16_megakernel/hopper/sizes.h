// Sizes of the Hopper kernel that its host knows too.
#pragma once
#include "chapters/16_megakernel/layer.h"

namespace megakernel {

constexpr uint32_t kBand = 16;   // rows of weights of a tile: the rows of an mma.sync
constexpr uint32_t kBlocks = 8;  // blocks of 64 columns of a page: 16 rows of them are 16 KiB

/// Rows of inputs in a page.
constexpr uint32_t input_rows(uint32_t batch) {
  return batch == 1 ? 1 : batch <= 8 ? 8 : batch <= 32 ? 32 : kLargestBatch;
}

}  // namespace megakernel
