// Sizes of the Hopper kernel that its host knows too.
#pragma once
#include "chapters/16_megakernel/layer.h"

namespace megakernel {

/// Rows of inputs in a page: of a batch. Up to 8, mma.sync multiplies them; from 32 on, wgmma does.
constexpr uint32_t input_rows(uint32_t batch) {
  return batch == 1 ? 1 : batch <= 8 ? 8 : batch <= 32 ? 32 : kLargestBatch;
}
constexpr bool is_wide(uint32_t rows_of_inputs) { return rows_of_inputs > 8; }

/// Rows of weights of a tile, and blocks of 64 columns of a page: 16 KiB.
constexpr uint32_t tile_rows(uint32_t rows_of_inputs) {
  return is_prefill(rows_of_inputs) ? kTile : is_wide(rows_of_inputs) ? 64 : 16;
}
constexpr uint32_t page_blocks(uint32_t rows_of_inputs) {
  return is_prefill(rows_of_inputs) ? 1 : is_wide(rows_of_inputs) ? 2 : 8;
}

}  // namespace megakernel
