// The clock that power leaves: against the clocks that an H200 was seen at, and in its limits.
#include "common/tinygpu/timing/power.h"

#include <gtest/gtest.h>

#include "common/tinygpu/timing/profile.h"

namespace {

using tinygpu::Activity;
using tinygpu::PowerTiming;

PowerTiming h200() { return PowerTiming(tinygpu::load_profile("h200")); }

/// A launch whose tensor cores are busy for a share of a million cycles.
Activity tensor(double share) {
  constexpr double kOperationsPerCycle = 132 * 4096.0;
  return {1'000'000, uint64_t(share * 1e6 * kOperationsPerCycle)};
}

TEST(Power, NothingAndOrdinaryCoresRunAtTheHighestClock) {
  EXPECT_DOUBLE_EQ(h200().clock_mhz({}), 1980);
  EXPECT_DOUBLE_EQ(h200().clock_mhz({5000}), 1980);
}

TEST(Power, FewTensorOperationsLowerItALittle) {
  const double little = h200().clock_mhz(tensor(0.01));
  EXPECT_LT(little, 1980);
  EXPECT_GT(little, 1950);
}

// Rows of probe_13_power that the numbers were not fitted to: all tensor cores busy all the time on changing data met
// 700 W at 1,659 MHz; at a quarter of the time the clock was 1,770.
TEST(Power, TensorCoresAreSeenInTheClockAtOnceAndThenByTheirPower) {
  EXPECT_NEAR(h200().clock_mhz(tensor(0.25)), 1770, 40);
  EXPECT_NEAR(h200().clock_mhz(tensor(1)), 1659, 30);
  EXPECT_LT(h200().clock_mhz(tensor(1)), h200().clock_mhz(tensor(0.75)) - 50);
}

TEST(Power, NeverRisesWithMoreWork) {
  double before = 1e9;
  for (int share = 0; share <= 20; ++share) {
    const double now = h200().clock_mhz(tensor(share / 20.0));
    EXPECT_LE(now, before);
    before = now;
  }
}

// 700 W at 1,790 MHz were seen for 4.2 TB/s of device memory, which go through L2 as well.
TEST(Power, MemoryCanMeetTheLimitToo) {
  const Activity stream = {.cycles = 1'000'000, .l2_bytes = 2'120'000'000, .dram_bytes = 2'120'000'000};
  EXPECT_NEAR(h200().watts(stream), 700, 40);
  const Activity twice = {.cycles = 1'000'000, .l2_bytes = 4'240'000'000, .dram_bytes = 4'240'000'000};
  EXPECT_LT(h200().clock_mhz(twice), 1700);
}

// What a product's operands take on their way from L2 comes on top of the product.
TEST(Power, CopiesForTensorCoresLowerTheClockFurther) {
  Activity fed = tensor(0.9);
  fed.copied_bytes = 4'000'000'000;
  EXPECT_LT(h200().clock_mhz(fed), h200().clock_mhz(tensor(0.9)) - 20);
  Activity read = tensor(0.9);
  read.l2_bytes = fed.copied_bytes;
  EXPECT_LT(h200().clock_mhz(read), h200().clock_mhz(fed)) << "warps that read take more than copies";
}

}  // namespace
