// How many bits of operands and results toggle, as a launch counts them, against patterns whose answer is known.
#include <gtest/gtest.h>

#include "common/tinygpu/machine/chip/launch_activity.h"
#include "tests/support/run_ptx.h"

namespace {

using namespace tinygpu;
using namespace tinygpu::test;

/// One mma.sync (m16n8k8, tf32): A's registers are `a` in lanes of even rows and 0 in the others, B's are 1.0.
Activity of_mma(const std::string& a, bool timing_only = false) {
  RunPtx machine(
      ".visible .entry k() {\n.reg .b32 %r<8>; .reg .f32 %f<4>; .reg .pred p;\n"
      "mov.u32 %r0, %laneid; and.b32 %r1, %r0, 4; setp.eq.u32 p, %r1, 0;\n"
      "selp.b32 %r2, " +
      a +
      ", 0, p; mov.b32 %r3, 0x3f800000;\n"
      "mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; mov.f32 %f3, %f0;\n"
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, %f3}, {%r2, %r2, %r2, %r2}, {%r3, %r3}, "
      "{%f0, %f1, %f2, %f3};\nret;\n}\n");
  machine.gpu.options.timing_only = timing_only;
  return activity_of(machine.launch("k", {1, 1, 1}, {32, 1, 1}));
}

TEST(Toggle, IsTheShareOfBitsThatDifferFromTheNextRow) {
  // Four of six registers have it; all 32 bits, 7 of them, none.
  EXPECT_DOUBLE_EQ(of_mma("0xffffffff").toggle, 4 / 6.0);
  EXPECT_DOUBLE_EQ(of_mma("0x3f800000").toggle, 4 / 6.0 * 7 / 32);
  EXPECT_DOUBLE_EQ(of_mma("0").toggle, 0);
}

TEST(Toggle, OfResultsIsFromAColumnToTheNext) {
  EXPECT_DOUBLE_EQ(of_mma("0x3f800000").result_toggle, 0) << "all columns of B are one";
}

TEST(Toggle, IsNotKnownWithoutValues) {
  EXPECT_EQ(of_mma("0x3f800000", true).toggle, -1);
  EXPECT_EQ(of_mma("0x3f800000", true).result_toggle, -1);
  EXPECT_GT(of_mma("0x3f800000", true).tensor_operations, 0u);
}

TEST(Toggle, ALaunchWithoutTensorCoresHasNone) {
  RunPtx machine(".visible .entry k() { ret; }");
  const Activity a = activity_of(machine.launch("k", {1, 1, 1}, {32, 1, 1}));
  EXPECT_EQ(a.tensor_operations, 0u);
  EXPECT_EQ(a.toggle, -1);
  EXPECT_GT(a.instructions, 0u);
}

TEST(Band, IsThatOfTheClass) {
  const MachineSpec spec = plain_machine();
  const auto band = [&](uint64_t cycles, uint64_t device_bytes = 0, const char* counter = "") {
    LaunchStats stats;
    stats.cycles = cycles;
    stats.device_bytes = device_bytes;
    if (*counter) stats.counters[counter] = 1;
    return std::string(error_band_of(stats, spec).kernels);
  };
  EXPECT_EQ(band(0), "no tensor cores, below 10,000 cycles");
  EXPECT_EQ(band(100), "no tensor cores, below 10,000 cycles");
  EXPECT_EQ(band(10000), "no tensor cores, 10,000 cycles and more");
  EXPECT_EQ(band(10000, 20'000'000), "no tensor cores, limited by device memory");
  EXPECT_EQ(band(100, 0, "mma.sync"), "tensor cores, mma.sync");
  EXPECT_EQ(band(100, 0, "tcgen05.mma"), "tensor cores, wgmma or tcgen05, below 50,000 cycles");
  EXPECT_EQ(band(50000, 0, "wgmma.mma_async"), "tensor cores, wgmma or tcgen05, 50,000 cycles and more");
}

}  // namespace
