// The clock that power leaves: against the clocks that chips were seen at, and in its limits.
#include "common/tinygpu/timing/power.h"

#include <gtest/gtest.h>

#include "common/tinygpu/timing/profile.h"

namespace {

using tinygpu::Activity;
using tinygpu::PoweredRun;
using tinygpu::PowerTiming;

PowerTiming h200() { return PowerTiming(tinygpu::load_profile("h200")); }
PowerTiming b200() { return PowerTiming(tinygpu::load_profile("b200")); }

/// A launch whose tensor cores are busy for a share of a million cycles, on operands and results of which a share of
/// the bits toggles.
Activity tensor(double share, double toggle = 0.25, double results = 0.4, double operations_per_cycle = 132 * 4096.0) {
  Activity a{.cycles = 1'000'000, .tensor_operations = uint64_t(share * 1e6 * operations_per_cycle)};
  a.toggle = toggle;
  a.result_toggle = results;
  return a;
}
Activity on_b200(double toggle, double results) { return tensor(1, toggle, results, 148 * 8192.0); }

/// TFLOP/s of MMAs of 128 cycles on all SMs of a B200.
double teraflops(double mhz) { return 148 * 8192 * mhz * 1e-6; }

TEST(Power, NothingAndOrdinaryCoresRunAtTheHighestClock) {
  EXPECT_DOUBLE_EQ(h200().cold_mhz({}), 1980);
  EXPECT_DOUBLE_EQ(h200().sustained_mhz({.cycles = 5000}), 1980);
}

TEST(Power, FewTensorOperationsLowerItALittle) {
  const double little = h200().cold_mhz(tensor(0.01));
  EXPECT_LT(little, 1980);
  EXPECT_GT(little, 1950);
}

TEST(Power, NeverRisesWithMoreWorkNorWithMoreToggling) {
  double before = 1e9;
  for (int share = 0; share <= 20; ++share) {
    const double now = h200().sustained_mhz(tensor(share / 20.0));
    EXPECT_LE(now, before);
    before = now;
  }
  before = 1e9;
  for (int toggle = 0; toggle <= 10; ++toggle) {
    const double now = h200().sustained_mhz(tensor(1, toggle / 20.0, toggle / 20.0));
    EXPECT_LE(now, before);
    before = now;
  }
}

TEST(Power, AtTheSustainedClockTheBoardTakesItsLimit) {
  const Activity much = tensor(1, 0.4);
  EXPECT_NEAR(h200().watts(much, h200().sustained_mhz(much)), h200().limit(), 0.1);
  const PoweredRun loop = h200().sustained(much);
  EXPECT_NEAR(loop.joules / loop.seconds, h200().limit(), 0.1);
}

// wgmma bf16 alone on all SMs of an H200, without a pause (2026-11-24): MHz and watts in the second second. How many
// bits of such operands and of their sums toggle was counted by a program of its own.
TEST(Power, TensorCoresAloneOnAnH200) {
  const struct {
    const char* operands;
    double toggle, results, mhz, watts;
  } seen[] = {{"zeros", 0, 0, 1800, 290},           {"ones", 0, 0, 1800, 321},
              {"[1, 2)", 0.223, 0.291, 1768, 622},  {"[0, 1)", 0.289, 0.365, 1740, 690},
              {"[-1, 1)", 0.319, 0.475, 1638, 690}, {"[-8, 8)", 0.435, 0.412, 1608, 690},
              {"normal", 0.353, 0.454, 1630, 690},  {"normal / 64", 0.367, 0.411, 1640, 690},
              {"bits", 0.503, 0.447, 1602, 690}};
  const PowerTiming power = h200();
  for (const auto& row : seen) {
    const Activity a = tensor(1, row.toggle, row.results);
    EXPECT_NEAR(power.sustained_mhz(a) / row.mhz, 1, 0.03) << row.operands;
    EXPECT_NEAR(power.watts(a, power.sustained_mhz(a)) / row.watts, 1, 0.09) << row.operands;
    EXPECT_NEAR(power.cold_mhz(a), 1790, 30) << row.operands;
  }
}

// rhrnald/benchmark on a B200 of 1,000 W: operands of one value 2,229.7 TFLOP/s, uniform ones of [0, 1) 1,928.2.
TEST(Power, TensorCoresAloneOnAB200) {
  EXPECT_NEAR(teraflops(b200().sustained_mhz(on_b200(0, 0))) / 2229.7, 1, 0.02);
  EXPECT_NEAR(teraflops(b200().sustained_mhz(on_b200(0.289, 0.365))) / 1928.2, 1, 0.02);
}

// 700 W at 1,790 MHz were seen for 4.2 TB/s of device memory, which go through L2 as well.
TEST(Power, MemoryCanMeetTheLimitToo) {
  const Activity stream = {.cycles = 1'000'000, .l2_bytes = 2'120'000'000, .dram_bytes = 2'120'000'000};
  EXPECT_NEAR(h200().watts(stream, 1980), 700, 40);
  const Activity twice = {.cycles = 1'000'000, .l2_bytes = 4'240'000'000, .dram_bytes = 4'240'000'000};
  EXPECT_LT(h200().sustained_mhz(twice), 1700);
}

// What a product's operands take on their way from L2 comes on top of the product.
TEST(Power, CopiesForTensorCoresLowerTheClockFurther) {
  Activity fed = tensor(0.9);
  fed.copied_bytes = 4'000'000'000;
  EXPECT_LT(h200().sustained_mhz(fed), h200().sustained_mhz(tensor(0.9)) - 20);
  Activity read = tensor(0.9);
  read.l2_bytes = fed.copied_bytes;
  EXPECT_LT(h200().sustained_mhz(read), h200().sustained_mhz(fed)) << "warps that read take more than copies";
}

TEST(Power, OneLaunchOutOfIdlenessIsColdAndALoopIsNot) {
  const PowerTiming power = b200();
  const Activity a = on_b200(0.35, 0.45);
  const PoweredRun cold = power.cold(a), loop = power.sustained(a);
  EXPECT_NEAR(cold.mhz(), power.cold_mhz(a), 1);
  EXPECT_GT(loop.seconds, cold.seconds * 1.05);
  double average = power.idle(), seconds = 0;
  double last = 0;
  while (seconds < 1) {  // as a benchmark that never rests
    const PoweredRun run = power.behind(a, average);
    EXPECT_GE(run.seconds, cold.seconds * 0.999);
    EXPECT_GE(run.seconds, last * 0.999) << "it gets slower, not faster";
    seconds += run.seconds;
    last = run.seconds;
  }
  EXPECT_NEAR(last / loop.seconds, 1, 1e-6);
  // Something light lets the average fall: the next one is fast again.
  Activity light{.cycles = 1'000'000'000};
  power.behind(light, average);
  EXPECT_NEAR(power.behind(a, average).seconds / cold.seconds, 1, 1e-3);
}

// flashinfer, pull request 2899: attention back to back on a B200, 1.54 ms a launch; launches 10 to 19 are the fastest,
// 30 to 39 are 5 % slower, 70 to 79 15 %. At NVML's 1,580 MHz the board takes 1,000 W.
TEST(Power, AB200ThrottlesBetweenThirtyAndAHundredMilliseconds) {
  const PowerTiming power = b200();
  // Whatever its mix is: it meets the limit at 1,580 MHz.
  Activity attention = on_b200(0.3, 0.3);
  while (power.sustained_mhz(attention) > 1580) attention.result_toggle += 0.001;
  attention.cycles = attention.cycles * 28 / 10;  // 1.54 ms
  attention.tensor_operations = attention.tensor_operations * 28 / 10;
  double average = power.idle();
  double ms[80];
  for (double& one : ms) one = power.behind(attention, average).seconds * 1e3;
  EXPECT_NEAR(ms[19] / ms[0], 1, 1e-6);
  EXPECT_GT(ms[39] / ms[0], 1.05);
  EXPECT_NEAR(ms[79] / ms[0], 1.15, 0.03);
}

}  // namespace
