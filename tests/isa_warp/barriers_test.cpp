// bar, barrier, bar.warp.sync and barrier.cluster: rounds, reductions, and what wrong use is told.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

TEST(Barriers, SyncPublishesWhatEveryWarpWrote) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 2;
  add.u32 %r3, %r1, %r2;
  st.shared.u32 [%r3], %t;
  bar.sync 0;
  xor.b32 %r4, %r2, 508;
  add.u32 %r5, %r1, %r4;
  ld.shared.u32 %r6, [%r5];
  st.global.u32 [%dst], %r6;
)"));
  const auto out = run_kernel(run, 128, 128);
  for (uint32_t t = 0; t < 128; ++t) EXPECT_EQ(out[t], 127 - t);
}

TEST(Barriers, ALastPartialWarpCountsAsOne) {
  RunPtx run(kernel("  bar.sync 0;\n  bar.sync 1, 64;\n  st.global.u32 [%dst], 1;\n"));
  EXPECT_THAT(run_kernel(run, 40, 40), Each(1u));
}

TEST(Barriers, ProducersArriveAndConsumersSync) {
  // Warp 0 fills, arrives and goes on; warps 1 and 2 wait for it, three times.
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  mov.u32 %r9, 0;
  mov.u32 %r10, 0;
  shr.u32 %r2, %t, 5;
  setp.eq.u32 %p0, %r2, 0;
LOOP:
  @%p0 bra PRODUCER;
  bar.sync 3, 96;
  ld.shared.u32 %r3, [%r1];
  add.u32 %r10, %r10, %r3;
  bar.arrive 4, 96;
  bra NEXT;
PRODUCER:
  add.u32 %r4, %r9, 10;
  st.shared.u32 [%r1], %r4;
  bar.arrive 3, 96;
  bar.sync 4, 96;
NEXT:
  add.u32 %r9, %r9, 1;
  setp.lt.u32 %p1, %r9, 3;
  @%p1 bra LOOP;
  st.global.u32 [%dst], %r10;
)"));
  const auto out = run_kernel(run, 96, 96);
  for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(out[t], t < 32 ? 0u : 33u);
}

TEST(Barriers, ReductionsOverAllThreads) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p0, %t, 37;
  bar.red.popc.u32 %r0, 1, %p0;
  bar.red.and.pred %p1, 2, 64, %p0;
  bar.red.or.pred %p2, 2, 64, !%p0;
  barrier.red.aligned.and.pred %p3, 5, 1;
  selp.u32 %r1, 100, 0, %p1;
  selp.u32 %r2, 1000, 0, %p2;
  selp.u32 %r3, 10000, 0, %p3;
  add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2; add.u32 %r0, %r0, %r3;
  st.global.u32 [%dst], %r0;
)"));
  EXPECT_THAT(run_kernel(run, 64, 64), Each(37u + 1000u + 10000u));
}

TEST(Barriers, ExitedThreadsAreNotWaitedFor) {
  RunPtx run(kernel(R"(
  setp.ge.u32 %p0, %t, 40;
  @%p0 exit;
  bar.sync 0;
  st.global.u32 [%dst], 1;
)"));
  const auto out = run_kernel(run, 96, 96);
  for (uint32_t t = 0; t < 96; ++t) EXPECT_EQ(out[t], t < 40 ? 1u : 0u);
}

TEST(Barriers, NonAlignedBarrierTakesLanesFromDifferentPlaces) {
  RunPtx run(kernel("  and.b32 %r1, %t, 1;\n  setp.eq.u32 %p0, %r1, 0;\n" +
                    branches("%p0", "barrier.sync 1;", "barrier.sync 1;") + "  st.global.u32 [%dst], 1;\n"));
  EXPECT_THAT(run_kernel(run, 64, 64), Each(1u));
}

TEST(Barriers, AlignedBarriersInBothBranchesPassAndAreToldSo) {
  RunPtx run(kernel("  setp.lt.u32 %p0, %t, 7;\n" + branches("%p0", "bar.sync 0;", "bar.sync 0;") +
                    "  st.global.u32 [%dst], 1;\n"));
  EXPECT_THAT(run_kernel(run, 64, 64)[0], 1u);  // as on an H200
  ASSERT_FALSE(run.reports.empty());
  EXPECT_EQ(run.reports[0].code, "barrier-divergent");
  EXPECT_EQ(run.reports[0].severity, Severity::error);
  EXPECT_EQ(run.reports[0].where.ptx_text, "bar.sync 0");
}

TEST(Barriers, CountsMustAgree) {
  RunPtx run(kernel(R"(
  shr.u32 %r1, %t, 5;
  add.u32 %r1, %r1, 2;
  shl.b32 %r1, %r1, 5;
  bar.sync 1, %r1;
)"));
  const Diagnosis d = run.fault_of("k", {1}, {64}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(64));
  EXPECT_EQ(d.code, "barrier-count-mismatch");
  EXPECT_EQ(d.kind, FaultKind::illegal_instruction) << "as an H200 answers: error 715, no hang";
  RunPtx odd(kernel("  mov.u32 %r1, 33;\n  bar.sync 1, %r1;\n"));
  EXPECT_EQ(odd.fault_of("k", {1}, {64}, odd.buffer<uint32_t>(1), odd.buffer<uint32_t>(64)).code,
            "barrier-count-mismatch");
}

TEST(Barriers, ReductionAndSyncDoNotMix) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p0, %t, 32;
  @%p0 bra LOW;
  bar.sync 1, 64;
  ret;
LOW:
  bar.red.popc.u32 %r0, 1, 64, %p0;
)"));
  EXPECT_EQ(run.fault_of("k", {1}, {64}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(64)).code, "barrier-red-mixed");
}

TEST(Barriers, AMissingWarpIsReportedWithCounts) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p0, %t, 32;
  @%p0 bra WAIT;
  bar.sync 2, 64;
WAIT:
  bar.sync 1, 96;
)"));
  const Diagnosis d = run.fault_of("k", {1}, {64}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(64));
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(diagnosis::render(d), HasSubstr("barrier 1: 32 of 96 threads"));
  EXPECT_THAT(diagnosis::render(d), HasSubstr("barrier 2: 32 of 64 threads"));
}

TEST(WarpBarrier, MeetsAcrossProgramPoints) {
  RunPtx run(kernel("  mov.u32 %r1, smem;\n  setp.lt.u32 %p0, %t, 16;\n" +
                    branches("%p0", "st.shared.u32 [%r1], 42; bar.warp.sync 0xffffffff; mov.u32 %r2, 1;",
                             "ld.shared.u32 %r5, [%r1]; bar.warp.sync 0xffffffff; ld.shared.u32 %r2, [%r1];") +
                    "  st.global.u32 [%dst], %r2;\n"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 16 ? 1u : 42u);
}

TEST(WarpBarrier, EachMaskIsItsOwn) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p0, %t, 16;
  selp.b32 %r1, 0xffff, 0xffff0000, %p0;
  bar.warp.sync %r1;
  and.b32 %r2, %t, 1;
  setp.eq.u32 %p1, %r2, 0;
)" + branches("%p1", "bar.warp.sync %r1;", "bar.warp.sync %r1;") +
                    "  st.global.u32 [%dst], 1;\n"));
  EXPECT_THAT(run_kernel(run, 32, 32), Each(1u));
}

TEST(WarpBarrier, ALaneOutsideItsMaskIsReported) {
  RunPtx run(kernel("  bar.warp.sync 0xfffffffe;\n"));
  run_kernel(run, 32, 1);
  ASSERT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(run.reports[0].code, "warp-mask-without-self");
  EXPECT_EQ(run.reports[0].where.thread, 0);
}

TEST(ClusterBarrier, SplitsArriveAndWait) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  mov.u32 %r2, %cluster_ctarank;
  add.u32 %r3, %r2, 50;
  st.shared.u32 [%r1], %r3;
  barrier.cluster.arrive.release;
  add.u32 %r4, %r2, 1;
  and.b32 %r4, %r4, 3;
  barrier.cluster.wait.acquire;
  and.b32 %r5, %r1, 0xffffff;
  shl.b32 %r6, %r4, 24;
  or.b32 %r7, %r5, %r6;
  ld.shared::cluster.u32 %r8, [%r7];
  barrier.cluster.arrive.relaxed;
  barrier.cluster.wait;
  mul.wide.u32 %rd1, %r2, 4;
  add.s64 %rd2, %out, %rd1;
  st.global.u32 [%rd2], %r8;
)"));
  run.cluster = {4};
  const uint64_t out = run.buffer<uint32_t>(4);
  run.launch("k", {4}, {64}, run.buffer<uint32_t>(1), out);
  EXPECT_THAT(run.download<uint32_t>(out, 4), ::testing::ElementsAre(51, 52, 53, 50));
}

TEST(ClusterBarrier, ExitedThreadsDoNotCount) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, %cluster_ctarank;
  setp.eq.u32 %p0, %r1, 1;
  @%p0 exit;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  st.global.u32 [%dst], 1;
)"));
  run.cluster = {2};
  const uint64_t out = run.buffer<uint32_t>(32);
  run.launch("k", {2}, {32}, run.buffer<uint32_t>(1), out);
  EXPECT_THAT(run.download<uint32_t>(out, 32), Each(1u));
}

TEST(ClusterBarrier, DoubleArriveAndWaitWithoutArrive) {
  // An H200 lets both pass; what they mean is undefined.
  RunPtx twice(kernel("  barrier.cluster.arrive;\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\n"));
  twice.cluster = {2};
  twice.launch("k", {2}, {32}, twice.buffer<uint32_t>(1), twice.buffer<uint32_t>(1));
  ASSERT_EQ(twice.reports.size(), 1u);
  EXPECT_EQ(twice.reports[0].code, "cluster-double-arrive");
  RunPtx never(kernel("  barrier.cluster.wait;\n"));
  never.cluster = {2};
  never.launch("k", {2}, {32}, never.buffer<uint32_t>(1), never.buffer<uint32_t>(1));
  ASSERT_EQ(never.reports.size(), 1u);
  EXPECT_EQ(never.reports[0].code, "cluster-wait-without-arrive");
}

}  // namespace
}  // namespace tinygpu::test
