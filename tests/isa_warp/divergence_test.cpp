// Lanes with program counters of their own: nested branches, loops, early exits, spinning lanes, barriers in branches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::Each;

TEST(Divergence, NestedBranchesReconvergeInnermostFirst) {
  RunPtx run(kernel(R"(
  mov.u32 %r9, 0;
  and.b32 %r1, %t, 1;
  and.b32 %r2, %t, 2;
  setp.ne.u32 %p0, %r1, 0;
  setp.ne.u32 %p1, %r2, 0;
  @%p0 bra ODD;
  @%p1 bra TWO;
  mov.u32 %r3, 0;
  bra INNER;
TWO:
  mov.u32 %r3, 2;
INNER:
  activemask.b32 %r4;                      // all even lanes
  bra JOIN;
ODD:
  mov.u32 %r3, 1;
  activemask.b32 %r4;
JOIN:
  activemask.b32 %r5;
  shl.b32 %r6, %t, 4;
  cvt.u64.u32 %rd1, %r6;
  add.s64 %rd2, %out, %rd1;
  st.global.v4.u32 [%rd2], {%r3, %r4, %r5, %r9};
)"));
  const auto out = run_kernel(run, 32, 128);
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(out[4 * t], t % 2 ? 1 : t & 2);
    EXPECT_EQ(out[4 * t + 1], t % 2 ? 0xaaaaaaaa : 0x55555555);
    EXPECT_EQ(out[4 * t + 2], 0xffffffffu);
  }
}

TEST(Divergence, NestedLoopsWithTripCountsByLane) {
  // Collatz steps: the inner branch and the trip count differ in every lane.
  RunPtx run(kernel(R"(
  add.u32 %r1, %t, 1;
  mov.u32 %r2, 0;
LOOP:
  setp.eq.u32 %p0, %r1, 1;
  @%p0 bra DONE;
  and.b32 %r3, %r1, 1;
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra EVEN;
  mad.lo.u32 %r1, %r1, 3, 1;
  bra STEP;
EVEN:
  shr.u32 %r1, %r1, 1;
STEP:
  add.u32 %r2, %r2, 1;
  bra LOOP;
DONE:
  activemask.b32 %r4;
  st.global.u32 [%dst], %r2;
  st.global.u32 [%dst+128], %r4;
)"));
  const auto out = run_kernel(run, 32, 64);
  for (uint32_t t = 0; t < 32; ++t) {
    uint32_t n = t + 1, steps = 0;
    for (; n != 1; ++steps) n = n % 2 ? 3 * n + 1 : n / 2;
    EXPECT_EQ(out[t], steps);
    EXPECT_EQ(out[32 + t], 0xffffffffu);
  }
}

TEST(Divergence, EarlyExitLeavesTheOthersTogether) {
  RunPtx run(kernel(R"(
  and.b32 %r1, %t, 3;
  setp.eq.u32 %p0, %r1, 2;
  @%p0 ret;
  activemask.b32 %r2;
  vote.sync.ballot.b32 %r3, 1, 0xffffffff; // exited lanes are not waited for
  add.u32 %r4, %r2, %r3;
  st.global.u32 [%dst], %r4;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 4 == 2 ? 0u : 0xbbbbbbbbu * 2);
}

TEST(Divergence, EveryLaneTakesALockInTurn) {
  // The classic: a spin lock within one warp, which needs progress of each lane by itself.
  RunPtx run(kernel(R"(
AGAIN:
  atom.global.cas.b32 %r1, [%in], 0, 1;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra AGAIN;
  ld.volatile.global.u32 %r2, [%in+4];
  add.u32 %r3, %r2, 1;
  st.volatile.global.u32 [%in+4], %r3;
  membar.gl;
  atom.global.exch.b32 %r4, [%in], 0;
  st.global.u32 [%dst], %r2;
)"));
  const uint64_t in = run.upload(std::vector<uint32_t>{0, 0}), out = run.buffer<uint32_t>(64);
  run.launch("k", {1}, {64}, in, out);
  EXPECT_EQ(run.download<uint32_t>(in, 2)[1], 64u);
  auto order = run.download<uint32_t>(out, 64);
  std::sort(order.begin(), order.end());
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(order[i], i);
}

TEST(Divergence, ASpinningLaneSeesAnotherLanesStore) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  setp.eq.u32 %p0, %t, 0;
  @%p0 st.shared.u32 [%r1], 0;
  bar.warp.sync 0xffffffff;
  setp.eq.u32 %p1, %t, 31;
  @%p1 bra SETTER;
SPIN:
  ld.volatile.shared.u32 %r2, [%r1];
  setp.eq.u32 %p2, %r2, 0;
  @%p2 bra SPIN;
  bra DONE;
SETTER:
  mov.u32 %r2, 9;
  st.volatile.shared.u32 [%r1], %r2;
DONE:
  st.global.u32 [%dst], %r2;
)"));
  EXPECT_THAT(run_kernel(run, 32, 32), Each(9u));
}

TEST(Divergence, SyncwarpInsideBranches) {
  // Halves of the warp exchange values in their own branches, each through its own mask.
  RunPtx run(kernel("  setp.lt.u32 %p0, %t, 16;\n" +
                    branches("%p0", "shfl.sync.down.b32 %r1, %t, 1, 0x1f, 0x0000ffff; bar.warp.sync 0x0000ffff;",
                             "shfl.sync.bfly.b32 %r1, %t, 15, 0x1f, 0xffff0000; bar.warp.sync 0xffff0000;") +
                    R"(
  bar.warp.sync 0xffffffff;
  activemask.b32 %r2;
  st.global.u32 [%dst], %r1;
  st.global.u32 [%dst+128], %r2;
)"));
  const auto out = run_kernel(run, 32, 64);
  for (uint32_t t = 0; t < 15; ++t) EXPECT_EQ(out[t], t + 1);
  for (uint32_t t = 16; t < 32; ++t) EXPECT_EQ(out[t], 47 - t);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[32 + t], 0xffffffffu);
}

TEST(Divergence, UnstructuredJumpsIntoALoop) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, 0;
  mov.u32 %r2, %t;
  setp.ge.u32 %p0, %t, 10;
  @%p0 bra MIDDLE;
HEAD:
  add.u32 %r1, %r1, 1;
MIDDLE:
  add.u32 %r1, %r1, 100;
  sub.u32 %r2, %r2, 1;
  setp.gt.s32 %p1, %r2, 0;
  @%p1 bra HEAD;
  st.global.u32 [%dst], %r1;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) {
    const uint32_t rounds = t == 0 ? 1 : t;
    EXPECT_EQ(out[t], 100 * rounds + (t >= 10 ? rounds - 1 : rounds)) << t;
  }
}

TEST(Divergence, ASpinOnAFlagNobodySetsIsReported) {
  RunPtx run(kernel(R"(
SPIN:
  ld.acquire.gpu.global.u32 %r1, [%in];
  setp.eq.u32 %p0, %r1, 0;
  @%p0 bra SPIN;
)"));
  const Diagnosis d = run.fault_of("k", {2}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.label, ::testing::HasSubstr("all lanes spin"));
}

TEST(Divergence, ASpinOnASharedFlagOrLockIsReportedToo) {
  RunPtx flag(kernel(R"(
  mov.u32 %r2, smem;
  st.shared.u32 [%r2], 0;
SPIN:
  ld.volatile.shared.u32 %r1, [%r2];
  setp.eq.u32 %p0, %r1, 0;
  @%p0 bra SPIN;
)"));
  EXPECT_EQ(flag.fault_of("k", {1}, {32}, flag.buffer<uint32_t>(1), flag.buffer<uint32_t>(1)).code, "deadlock");
  RunPtx lock(kernel(R"(
  mov.u32 %r2, smem;
  st.shared.u32 [%r2], 1;
SPIN:
  atom.shared.cas.b32 %r1, [%r2], 0, 1;
  setp.ne.u32 %p0, %r1, 0;
  @%p0 bra SPIN;
)"));
  EXPECT_EQ(lock.fault_of("k", {1}, {32}, lock.buffer<uint32_t>(1), lock.buffer<uint32_t>(1)).code, "deadlock");
}

}  // namespace
}  // namespace tinygpu::test
