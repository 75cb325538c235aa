// Counts and bytes at their limits and past them (as an H200 has them), and arrivals that break the order of phases.
#include "tests/mbarrier/body.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;

TEST(MbarrierLimits, InitOfZeroOrPastTheLimitIsReported) {
  for (const char* count : {"0", "1048576"}) {
    const Diagnosis d = report_of("", std::string("  mbarrier.init.shared.b64 [%bar], ") + count + ";\n");
    EXPECT_EQ(d.code, "mbarrier-count-range") << count;
    EXPECT_EQ(d.severity, Severity::error) << count;
    EXPECT_EQ(d.message, std::string("mbarrier.init with a count of ") + count +
                             ": the mbarrier then expects no "
                             "arrivals");
    EXPECT_THAT(d.help, HasSubstr("1 to 1048575"));
  }
  std::vector<Diagnosis> reports;
  output_of("1048575", "  mbarrier.arrive.shared.b64 _, [%bar], 1048575;\n", 1, &reports);
  EXPECT_TRUE(reports.empty());
}

TEST(MbarrierLimits, ArriveOfTwoToTheTwentyStops) {
  const Diagnosis d = stop_of("1", "  mbarrier.arrive.shared.b64 _, [%bar], 1048576;\n");
  EXPECT_EQ(d.code, "mbarrier-count-range");
  EXPECT_EQ(d.kind, FaultKind::launch_failure);
  EXPECT_THAT(
      d.message,
      HasSubstr("an arrive of 1048576 on the mbarrier at shared offset 0x400 of CTA rank 0: counts end at 1048575"));
}

TEST(MbarrierLimits, MoreArrivalsThanPendingStops) {
  const Diagnosis d =
      stop_of("3", "  mbarrier.arrive.shared.b64 _, [%bar], 2;\n  mbarrier.arrive.shared.b64 _, [%bar], 2;\n");
  EXPECT_EQ(d.code, "mbarrier-over-arrival");
  EXPECT_EQ(d.kind, FaultKind::launch_failure);
  EXPECT_THAT(d.message, HasSubstr("2 arrivals at once on"));
  EXPECT_THAT(d.message, HasSubstr("phase 0, 1 of 3 arrivals pending, tx-count 0"));
}

TEST(MbarrierLimits, AWarpsLanesArriveAsOne) {
  // 32 lanes on a barrier for one: what happens when thread 0's arrive lost its guard.
  const Diagnosis d = stop_of("1", "  mbarrier.arrive.shared.b64 _, [%bar];\n", 32);
  EXPECT_EQ(d.code, "mbarrier-over-arrival");
  EXPECT_THAT(d.message, HasSubstr("32 arrivals at once on"));
  EXPECT_THAT(d.help, HasSubstr("each lane of a warp counts"));
}

TEST(MbarrierLimits, ArriveWhileOnlyBytesAreMissingStops) {
  const Diagnosis d =
      stop_of("1", "  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 64;\n  mbarrier.arrive.shared.b64 _, [%bar];\n");
  EXPECT_EQ(d.code, "mbarrier-over-arrival");
  EXPECT_THAT(d.message, HasSubstr("phase 0, 0 of 1 arrivals pending, tx-count 64"));
}

TEST(MbarrierLimits, DroppingMoreThanThereAreStops) {
  const Diagnosis d = stop_of("2", "  mbarrier.arrive_drop.shared.b64 _, [%bar], 3;\n");
  EXPECT_EQ(d.code, "mbarrier-over-arrival");
  EXPECT_EQ(d.kind, FaultKind::launch_failure);
  EXPECT_THAT(d.message, HasSubstr("an arrive_drop of 3 on"));
}

TEST(MbarrierLimits, DroppingEverybodyIsNoted) {
  const Diagnosis d = report_of("2", "  mbarrier.arrive_drop.shared.b64 _, [%bar], 2;\n");
  EXPECT_EQ(d.code, "mbarrier-drop-to-zero");
  EXPECT_EQ(d.severity, Severity::note);
  const Diagnosis after =
      stop_of("2", "  mbarrier.arrive_drop.shared.b64 _, [%bar], 2;\n  mbarrier.arrive.shared.b64 _, [%bar];\n");
  EXPECT_EQ(after.code, "mbarrier-over-arrival");
  EXPECT_THAT(after.message, HasSubstr("phase 1, 0 of 0 arrivals pending"));
}

TEST(MbarrierLimits, BytesOnePastTheFieldStop) {
  // The field holds one more than the manual's 2^20 - 1 on the expecting side (H200), nothing more on the other.
  const std::string expect = "  mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], ";
  const std::string complete = "  mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], ";
  std::vector<Diagnosis> reports;
  output_of("1", expect + "1048575;\n" + expect + "1;\n" + complete + "1048575;\n" + complete + "1;\n", 1, &reports);
  output_of("1", complete + "1048575;\n" + expect + "1048575;\n", 1, &reports);
  EXPECT_TRUE(reports.empty());
  const Diagnosis over = stop_of("1", expect + "1048575;\n" + expect + "2;\n");
  EXPECT_EQ(over.code, "mbarrier-tx-mismatch");
  EXPECT_EQ(over.kind, FaultKind::launch_failure);
  EXPECT_THAT(
      over.message,
      HasSubstr("expect_tx of 2 bytes takes the mbarrier at shared offset 0x400 of CTA rank 0 past 1048575 bytes"));
  EXPECT_THAT(over.message, HasSubstr("tx-count 1048575"));
  const Diagnosis once = stop_of("1", expect + "1048576;\n");
  EXPECT_EQ(once.code, "mbarrier-tx-mismatch");
  const Diagnosis under = stop_of("1", complete + "1048575;\n" + complete + "1;\n");
  EXPECT_EQ(under.code, "mbarrier-tx-mismatch");
  EXPECT_EQ(under.kind, FaultKind::launch_failure);
  EXPECT_THAT(
      under.message,
      HasSubstr("complete_tx of 1 bytes takes the mbarrier at shared offset 0x400 of CTA rank 0 below -1048575 bytes"));
  EXPECT_THAT(under.help, HasSubstr("expect_tx"));
}

TEST(MbarrierLimits, AWarpsBytesAddUp) {
  const Diagnosis d = stop_of("32", "  mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 32768;\n", 32);
  EXPECT_EQ(d.code, "mbarrier-tx-mismatch");
  EXPECT_THAT(d.message, HasSubstr("expect_tx of 1048576 bytes"));
}

TEST(MbarrierLimits, TheLastArrivalBeforeItsBytesAreExpectedIsReported) {
  const Diagnosis d = report_of("1", R"(
  mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], 32;
  mbarrier.arrive.shared.b64 _, [%bar];
  mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 32;
)");
  EXPECT_EQ(d.code, "mbarrier-tx-mismatch");
  EXPECT_EQ(d.severity, Severity::warning);
  EXPECT_THAT(d.message, HasSubstr("32 bytes have landed and 0 were expected"));
}

TEST(MbarrierOrder, NoCompleteThatCompletesIsReportedAndCompletes) {
  std::vector<Diagnosis> reports;
  const auto out = output_of("2", R"(
  mbarrier.arrive.noComplete.shared.b64 %rd1, [%bar], 1;
  mbarrier.arrive.noComplete.shared.b64 %rd1, [%bar], 1;
  mbarrier.test_wait.parity.shared.b64 %p0, [%bar], 0;
  selp.u32 %r1, 1, 0, %p0;
  st.global.u32 [%dst], %r1;
)",
                             1, &reports);
  EXPECT_EQ(out[0], 1u) << "an H200 completes the phase";
  ASSERT_EQ(reports.size(), 1u);
  EXPECT_EQ(reports[0].code, "mbarrier-no-complete");
  EXPECT_EQ(reports[0].severity, Severity::error);
  EXPECT_EQ(reports[0].message,
            "an arrive.noComplete of all 1 arrivals that the mbarrier at shared offset 0x400 waits for: it completes "
            "phase 0");
}

TEST(MbarrierOrder, NoCompleteWhileBytesAreMissingIsClean) {
  std::vector<Diagnosis> reports;
  output_of("1", R"(
  mbarrier.expect_tx.relaxed.cta.shared.b64 [%bar], 32;
  mbarrier.arrive.noComplete.shared.b64 %rd1, [%bar], 1;
  mbarrier.complete_tx.relaxed.cta.shared.b64 [%bar], 32;
)",
            1, &reports);
  EXPECT_TRUE(reports.empty());
}

TEST(MbarrierOrder, AnArrivalBeforeAnybodySawThePhaseEndIsReported) {
  const Diagnosis d =
      report_of("1", "  mbarrier.arrive.shared.b64 _, [%bar];\n  mbarrier.arrive.shared.b64 _, [%bar];\n");
  EXPECT_EQ(d.code, "mbarrier-phase-unobserved");
  EXPECT_EQ(d.severity, Severity::warning);
  EXPECT_THAT(d.message, HasSubstr("an arrive in phase 1 of"));
  EXPECT_THAT(d.message, HasSubstr("before any thread has seen phase 0 end"));
}

}  // namespace
}  // namespace tinygpu::test
