// The tiny machine against times that were worked out by hand.
#include "chapters/15_search/tiny_machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "chapters/15_search/rules.h"
#include "chapters/15_search/search.h"

namespace {

using namespace tiny;

TEST(TinyMachine, AUnitServesOneInstructionAfterTheOther) {
  std::vector<Role> roles(2);
  for (Role& role : roles)
    for (int i = 0; i < 3; ++i) role.mma_tile(100);
  const Result r = run(roles);
  EXPECT_EQ(r.busy[tensor_core], 600);
  EXPECT_EQ(r.cycles, 600);
  ASSERT_EQ(r.spans.size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(r.spans[i].from, 100.0 * double(i));
}

// One stage: a load lands after 470 + 385 cycles and 1190 / 119 for its bytes. The MMA warp wakes 27 cycles later,
// waits 7, and multiplies for 50. The commit arrives 136 later, wakes the producer after 27 more, and it all begins
// again 7 cycles later.
TEST(TinyMachine, ARingOfOneStagePaysTheLatencyForEachBlock) {
  Barrier full, empty;
  std::vector<Role> roles(2);
  for (size_t block = 0; block < 3; ++block) {
    roles[0].wait(empty, block);
    roles[0].load_tile(1190, 1, 0, full);
    roles[1].wait(full, block + 1, loads);
    roles[1].mma_tile(50);
    roles[1].commit(empty, 136);
  }
  const Result r = run(roles);
  constexpr double kRound = 10 + 470 + 385 + 27 + 7 + 50 + 136 + 27 + 7;
  ASSERT_THAT(full.ended, testing::SizeIs(3));
  EXPECT_EQ(full.ended[1] - full.ended[0], kRound);
  EXPECT_EQ(full.ended[2] - full.ended[1], kRound);
  EXPECT_EQ(r.lost[loads], (7 + 10 + 470 + 385 + 27) + 2 * (kRound - 50 - 7));
}

TEST(TinyMachine, ALoadTakesAsLongAsItsSlowerUnit) {
  Barrier landed;
  std::vector<Role> roles(1);
  roles[0].load_tile(1190, 1, 300, landed);
  run(roles);
  EXPECT_EQ(landed.ended[0], 300 + 470 + 385);
}

TEST(TinyMachine, RolesThatWaitForEachOtherAreTold) {
  Barrier a, b;
  std::vector<Role> roles(2);
  roles[0].wait(a, 1);
  roles[0].arrive(b);
  roles[1].wait(b, 1);
  roles[1].arrive(a);
  EXPECT_THROW(run(roles), std::runtime_error);
}

// The rules, by points that stand on either side of them.
TEST(Rules, KnowTheirEdges) {
  using search::broken;
  EXPECT_FALSE(broken({.m = 256, .n = 128, .accumulators = 2, .persistent = true}));  // 2 · 2 · 128 = 512 columns
  EXPECT_EQ(broken({.m = 256, .n = 192, .accumulators = 2, .persistent = true})->letter, 'T');
  EXPECT_FALSE(broken({.n = 256, .stages = 4, .persistent = true}));  // 4 · 48 KiB, 32 KiB of boxes, and mbarriers
  EXPECT_EQ(broken({.n = 256, .stages = 5, .persistent = true})->letter, 'S');
  EXPECT_EQ(broken({.block = 64})->letter, 'W');
  EXPECT_FALSE(broken({.block = 64, .span = 64}));
  EXPECT_EQ(broken({.m = 512, .n = 64})->letter, 'B');
  EXPECT_FALSE(broken({.m = 512, .n = 64, .ctas = 2}));
  EXPECT_EQ(broken({.m = 128, .ctas = 2})->letter, 'M');
  EXPECT_EQ(broken({.accumulators = 2})->letter, '=');
}

TEST(Search, RanksKernelsAloneTheFastestFirst) {
  const tiny::Problem problem{1024, 1024, 512};
  const auto ranked = search::ranked(problem, search::three_parameters());
  ASSERT_GT(ranked.size(), 10u);
  for (size_t i = 0; i < ranked.size(); ++i) {
    EXPECT_FALSE(search::broken(ranked[i].point)) << text(ranked[i].point);
    if (i > 0) {
      EXPECT_LE(ranked[i - 1].expected.cycles, ranked[i].expected.cycles);
    }
  }
}

TEST(Search, AChangeIsOneParameterAndNoPointTwice) {
  const auto all = search::changed({});
  for (const Point& p : all) EXPECT_EQ(std::ranges::count(all, p), 1) << text(p);
  EXPECT_EQ(all.size(), 15u + 2 + 1 + 7 + 1 + 1);  // tiles, blocks, swizzle, stages, accumulators, staying
}

}  // namespace
