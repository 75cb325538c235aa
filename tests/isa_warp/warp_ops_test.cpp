// Shuffles, votes, match, redux, elect.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

std::vector<uint32_t> value_and_flag(const std::string& instruction) {
  RunPtx run(kernel("  add.u32 %r1, %t, 100;\n  mov.u32 %r0, 7;\n  " + instruction +
                    ";\n  selp.u32 %r2, 1000, 0, %p0;\n  add.u32 %r3, %r0, %r2;\n  st.global.u32 [%dst], %r3;\n"));
  return run_kernel(run, 32, 32);
}

TEST(Shuffle, UpDownBflyIdxWithSegments) {
  auto v = value_and_flag("shfl.sync.up.b32 %r0|%p0, %r1, 3, 0, 0xffffffff");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t < 3 ? 100 + t : 1000 + 97 + t);
  v = value_and_flag("shfl.sync.down.b32 %r0|%p0, %r1, 3, 0x1f, 0xffffffff");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t > 28 ? 100 + t : 1000 + 103 + t);
  v = value_and_flag("shfl.sync.bfly.b32 %r0|%p0, %r1, 5, 0x1f, 0xffffffff");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], 1000 + 100 + (t ^ 5));
  v = value_and_flag("shfl.sync.idx.b32 %r0|%p0, %r1, 9, 0x1f, 0xffffffff");
  EXPECT_THAT(v, Each(1109u));
  // Segments of 8 lanes: __shfl_up_sync(mask, v, 2, 8) has c = (32 - 8) << 8, down and idx c = that | 31.
  v = value_and_flag("shfl.sync.up.b32 %r0|%p0, %r1, 2, 0x1800, 0xffffffff");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t % 8 < 2 ? 100 + t : 1000 + 98 + t);
  v = value_and_flag("shfl.sync.down.b32 %r0|%p0, %r1, 2, 0x181f, 0xffffffff");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t % 8 > 5 ? 100 + t : 1000 + 102 + t);
  v = value_and_flag("shfl.sync.idx.b32 %r0|%p0, %r1, 11, 0x181f, 0xffffffff");
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], 1000 + 100 + t / 8 * 8 + 3);
}

TEST(Shuffle, IndexAndClampByLane) {
  RunPtx run(kernel(R"(
  sub.u32 %r1, 31, %t;
  shfl.sync.idx.b32 %r2, %t, %r1, 0x1f, 0xffffffff;
  st.global.u32 [%dst], %r2;
)"));
  const auto v = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], 31 - t);
}

TEST(Vote, ALaneOutsideItsMaskIsReported) {
  RunPtx run(kernel("  vote.sync.all.pred %p5, !%p0, 0xfffffff0;\n"));
  run_kernel(run, 32, 1);
  ASSERT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(run.reports[0].code, "warp-mask-without-self");
}

TEST(Vote, AllAnyUniBallot) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p0, %t, 4;
  setp.lt.u32 %p1, %t, 40;
  vote.sync.ballot.b32 %r0, %p0, 0xffffffff;
  vote.sync.all.pred %p2, %p0, 0xffffffff;
  vote.sync.any.pred %p3, %p0, 0xffffffff;
  vote.sync.uni.pred %p4, %p1, 0xffffffff;
  vote.sync.ballot.b32 %r5, !%p0, 0xffffffff;
  selp.u32 %r1, 1, 0, %p2; selp.u32 %r2, 2, 0, %p3; selp.u32 %r3, 4, 0, %p4;
  or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3;
  st.global.u32 [%dst], %r0;
  st.global.u32 [%dst+128], %r1;
  st.global.u32 [%dst+256], %r5;
)"));
  const auto v = run_kernel(run, 32, 96);
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(v[t], 0xfu);
    EXPECT_EQ(v[32 + t], 6u);
    EXPECT_EQ(v[64 + t], 0xfffffff0u);
  }
}

TEST(Match, AnyAndAll) {
  RunPtx run(kernel(R"(
  rem.u32 %r1, %t, 3;
  match.any.sync.b32 %r2, %r1, 0xffffffff;
  match.all.sync.b32 %r3|%p0, %r1, 0xffffffff;
  mov.u64 %rd1, 77;
  match.all.sync.b64 %r4|%p1, %rd1, 0xffffffff;
  selp.u32 %r5, 1, 0, %p0; selp.u32 %r6, 2, 0, %p1; or.b32 %r5, %r5, %r6;
  st.global.u32 [%dst], %r2; st.global.u32 [%dst+128], %r3; st.global.u32 [%dst+256], %r4; st.global.u32 [%dst+384], %r5;
)"));
  const auto v = run_kernel(run, 32, 128);
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t same = 0;
    for (uint32_t k = 0; k < 32; ++k) same |= uint32_t(k % 3 == t % 3) << k;
    EXPECT_EQ(v[t], same);
    EXPECT_EQ(v[32 + t], 0u);
    EXPECT_EQ(v[64 + t], 0xffffffffu);
    EXPECT_EQ(v[96 + t], 2u);
  }
}

uint32_t redux(const std::string& op, std::vector<uint32_t> in, const std::string& mask = "0xffffffff") {
  in.resize(32, in.back());
  RunPtx run(kernel("  ld.global.u32 %r1, [%src];\n  redux.sync." + op + " %r2, %r1, " + mask +
                    ";\n  st.global.u32 [%dst], %r2;\n"));
  const auto v = run_kernel(run, 32, 32, in);
  EXPECT_THAT(v, Each(v[0]));
  return v[0];
}

TEST(Redux, Integers) {
  EXPECT_EQ(redux("add.u32", iota(32)), 496u);
  EXPECT_EQ(redux("add.s32", std::vector<uint32_t>(32, uint32_t(-2))), uint32_t(-64));
  EXPECT_EQ(redux("min.s32", {5, uint32_t(-3), 9}), uint32_t(-3));
  EXPECT_EQ(redux("min.u32", {5, uint32_t(-3), 9}), 5u);
  EXPECT_EQ(redux("max.s32", {5, uint32_t(-3), 9}), 9u);
  EXPECT_EQ(redux("max.u32", {5, uint32_t(-3), 9}), uint32_t(-3));
  EXPECT_EQ(redux("and.b32", {0xff, 0x3c}), 0x3cu);
  EXPECT_EQ(redux("or.b32", {0xff, 0x300}), 0x3ffu);
  EXPECT_EQ(redux("xor.b32", {1, 2, 4, 0}), 7u);
}

TEST(Redux, Floats) {
  const uint32_t nan = 0x7fc00001, one = 0x3f800000, minus_two = 0xc0000000, zero = 0, minus_zero = 0x80000000;
  EXPECT_EQ(redux("min.f32", {one, minus_two}), minus_two);
  EXPECT_EQ(redux("max.abs.f32", {one, minus_two}), 0x40000000u);
  EXPECT_EQ(redux("min.abs.f32", {one, minus_two}), one);
  EXPECT_EQ(redux("max.f32", {nan, minus_two, one}), one);
  EXPECT_EQ(redux("max.NaN.f32", {one, nan, one}), 0x7fffffffu);
  EXPECT_EQ(redux("max.f32", {nan}), 0x7fffffffu);
  EXPECT_EQ(redux("min.f32", {zero, minus_zero, zero}), minus_zero);
  EXPECT_EQ(redux("max.f32", {minus_zero, zero, minus_zero}), zero);
}

TEST(Elect, LowestLiveLaneOfTheMask) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p1, %t, 6;
  @%p1 exit;
  elect.sync %r1|%p0, 0xffffffff;
  selp.u32 %r2, 100, 0, %p0;
  add.u32 %r3, %r1, %r2;
  st.global.u32 [%dst], %r3;
)"));
  const auto v = run_kernel(run, 32, 32);
  for (uint32_t t = 6; t < 32; ++t) EXPECT_EQ(v[t], t == 6 ? 106u : 6u);
}

TEST(Sync, MembersComeTogetherFromDifferentBranches) {
  // Odd lanes arrive at the shuffle later than even ones.
  RunPtx run(kernel(R"(
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p0, %r1, 0;
  @%p0 bra MEET;
  mov.u32 %r2, 0;
LOOP:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p1, %r2, 20;
  @%p1 bra LOOP;
MEET:
  shfl.sync.bfly.b32 %r3, %t, 1, 0x1f, 0xffffffff;
  st.global.u32 [%dst], %r3;
)"));
  const auto v = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(v[t], t ^ 1);
}

}  // namespace
}  // namespace tinygpu::test
