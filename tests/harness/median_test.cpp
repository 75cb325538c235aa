#include "common/harness/median.h"

#include <gtest/gtest.h>

namespace {

using gen5::harness::median;

TEST(Median, IsTheMiddleOne) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({239, 20, 21}), 21) << "one slow launch does not count";
  EXPECT_EQ(median({1, 2, 3, 4}), 3);
}

}  // namespace
