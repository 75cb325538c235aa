#include "common/layout/tile.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>

#include "common/layout/tensor_memory.h"

namespace {

using namespace gen5::layout;

TEST(Tile, RoundsUp) {
  EXPECT_EQ(ceil_div(1, 128), 1u);
  EXPECT_EQ(ceil_div(256, 128), 2u);
  EXPECT_EQ(ceil_div(257, 128), 3u);
  EXPECT_EQ(round_up(200, 128), 256u);
}

TEST(Tile, BandedOrderVisitsEveryTileOnce) {
  for (uint32_t m : {1u, 3u, 8u, 13u})
    for (uint32_t n : {1u, 5u, 16u})
      for (uint32_t band : {1u, 4u, 8u}) {
        std::set<std::pair<uint32_t, uint32_t>> seen;
        for (uint32_t i = 0; i < m * n; ++i) {
          const TileCoordinate t = banded_tile(i, m, n, band);
          EXPECT_LT(t.m, m);
          EXPECT_LT(t.n, n);
          seen.emplace(t.m, t.n);
        }
        EXPECT_EQ(seen.size(), m * n);
      }
}

TEST(Tile, BandedOrderTyped) {
  // 3 × 2 tiles in bands of 2: (0,0) (1,0) (0,1) (1,1) | (2,0) (2,1)
  const std::pair<uint32_t, uint32_t> order[] = {{0, 0}, {1, 0}, {0, 1}, {1, 1}, {2, 0}, {2, 1}};
  for (uint32_t i = 0; i < 6; ++i) {
    const TileCoordinate t = banded_tile(i, 3, 2, 2);
    EXPECT_EQ(std::pair(t.m, t.n), order[i]);
  }
}

TEST(TensorMemory, Addresses) {
  EXPECT_EQ(tmem_address(0x40, 32, 8), 0x0020'0048u);
  EXPECT_EQ(accumulator_lane(128, 77), 77u);
  // M = 64: rows 0–15 in lanes 0–15, 16–31 in 32–47, 32–47 in 64–79, 48–63 in 96–111.
  EXPECT_EQ(accumulator_lane(64, 15), 15u);
  EXPECT_EQ(accumulator_lane(64, 16), 32u);
  EXPECT_EQ(accumulator_lane(64, 47), 79u);
  EXPECT_EQ(accumulator_lane(64, 48), 96u);
  EXPECT_EQ(allocation_columns(1), 32u);
  EXPECT_EQ(allocation_columns(96), 128u);
  EXPECT_EQ(allocation_columns(512), 512u);
}

}  // namespace
