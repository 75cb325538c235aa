// How far a warp issues ahead of the tensor core: what an H200 did on 28 November 2026 with the same rows of
// operations.
#include <gtest/gtest.h>

#include <string>

#include "common/tinygpu/timing/profile.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

constexpr uint32_t kOperations = 16;

/// Each warpgroup issues sixteen operations in a row. Its first thread stores the clock behind each.
std::string in_a_row(uint32_t n) {
  std::string d, clocks, stores;
  for (uint32_t i = 0; i < n / 2; ++i) d += (i ? ", %f" : "%f") + std::to_string(i);
  for (uint32_t i = 0; i < kOperations; ++i) {
    const std::string number = std::to_string(i);
    clocks += "wgmma.mma_async.sync.aligned.m64n" + std::to_string(n) + "k16.f32.bf16.bf16 {" + d +
              "}, %rd1, %rd1, %p1, 1, 1, 0, 0;\nmov.u32 %c" + number + ", %clock;\n";
    stores += "st.global.u32 [%rd3+" + std::to_string(4 * i) + "], %c" + number + ";\n";
  }
  std::string zeros;
  for (uint32_t i = 0; i < n / 2; ++i) zeros += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
  return R"(
.version 8.6
.target sm_90a
.address_size 64
.visible .entry row(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<4>; .reg .b32 %c<16>; .reg .b64 %rd<6>; .reg .f32 %f<128>;
  .shared .align 1024 .b8 smem[16384];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem;
  shr.u32 %r1, %r1, 4; cvt.u64.u32 %rd1, %r1;
  mov.b64 %rd2, 0x0000000800080000;
  add.s64 %rd1, %rd1, %rd2;
  setp.eq.u32 %p1, %r0, %r0;
)" + zeros +
         R"(
  bar.sync 0;
  wgmma.fence.sync.aligned;
)" + clocks +
         R"(
  wgmma.commit_group.sync.aligned;
  wgmma.wait_group.sync.aligned 0;
  and.b32 %r2, %r0, 127;
  setp.ne.u32 %p2, %r2, 0;
  @%p2 ret;
  shr.u32 %r2, %r0, 1; cvt.u64.u32 %rd3, %r2;
  add.s64 %rd3, %rd3, %rd0;
)" + stores +
         "ret;\n}\n";
}

/// Clocks behind the operations of each warpgroup.
std::vector<uint32_t> clocks(uint32_t n, uint32_t warpgroups) {
  RunPtx machine(in_a_row(n), load_profile("h200"));
  machine.gpu.options.timing_only = true;
  const uint64_t out = machine.buffer<uint32_t>(kOperations * warpgroups);
  machine.launch("row", {1, 1, 1}, {128 * warpgroups, 1, 1}, out);
  return machine.download<uint32_t>(out, kOperations * warpgroups);
}

TEST(WgmmaQueue, TakesSevenOperationsAtOnce) {
  for (const uint32_t n : {64u, 128u, 256u}) {
    const std::vector<uint32_t> c = clocks(n, 1);
    EXPECT_LT(c[6] - c[0], 200u) << n;  // an H200: 51, 75 and 168
  }
}

TEST(WgmmaQueue, ThenEachWaitsForTheSixthBeforeIt) {
  // Cycles from one operation to the next, and between the clocks behind the first and the ninth.
  struct Row {
    uint32_t n, each, to_ninth;
  };
  for (const Row& row : {Row{32, 24, 76}, Row{64, 32, 92}, Row{128, 64, 156}, Row{256, 128, 284}}) {
    const std::vector<uint32_t> c = clocks(row.n, 1);
    EXPECT_EQ(c[15] - c[8], 7 * row.each) << row.n;
    EXPECT_NEAR(c[8] - c[0], row.to_ninth, 8) << row.n;
  }
}

TEST(WgmmaQueue, IsSharedByWarpgroups) {
  // Two of 128 columns: each has its turn every 128 cycles. An H200: 128, from the fifth and sixth on.
  const std::vector<uint32_t> c = clocks(128, 2);
  for (uint32_t group = 0; group < 2; ++group)
    EXPECT_NEAR(c[16 * group + 11] - c[16 * group + 6], 5 * 128, 20) << group;
}

}  // namespace
}  // namespace tinygpu::test
