// Independent lane program counters: divergence, reconvergence, progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

/// Kernel: `body` leaves a value in %r3; it and the lanes that are together behind it are stored.
std::string value_and_mask(const std::string& body) {
  return kernel(body + R"(
  activemask.b32 %r4;
  add.s64 %rd3, %dst, %t64;
  st.global.v2.u32 [%rd3], {%r3, %r4};
)");
}

TEST(Groups, BothSidesOfABranchRunAndMeetAgain) {
  RunPtx run(value_and_mask("  and.b32 %r2, %t, 1; setp.eq.u32 %p1, %r2, 0;\n" +
                            branches("%p1", "add.u32 %r3, %t, 100;", "mul.lo.u32 %r3, %t, 10;")));
  const auto v = run_kernel(run, 32, 64);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(v[2 * i], i % 2 ? i * 10 : i + 100);
    EXPECT_EQ(v[2 * i + 1], 0xffffffffu) << "lanes did not reconverge";
  }
}

TEST(Groups, LoopsWithDivergentTripCountsReconvergeBehind) {
  RunPtx run(value_and_mask(R"(
  mov.u32 %r2, 0; mov.u32 %r3, 0;
LOOP:
  add.u32 %r3, %r3, %r2;
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p1, %r2, %t;
  @%p1 bra LOOP;
)"));
  const auto v = run_kernel(run, 32, 64);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(v[2 * i], i * (i + 1) / 2);
    EXPECT_EQ(v[2 * i + 1], 0xffffffffu);
  }
}

TEST(Groups, ASpinningLaneDoesNotStarveTheOthers) {
  // Lane 0 waits for a flag that lane 1 sets behind the branch.
  RunPtx run(kernel(R"(
  mov.u32 %r5, 0;
  setp.eq.u32 %p1, %t, 0;
  @!%p1 bra NEXT;
  st.volatile.shared.u32 [smem], %r5;
SPIN:
  ld.volatile.shared.u32 %r2, [smem];
  setp.ne.u32 %p2, %r2, 7;
  @%p2 bra SPIN;
NEXT:
  setp.eq.u32 %p3, %t, 1;
  mov.u32 %r3, 7;
  @%p3 st.volatile.shared.u32 [smem], %r3;
  st.global.u32 [%dst], %t;
)"));
  EXPECT_EQ(run_kernel(run, 32, 32), iota(32));
}

TEST(Groups, WarpBarrierAtDifferentInstructions) {
  RunPtx run(kernel("  setp.lt.u32 %p1, %t, 16;\n" +
                    branches("%p1", "mov.u32 %r2, 42; st.shared.u32 [smem], %r2; bar.warp.sync -1; mov.u32 %r3, 1;",
                             "bar.warp.sync -1; ld.shared.u32 %r3, [smem];") +
                    "  st.global.u32 [%dst], %r3;\n"));
  const auto v = run_kernel(run, 32, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i < 16 ? 1u : 42u);
}

/// PTX: %r3 = function(argument).
std::string call(const std::string& function, const std::string& argument) {
  return "  { .param .b32 a; .param .b32 v; st.param.b32 [a], " + argument + "; call.uni (v), " + function +
         ", (a); ld.param.b32 %r3, [v]; }\n";
}

TEST(Groups, RecursionKeepsEveryLanesFrames) {
  // fib by recursion, a different argument in every lane.
  const std::string fibonacci = R"(
.func (.param .b32 ret) fib(.param .b32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra BASE;
  sub.u32 %r2, %r1, 1;
)" + call("fib", "%r2") + R"(
  mov.u32 %r5, %r3;
  sub.u32 %r4, %r1, 2;
)" + call("fib", "%r4") + R"(
  add.u32 %r6, %r3, %r5;
  st.param.b32 [ret], %r6;
  ret;
BASE:
  st.param.b32 [ret], %r1;
  ret;
}
)";
  RunPtx run(
      kernel("  rem.u32 %r2, %t, 12;\n" + call("fib", "%r2") + "  st.global.u32 [%dst], %r3;\n", 4096, fibonacci));
  const auto v = run_kernel(run, 32, 32);
  const uint32_t fib[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], fib[i % 12]) << i;
}

// One lane spins until the others are let past it, so that they call the function without it; its collective is all
// lanes' nevertheless.
TEST(Groups, LanesThatCallApartMeetInTheFunction) {
  const std::string odd = R"(
.func (.param .b32 ret) odd(.param .b32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<4>;
  ld.param.b32 %r1, [n];
  and.b32 %r2, %r1, 1;
  setp.ne.u32 %p1, %r2, 0;
  vote.sync.ballot.b32 %r3, %p1, 0xffffffff;
  st.param.b32 [ret], %r3;
  ret;
}
)";
  RunPtx run(kernel(R"(
  setp.ne.u32 %p1, %t, 3;
  @%p1 bra MEET;
  mov.u32 %r2, 0;
SPIN:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 500;
  @%p2 bra SPIN;
MEET:
)" + call("odd", "%t") + "  st.global.u32 [%dst], %r3;\n",
                    4096, odd));
  EXPECT_THAT(run_kernel(run, 32, 32), ::testing::Each(0xaaaaaaaau));
}

}  // namespace
}  // namespace tinygpu::test
