// Timelines drawn from spans made by hand.
#include "common/harness/timeline.h"

#include <gtest/gtest.h>

namespace {

using namespace gen5::harness;

TEST(Timeline, AColumnIsARoundNumberOfCycles) {
  const Picture p{"a kernel", {{"load", {{100, 300, '0'}, {300, 500, '1'}}}, {"work", {{300, 350, '0'}}}}};
  EXPECT_EQ(draw({p}, {.columns = 40}),
            "  a kernel\n"
            "        0         100       200       300       400\n"
            "        |         |         |         |         |\n"
            "  load  0000000000000000000011111111111111111111\n"
            "  work                      00000\n"
            "\n"
            "  A column is 10 cycles.\n");
}

TEST(Timeline, SpansThatOverlapHaveRowsOfTheirOwn) {
  const Picture p{"", {{"TMA", {{0, 30, '0'}, {10, 40, '1'}, {30, 60, '2'}}}}};
  EXPECT_EQ(draw({p}, {.columns = 6}),
            "  \n"
            "       0\n"
            "       |\n"
            "  TMA  000222\n"
            "        111\n"
            "\n"
            "  A column is 10 cycles.\n");
}

TEST(Timeline, WhatIsShorterThanAColumnIsStillSeen) {
  // A moment; a span that leaves most of its column empty; one that shares a column with a longer one.
  const Picture p{"", {{"a", {{0, 0, 'm'}, {12, 15, 's'}, {20, 28, 'l'}, {28, 30, 'x'}}}}};
  const std::string text = draw({p}, {.columns = 3});
  EXPECT_NE(text.find("  a  msl\n"), std::string::npos) << text;
}

TEST(Timeline, PicturesShareAScaleAndAreCutAtTheWindow) {
  const Picture slow{"slow", {{"x", {{1000, 3000, 's'}}}}}, fast{"fast", {{"x", {{0, 100, 'f'}}}}};
  const std::string text = draw({slow, fast}, {.columns = 20, .window = 200});
  EXPECT_NE(text.find("slow (the first 200 of 2,000 cycles)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  x  ssssssssssssssssssss\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  fast\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  x  ffffffffff\n"), std::string::npos) << text;
}

TEST(Timeline, RowsBehindTheWindowAreLeftOutButEveryLaneIsNamed) {
  const Picture p{"", {{"x", {{0, 10, '0'}, {900, 990, '1'}, {910, 980, '2'}}}, {"y", {{950, 960, '3'}}}}};
  const std::string text = draw({p}, {.columns = 10, .window = 10});
  EXPECT_NE(text.find("  x  0000000000\n  y\n\n"), std::string::npos) << text;
}

TEST(Timeline, NothingIsNoTrouble) {
  EXPECT_EQ(draw({}), "\n  A column is 1 cycle.\n");
  EXPECT_NE(draw({{"empty", {{"x", {}}}}}).find("  x\n"), std::string::npos);
}

TEST(Timeline, ANumbersMarkIsItsLastDigit) {
  EXPECT_EQ(digit(7), '7');
  EXPECT_EQ(digit(10), '0');
  EXPECT_EQ(digit(123), '3');
}

}  // namespace
