// What the blocks of K take that a run left out, by when its MMAs completed.
#include "common/tinygpu/search/stretch.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

namespace {

using namespace tinygpu::search;

/// Tiles one after the other on an SM, two MMAs a block. `each`: cycles of a block, by tile and block.
MmaSeries series(uint32_t sm, uint32_t tiles, uint32_t blocks,
                 const std::function<uint64_t(uint32_t, uint32_t)>& each) {
  MmaSeries s{sm, {}};
  uint64_t now = 5000;
  for (uint32_t tile = 0; tile < tiles; ++tile) {
    now += 700;  // its epilogue
    for (uint32_t block = 0; block < blocks; ++block) {
      now += each(tile, block);
      s.ends.insert(s.ends.end(), {now - 60, now});
    }
  }
  return s;
}

constexpr uint32_t kBlocks = 24, kFrom = 16, kMissing = 40;

Stretched of(const std::vector<MmaSeries>& run, uint32_t tiles) {
  return stretched(run, {tiles, kBlocks, kFrom, kMissing, 0});
}

TEST(Stretch, BlocksThatAreMissingTakeWhatTheLastOnesOfTheirTileDo) {
  // The first blocks take more, as the ring is filled, and each tile has a pace of its own.
  const auto each = [](uint32_t tile, uint32_t block) { return block < 12 ? 300 : 200 + tile; };
  const Stretched s = of({series(0, 3, kBlocks, each)}, 3);
  EXPECT_TRUE(s.steady);
  EXPECT_DOUBLE_EQ(s.longer, (200 + 201 + 202) * kMissing);
  // So would the run itself, with all blocks.
  EXPECT_EQ(series(0, 3, kBlocks, each).ends.back() + uint64_t(s.longer),
            series(0, 3, kBlocks + kMissing, each).ends.back());
}

TEST(Stretch, TheLastSmOfTheWholeNeedNotBeTheLastOfTheRun) {
  const auto of_speed = [](uint64_t cycles) { return [cycles](uint32_t, uint32_t) { return cycles; }; };
  // The second one's tiles begin later, and its blocks are faster.
  MmaSeries late = series(1, 2, kBlocks, of_speed(201));
  for (uint64_t& end : late.ends) end += 3000;
  const Stretched s = of({series(0, 2, kBlocks, of_speed(202)), late}, 4);
  EXPECT_DOUBLE_EQ(s.longer, 2 * 201 * kMissing);
  const Stretched deeper = stretched({series(0, 2, kBlocks, of_speed(202)), late}, {4, kBlocks, kFrom, 3000, 0});
  // Then the first one is: by 2 x 3,000 cycles more, of which it lacked 3,000 - 2 x 24 at the end of the run.
  EXPECT_DOUBLE_EQ(deeper.longer, 2 * 202 * 3000 - (3000 - 2 * kBlocks));
}

TEST(Stretch, IsNotSteadyWhereBlocksDiffer) {
  const auto steady = [](const std::function<uint64_t(uint32_t, uint32_t)>& each) {
    return of({series(0, 3, kBlocks, each)}, 3).steady;
  };
  EXPECT_TRUE(steady([](uint32_t, uint32_t block) { return block < kFrom ? 100 : 200; }));
  EXPECT_TRUE(steady([](uint32_t tile, uint32_t) { return tile ? 1008 : 1000; }));
  EXPECT_FALSE(steady([](uint32_t tile, uint32_t) { return tile ? 1012 : 1000; })) << "the first tile is faster";
  EXPECT_FALSE(steady([](uint32_t tile, uint32_t) { return tile ? 988 : 1000; }));
  EXPECT_TRUE(steady([](uint32_t, uint32_t block) { return block < 20 ? 1000 : 1008; }));
  EXPECT_FALSE(steady([](uint32_t, uint32_t block) { return block < 20 ? 1000 : 1012; })) << "it becomes slower";
}

TEST(Stretch, IsNotSteadyWhereSomethingElseThanTheTensorCoreIsWaitedFor) {
  const auto steady = [](double most) {
    return stretched({series(0, 3, kBlocks, [](uint32_t, uint32_t) { return uint64_t(520); })},
                     {3, kBlocks, kFrom, kMissing, most})
        .steady;
  };
  EXPECT_TRUE(steady(0)) << "any pace will do";
  EXPECT_TRUE(steady(516));
  EXPECT_FALSE(steady(512));
}

TEST(Stretch, SaysNothingOfMmasThatAreNoWholeTiles) {
  const auto each = [](uint32_t, uint32_t) { return uint64_t(200); };
  EXPECT_FALSE(of({}, 3).steady);
  EXPECT_FALSE(of({series(0, 3, kBlocks, each)}, 5).steady);
  EXPECT_FALSE(of({series(0, 3, kBlocks - 1, each)}, 3).steady);
  // Two series whose tiles are whole only together.
  EXPECT_FALSE(of({series(0, 1, kBlocks + 1, each), series(1, 1, kBlocks - 1, each)}, 2).steady);
}

TEST(Stretch, ReadsLinesOfSmWarpgroupAndTimes) {
  std::istringstream text("3 0 100 148 196\n3 1 120\n147 0 99\n");
  const std::vector<MmaSeries> run = read_mma_ends(text);
  ASSERT_EQ(run.size(), 3u);
  EXPECT_EQ(run[0].sm, 3u);
  EXPECT_EQ(run[0].ends, (std::vector<uint64_t>{100, 148, 196}));
  EXPECT_EQ(run[1].sm, 3u);
  EXPECT_EQ(run[1].ends, std::vector<uint64_t>{120});
  EXPECT_EQ(run[2].sm, 147u);
}

}  // namespace
