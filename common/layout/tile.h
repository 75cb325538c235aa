// Cutting a matrix into tiles.
#pragma once
#include <cstdint>

#include "common/layout/attributes.h"

namespace gen5::layout {

GEN5_LAYOUT uint32_t ceil_div(uint32_t a, uint32_t b) { return (a + b - 1) / b; }
GEN5_LAYOUT uint32_t round_up(uint32_t a, uint32_t b) { return ceil_div(a, b) * b; }

struct TileCoordinate {
  uint32_t m, n;
};

/// The `index`-th of tiles_m × tiles_n tiles in an order that keeps neighbours in time close in both directions: bands
/// of `band` tiles along M, each walked along N, so that CTAs that run together share rows of A and columns of B in L2.
GEN5_LAYOUT TileCoordinate banded_tile(uint32_t index, uint32_t tiles_m, uint32_t tiles_n, uint32_t band) {
  const uint32_t per_band = band * tiles_n, first = index / per_band * band;
  const uint32_t height = tiles_m - first < band ? tiles_m - first : band;
  const uint32_t inside = index % per_band;
  return {first + inside % height, inside / height};
}

}  // namespace gen5::layout
