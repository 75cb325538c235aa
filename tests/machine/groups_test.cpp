// Independent lane program counters: divergence, reconvergence, progress.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

TEST(Groups, BothSidesOfABranchRunAndMeetAgain) {
  RunPtx run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  and.b32 %r2, %r1, 1;
  setp.eq.u32 %p1, %r2, 0;
  @%p1 bra EVEN;
  mul.lo.u32 %r3, %r1, 10;
  bra JOIN;
EVEN:
  add.u32 %r3, %r1, 100;
JOIN:
  activemask.b32 %r4;
  mul.wide.u32 %rd2, %r1, 8;
  add.s64 %rd3, %rd1, %rd2;
  st.global.v2.u32 [%rd3], {%r3, %r4};
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(64);
  run.launch("k", {1}, {32}, out);
  const auto v = run.download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(v[2 * i], i % 2 ? i * 10 : i + 100);
    EXPECT_EQ(v[2 * i + 1], 0xffffffffu) << "lanes did not reconverge";
  }
}

TEST(Groups, LoopsWithDivergentTripCountsReconvergeBehind) {
  RunPtx run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r2, 0; mov.u32 %r3, 0;
LOOP:
  add.u32 %r3, %r3, %r2;
  add.u32 %r2, %r2, 1;
  setp.le.u32 %p1, %r2, %r1;
  @%p1 bra LOOP;
  activemask.b32 %r4;
  mul.wide.u32 %rd2, %r1, 8;
  add.s64 %rd3, %rd1, %rd2;
  st.global.v2.u32 [%rd3], {%r3, %r4};
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(64);
  run.launch("k", {1}, {32}, out);
  const auto v = run.download<uint32_t>(out, 64);
  for (uint32_t i = 0; i < 32; ++i) {
    EXPECT_EQ(v[2 * i], i * (i + 1) / 2);
    EXPECT_EQ(v[2 * i + 1], 0xffffffffu);
  }
}

TEST(Groups, ASpinningLaneDoesNotStarveTheOthers) {
  // Lane 0 waits for a flag that lane 1 sets behind the branch.
  RunPtx run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 4 .b32 flag;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  mov.u32 %r5, 0;
  setp.eq.u32 %p1, %r1, 0;
  @!%p1 bra NEXT;
  st.volatile.shared.u32 [flag], %r5;
SPIN:
  ld.volatile.shared.u32 %r2, [flag];
  setp.ne.u32 %p2, %r2, 7;
  @%p2 bra SPIN;
NEXT:
  setp.eq.u32 %p3, %r1, 1;
  mov.u32 %r3, 7;
  @%p3 st.volatile.shared.u32 [flag], %r3;
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r1;
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(32);
  run.launch("k", {1}, {32}, out);
  const auto v = run.download<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i);
}

TEST(Groups, WarpBarrierAtDifferentInstructions) {
  RunPtx run(R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 4 .b32 word;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.lt.u32 %p1, %r1, 16;
  @%p1 bra LOW;
  bar.warp.sync -1;
  ld.shared.u32 %r3, [word];
  bra JOIN;
LOW:
  mov.u32 %r2, 42;
  st.shared.u32 [word], %r2;
  bar.warp.sync -1;
  mov.u32 %r3, 1;
JOIN:
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(32);
  run.launch("k", {1}, {32}, out);
  const auto v = run.download<uint32_t>(out, 32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], i < 16 ? 1u : 42u);
}

TEST(Groups, RecursionKeepsEveryLanesFrames) {
  // fib by recursion, a different argument in every lane.
  RunPtx run(R"(
.func (.param .b32 ret) fib(.param .b32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<8>;
  ld.param.u32 %r1, [n];
  setp.lt.u32 %p1, %r1, 2;
  @%p1 bra BASE;
  sub.u32 %r2, %r1, 1;
  { .param .b32 a; .param .b32 v; st.param.b32 [a], %r2; call.uni (v), fib, (a); ld.param.b32 %r3, [v]; }
  sub.u32 %r4, %r1, 2;
  { .param .b32 a; .param .b32 v; st.param.b32 [a], %r4; call.uni (v), fib, (a); ld.param.b32 %r5, [v]; }
  add.u32 %r6, %r3, %r5;
  st.param.b32 [ret], %r6;
  ret;
BASE:
  st.param.b32 [ret], %r1;
  ret;
}
.visible .entry k(.param .u64 out)
{
  .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  rem.u32 %r2, %r1, 12;
  { .param .b32 a; .param .b32 v; st.param.b32 [a], %r2; call.uni (v), fib, (a); ld.param.b32 %r3, [v]; }
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(32);
  run.launch("k", {1}, {32}, out);
  const auto v = run.download<uint32_t>(out, 32);
  const uint32_t fib[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(v[i], fib[i % 12]) << i;
}

// One lane spins until the others are let past it, so that they call the function without it; its collective is all
// lanes' nevertheless.
TEST(Groups, LanesThatCallApartMeetInTheFunction) {
  RunPtx run(R"(
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
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<4>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %tid.x;
  setp.ne.u32 %p1, %r1, 3;
  @%p1 bra MEET;
  mov.u32 %r2, 0;
SPIN:
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p2, %r2, 500;
  @%p2 bra SPIN;
MEET:
  { .param .b32 a; .param .b32 v; st.param.b32 [a], %r1; call.uni (v), odd, (a); ld.param.b32 %r3, [v]; }
  mul.wide.u32 %rd2, %r1, 4;
  add.s64 %rd3, %rd1, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(32);
  run.launch("k", {1}, {32}, out);
  EXPECT_THAT(run.download<uint32_t>(out, 32), ::testing::Each(0xaaaaaaaau));
}

}  // namespace
}  // namespace tinygpu::test
