#include "common/harness/difference.h"

#include <gtest/gtest.h>

namespace {

using namespace gen5::harness;

TEST(Difference, EqualWordsHaveNone) {
  EXPECT_EQ(difference("d", std::vector<uint32_t>{1, 2}, std::vector<uint32_t>{1, 2}), "");
  EXPECT_EQ(difference("d", std::vector<uint16_t>{}, std::vector<uint16_t>{}), "");
}

TEST(Difference, TheFirstIsNamedWithBothWordsAndHowManyThereAre) {
  EXPECT_EQ(difference("d", std::vector<uint32_t>{7, 5, 9}, std::vector<uint32_t>{7, 4, 8}),
            "d[1] is 0x5 and should be 0x4; 2 of 3 words differ");
  EXPECT_EQ(difference("d", std::vector<uint16_t>{7, 5}, std::vector<uint16_t>{7, 4}),
            "d[1] is 0x5 and should be 0x4; 1 of 2 words differ");
}

TEST(Difference, RowsAndColumnsSayWhereTheOthersLie) {
  EXPECT_EQ(difference("d", std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 9, 8},
                       std::vector<uint32_t>{1, 2, 3, 4, 0, 6, 7, 0, 8}, 3),
            "d[1][1] is 0x5 and should be 0x0; 2 of 9 words differ, all in rows 1 to 2 and columns 1 to 1");
}

TEST(Difference, FloatsAreShownAsNumbers) {
  EXPECT_EQ(difference("d", std::vector<uint32_t>{0x3f800000}, std::vector<uint32_t>{0x40000000}, 0, Shown::floats),
            "d[0] is 0x3f800000 (1) and should be 0x40000000 (2); 1 of 1 words differ");
  EXPECT_EQ(difference("o[3][7]", 1.5, 2), "o[3][7] is 1.5 and should be 2");
}

TEST(Difference, AMisplacedWordIsFollowedHome) {
  EXPECT_EQ(difference("d", std::vector<uint32_t>{20, 10}, std::vector<uint32_t>{10, 20}),
            "d[0] is 0x14 and should be 0xa; 2 of 2 words differ. What is there belongs to d[1]");
  EXPECT_EQ(difference("d", std::vector<uint32_t>{0xffffffff}, std::vector<uint32_t>{3}),
            "d[0] is 0xffffffff and should be 0x3; 1 of 1 words differ. Nothing was written there");
}

TEST(Difference, AnotherSizeIsADifference) {
  EXPECT_EQ(difference("d", std::vector<uint32_t>{1}, std::vector<uint32_t>{1, 2}), "d has 1 elements instead of 2");
}

TEST(Verdict, IsRightWithoutADifference) {
  EXPECT_TRUE(Verdict(true));
  EXPECT_TRUE(Verdict(std::string()));
  EXPECT_FALSE(Verdict(false));
  EXPECT_FALSE(Verdict(std::string("d[0] is 1 and should be 2")));
}

}  // namespace
