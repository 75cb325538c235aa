// Tensor Memory addresses: 128 lanes × 512 columns of 32-bit cells (PTX ISA 9.7.16.1), and where accumulators lie in
// it.
#pragma once
#include <cstdint>

#include "common/layout/attributes.h"

namespace gen5::layout {

/// The cell `lane` lanes and `column` columns from `base`.
GEN5_LAYOUT uint32_t tmem_address(uint32_t base, uint32_t lane, uint32_t column) {
  return base + (lane << 16) + column;
}

/// Lane of row `row` of an accumulator with cta_group::1: M = 128 uses all lanes in order, M = 64 the first 16 of
/// every 32.
GEN5_LAYOUT uint32_t accumulator_lane(uint32_t m, uint32_t row) { return m == 64 ? (row / 16) * 32 + row % 16 : row; }

/// Columns to ask tcgen05.alloc for: the next power of two from 32.
GEN5_LAYOUT uint32_t allocation_columns(uint32_t columns) {
  uint32_t n = 32;
  while (n < columns) n *= 2;
  return n;
}

}  // namespace gen5::layout
