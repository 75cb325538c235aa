// The life of an mbarrier, and what its wrong use is told: text and kind.
#include "tests/mbarrier/body.h"

namespace tinygpu::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(MbarrierLife, ArriveBeforeInitStops) {
  const Diagnosis d = stop_of("", "  mbarrier.arrive.shared.b64 _, [%bar];\n");
  EXPECT_EQ(d.code, "mbarrier-not-initialised");
  EXPECT_EQ(d.kind, FaultKind::launch_failure);  // what an H200 reports
  EXPECT_EQ(d.message, "an arrive on the mbarrier at shared offset 0x400 of CTA rank 0, which is not initialised");
  EXPECT_THAT(d.help, HasSubstr("mbarrier.init"));
  EXPECT_EQ(d.where.ptx_text, "mbarrier.arrive.shared.b64 _, [%bar]");
}

TEST(MbarrierLife, EveryOtherUseBeforeInitIsReportedAndGoesOn) {
  for (const char* use : {"mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 0",
                          "mbarrier.test_wait.parity.shared.b64 %p0, [%bar], 0", "mbarrier.inval.shared.b64 [%bar]"}) {
    const Diagnosis d = report_of("", std::string("  st.shared.u64 [%bar], 0;\n  ") + use + ";\n");
    EXPECT_EQ(d.code, "mbarrier-not-initialised") << use;
    EXPECT_EQ(d.severity, Severity::error) << use;
    EXPECT_THAT(d.message, HasSubstr("which is not initialised")) << use;
  }
}

/// On a barrier for 3: one arrival, `step`, and then how many arrivals are pending.
uint32_t pending_behind(const std::string& step, std::vector<Diagnosis>& reports) {
  return output_of("3", "  mbarrier.arrive.shared.b64 _, [%bar];\n  " + step + R"(;
  mbarrier.arrive.noComplete.shared.b64 %rd1, [%bar], 1;
  mbarrier.pending_count.b64 %r1, %rd1;
  st.global.u32 [%dst], %r1;
)",
                   1, &reports)[0];
}

TEST(MbarrierLife, UseAfterInvalIsReportedAndWorksOnTheBytes) {
  // As on an H200: the arrive counts on the word that inval left behind.
  std::vector<Diagnosis> reports;
  EXPECT_EQ(pending_behind("mbarrier.inval.shared.b64 [%bar]", reports), 2u);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].code, "mbarrier-not-initialised");
  EXPECT_EQ(reports[0].severity, Severity::warning);
  EXPECT_THAT(reports[0].message,
              HasSubstr("an arrive on the mbarrier at shared offset 0x400 of CTA rank 0, after its mbarrier.inval"));
}

TEST(MbarrierLife, InitOverALiveObjectIsReportedAndReplacesIt) {
  std::vector<Diagnosis> reports;
  EXPECT_EQ(pending_behind("mbarrier.init.shared.b64 [%bar], 7", reports), 7u);
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].code, "mbarrier-reinit");
  EXPECT_EQ(reports[0].message, "mbarrier.init of the mbarrier at shared offset 0x400, which is live already");
}

TEST(MbarrierLife, InvalAndInitAgainIsClean) {
  std::vector<Diagnosis> reports;
  output_of("1",
            "  mbarrier.inval.shared.b64 [%bar];\n  st.shared.u64 [%bar], 0;\n  mbarrier.init.shared.b64 [%bar], 1;\n"
            "  mbarrier.arrive.shared.b64 _, [%bar];\n",
            1, &reports);
  EXPECT_TRUE(reports.empty());
}

TEST(MbarrierLife, OrdinaryAccessToALiveObjectIsReported) {
  for (const char* access :
       {"st.shared.u32 [%bar+4], 0", "ld.shared.u32 %r1, [%bar]", "ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [%bar]",
        "st.shared.u8 [%bar+7], 0", "atom.shared.add.u32 %r1, [%bar], 1"}) {
    const Diagnosis d = report_of("1", std::string("  ") + access + ";\n");
    EXPECT_EQ(d.code, "mbarrier-memory-reused") << access;
    EXPECT_EQ(d.severity, Severity::warning) << access;
    EXPECT_THAT(d.message, HasSubstr("of shared memory that holds a live mbarrier")) << access;
    EXPECT_THAT(d.help, HasSubstr("mbarrier.inval")) << access;
  }
  std::vector<Diagnosis> reports;
  output_of("1", "  st.shared.u64 [%bar+8], 0;\n", 1, &reports);
  EXPECT_TRUE(reports.empty()) << "the eight bytes behind the object belong to none";
}

TEST(MbarrierLife, MisalignedObjectsStop) {
  for (const char* use : {"mbarrier.init.shared.b64 [%bar+4], 1", "mbarrier.arrive.shared.b64 _, [%bar+4]",
                          "mbarrier.try_wait.parity.shared.b64 %p0, [%bar+4], 0"}) {
    const Diagnosis d = stop_of("1", std::string("  ") + use + ";\n");
    EXPECT_EQ(d.code, "mbarrier-misaligned") << use;
    EXPECT_EQ(d.kind, FaultKind::misaligned_address) << use;
    EXPECT_THAT(d.message, HasSubstr("shared offset 0x404, which is not a multiple of 8")) << use;
  }
}

TEST(MbarrierLife, ObjectsOutsideSharedMemoryStop) {
  for (const char* use : {"mbarrier.init.shared.b64 [%bar+4096], 1", "mbarrier.arrive.shared.b64 _, [%bar+4096]"}) {
    const Diagnosis d = stop_of("1", std::string("  ") + use + ";\n");
    EXPECT_EQ(d.code, "shared-out-of-bounds") << use;
    EXPECT_EQ(d.kind, FaultKind::illegal_address) << use;
    EXPECT_THAT(d.message, HasSubstr("0x1400")) << use;
  }
  const Diagnosis d = stop_of("", "  mbarrier.init.b64 [%in], 1;\n");
  EXPECT_EQ(d.code, "not-shared");
  EXPECT_EQ(d.kind, FaultKind::illegal_instruction);
  EXPECT_THAT(d.message, AllOf(HasSubstr("mbarrier.init: generic address"), HasSubstr("is not in shared memory")));
}

// ---- Other CTAs

TEST(MbarrierRemote, ARankThatTheClusterLacksStops) {
  const Diagnosis d = stop_of("1", R"(
  mapa.shared::cluster.u32 %r1, %bar, 2;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
)",
                              1, 2);
  EXPECT_EQ(d.code, "cluster-rank");
  EXPECT_EQ(d.kind, FaultKind::launch_failure);
  EXPECT_THAT(d.message, HasSubstr("names CTA rank 2, but the cluster has 2 CTAs"));
}

/// CTA 1 leaves at once; CTA 0 waits `delay` nanoseconds and runs `use` on the barrier of CTA 1.
Diagnosis after_exit(Diagnosis (*told)(const std::string&, const std::string&, uint32_t, uint32_t),
                     const std::string& delay, const std::string& use) {
  return told("1",
              R"(
  mov.u32 %r9, %cluster_ctarank;
  setp.eq.u32 %p1, %r9, 1;
  @%p1 exit;
  nanosleep.u32 )" +
                  delay +
                  R"(;
  mapa.shared::cluster.u32 %r1, %bar, 1;
)" + use + "  nanosleep.u32 5000;\n",
              1, 2);
}

// An H200 always faults on a load there, and now and then on accesses whose result is not needed.
TEST(MbarrierRemote, ACtaThatHasExitedStopsALoad) {
  const Diagnosis d = after_exit(stop_of, "20000", "  ld.shared::cluster.u32 %r2, [%r1];\n");
  EXPECT_EQ(d.code, "exit-with-remote-access");
  EXPECT_EQ(d.kind, FaultKind::launch_failure);
  EXPECT_THAT(d.message, HasSubstr("in the shared memory of CTA rank 1, which has exited"));
}

TEST(MbarrierRemote, WhatNobodyWaitsForAtACtaThatHasExitedIsAWarning) {
  for (const char* use : {"  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];\n",
                          "  mbarrier.expect_tx.relaxed.cluster.shared::cluster.b64 [%r1], 16;\n",
                          "  st.shared::cluster.u32 [%r1+16], 16;\n"}) {
    const Diagnosis d = after_exit(report_of, "20000", use);
    EXPECT_EQ(d.code, "exit-with-remote-access") << use;
    EXPECT_EQ(d.severity, Severity::warning) << use;
    EXPECT_THAT(d.help, HasSubstr("barrier.cluster")) << use;
  }
}

TEST(MbarrierRemote, ACtaThatExitsWhileAnArriveIsUnderWay) {
  // CTA 1 tells CTA 0 that it is about to go, and goes: the arrive finds it there when it is issued, but not when it
  // lands.
  const Diagnosis d = report_of("1", R"(
  mov.u32 %r9, %cluster_ctarank;
  setp.eq.u32 %p1, %r9, 1;
  mapa.shared::cluster.u32 %r1, %bar, 1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  @!%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
  @%p1 exit;
  nanosleep.u32 5000;
)",
                                1, 2);
  EXPECT_EQ(d.code, "exit-with-remote-access");
  EXPECT_EQ(d.message, "an operation on an mbarrier of CTA rank 1 arrives after that CTA has exited");
}

TEST(MbarrierRemote, OnlyArrivalsAndBytesReachOtherCtas) {
  const std::string map = "  mapa.u64 %rd1, %rd0, 1;\n";
  for (const char* use : {"mbarrier.try_wait.parity.b64 %p0, [%rd1], 0", "mbarrier.test_wait.parity.b64 %p0, [%rd1], 0",
                          "mbarrier.init.b64 [%rd1], 1", "mbarrier.inval.b64 [%rd1]"}) {
    const Diagnosis d = stop_of("1",
                                "  mov.u64 %rd2, smem;\n  cvta.shared.u64 %rd0, %rd2;\n" + map +
                                    "  mov.u32 %r9, %cluster_ctarank;\n  setp.eq.u32 %p1, %r9, 0;\n  @%p1 " + use +
                                    ";\n  barrier.cluster.arrive;\n  barrier.cluster.wait;\n",
                                1, 2);
    EXPECT_EQ(d.code, "mbarrier-not-local") << use;
    EXPECT_EQ(d.kind, FaultKind::illegal_instruction) << use;
    EXPECT_THAT(d.message, HasSubstr("on an mbarrier of CTA rank 1, from CTA rank 0")) << use;
  }
}

TEST(MbarrierParity, OfANumberTheLowestBitCountsAndItIsWarnedOf) {
  for (const char* wait : {"try_wait", "test_wait"}) {
    std::vector<Diagnosis> reports;
    const auto out =
        output_of("1",
                  "  mov.u32 %r1, 2;\n  mov.u32 %r2, 3;\n  mbarrier.arrive.shared.b64 _, [%bar];\n  mbarrier." +
                      std::string(wait) + ".parity.shared.b64 %p0, [%bar], %r1;\n  mbarrier." + wait +
                      ".parity.shared.b64 %p1, [%bar], %r2;\n"
                      "  selp.u32 %r3, 1, 0, %p0;\n  selp.u32 %r4, 1, 0, %p1;\n"
                      "  st.global.u32 [%dst], %r3;\n  st.global.u32 [%dst+4], %r4;\n",
                  2, &reports);
    EXPECT_EQ(out, (std::vector<uint32_t>{1, 0})) << wait;
    ASSERT_EQ(reports.size(), 2u) << wait;
    for (const Diagnosis& d : reports) {
      EXPECT_EQ(d.code, "mbarrier-parity-range");
      EXPECT_EQ(d.severity, Severity::warning);
    }
    EXPECT_EQ(reports[0].message, "a wait for parity 2");
  }
}

/// Warp 1 waits for `parity`; warp 0 expects bytes, before or behind it, and delivers them.
std::vector<Diagnosis> first_wait(const char* parity, const char* waits_for, const char* expects_for,
                                  const char* waiter = "32") {
  std::vector<Diagnosis> reports;
  output_of("1",
            std::string("  setp.eq.u32 %p1, %t, ") + waiter + ";\n  @!%p1 bra OTHER;\n  nanosleep.u32 " + waits_for +
                ";\nWAIT:\n  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], " + parity +
                ";\n  @!%p0 bra WAIT;\nOTHER:\n  @!%p15 bra OUT;\n  nanosleep.u32 " + expects_for +
                ";\n  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16;\n"
                "  mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], 16;\nOUT:\n",
            1, &reports, 64);
  return reports;
}

TEST(MbarrierFirstWait, ThatPassesAheadOfTheBytesIsWarnedOf) {
  const auto reports = first_wait("1", "0", "3000");
  ASSERT_EQ(reports.size(), 1u);
  const Diagnosis& d = reports[0];
  EXPECT_EQ(d.code, "mbarrier-wait-passes-initially");
  EXPECT_EQ(d.severity, Severity::warning);
  EXPECT_EQ(d.where.ptx_text, "mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 1");
  EXPECT_EQ(d.where.warp, 1);
  ASSERT_EQ(d.others.size(), 1u);
  EXPECT_EQ(d.others[0].where.ptx_text, "mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16");
  EXPECT_EQ(d.others[0].where.thread, 0);
}

TEST(MbarrierFirstWait, ForTheFirstPhaseIsClean) { EXPECT_TRUE(first_wait("0", "0", "3000").empty()); }

// It waits for its own copy of the round before, of which there is none.
TEST(MbarrierFirstWait, OfWhoFillsTheBufferItselfIsClean) { EXPECT_TRUE(first_wait("1", "0", "100", "0").empty()); }

}  // namespace
}  // namespace tinygpu::test
