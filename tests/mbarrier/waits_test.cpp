// Waits: tokens and parities that name another phase than the waiter thinks, time limits, and what a hang is told.
#include "tests/mbarrier/body.h"

namespace tinygpu::test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// Two arrivals of phase n, seen complete.
std::string phase(const std::string& parity) {
  return "  mbarrier.arrive.shared.b64 %rd9, [%bar];\n  mbarrier.test_wait.parity.shared.b64 %p9, [%bar], " + parity +
         ";\n";
}

// A spin that never blocks would hold a late effect back for ever: it lands all the same.
TEST(MbarrierSpins, EndInEveryOrder) {
  const std::string load =
      "  .reg .b32 %box;\n  add.u32 %box, %bar, 128;\n"
      "  mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%bar], 64;\n"
      "  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%box], [%in], 64, [%bar];\n";
  const std::string read = "  ld.shared.u32 %r1, [%box+4];\n  st.global.u32 [%out], %r1;\n";
  const std::pair<const char*, const char*> spins[] = {
      {"test_wait",
       "  mbarrier.arrive.shared.b64 %rd9, [%bar];\n"
       "$L: mbarrier.test_wait.parity.shared.b64 %p1, [%bar], 0;\n  @!%p1 bra $L;\n"},
      {"an arrive of nothing, whose token counts the bytes",
       "  mov.u32 %r3, 0;\n$L: mbarrier.arrive.shared.b64 %rd9, [%bar], %r3;\n  mov.b64 {%r4, %r5}, %rd9;\n"
       "  and.b32 %r5, %r5, 0x3ff;\n  setp.ne.u32 %p1, %r5, 0;\n  @%p1 bra $L;\n"
       "  mbarrier.arrive.shared.b64 %rd9, [%bar];\n  mbarrier.test_wait.parity.shared.b64 %p1, [%bar], 0;\n"},
  };
  for (const auto& [name, spin] : spins)
    for (const CompletionOrder& order : kOrders) {
      SCOPED_TRACE(std::string(name) + ", order " + std::to_string(int(order.mode)));
      EXPECT_EQ(output_of("1", load + spin + read, 1, nullptr, 1, 1, order)[0], 1u);
    }
}

// PTX ISA 9.3, 9.7.14.16.19: of .layout::v0 both phases end together, and what is reported is zero.
TEST(MbarrierPhaseTypes, BothEndTogetherAndReportNothing) {
  for (const std::string wait : {"test_wait", "try_wait"}) {
    std::vector<Diagnosis> reports;
    const auto out = output_of("", R"(
  .reg .b8 %b<2>;
  mbarrier.init.layout::v0.shared::cta.b64 [%bar], 1;
  mbarrier.check_layout.layout::v0.shared::cta.b64 %p0, [%bar];
  mbarrier.check_layout.layout::v1.shared::cta.b64 %p1, [%bar];
  mbarrier.arrive.shared.b64 %rd1, [%bar];
  setp.eq.u32 %p3, %t, %t; setp.eq.u32 %p6, %t, %t; mov.b16 %h1, 0x7777; mov.b16 {%b0, %b1}, %h1;
  mbarrier.)" + wait + R"(.phase_type::primary.shared::cta.b64 %p2|%p3, %b1, [%bar], %rd1;
  mbarrier.)" + wait + R"(.parity.phase_type::conditional.acquire.cta.shared::cta.b64 %p4, [%bar], 0;
  mbarrier.)" + wait + R"(.parity.phase_type::primary.relaxed.cluster.shared::cta.b64 %p5|%p6, [%bar], 0;
  mov.b16 %h1, {%b0, %b1}; cvt.u32.u16 %r10, %h1;
  selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 1, 0, %p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3;
  selp.u32 %r4, 1, 0, %p4; selp.u32 %r5, 1, 0, %p5; selp.u32 %r6, 1, 0, %p6;
  st.global.v4.u32 [%out], {%r0, %r1, %r2, %r3}; st.global.v4.u32 [%out+16], {%r4, %r5, %r6, %r10};
)",
                               8, &reports);
    EXPECT_THAT(out, ::testing::ElementsAre(1u, 0u, 1u, 0u, 1u, 1u, 0u, 0x77u)) << wait;
    EXPECT_TRUE(reports.empty());
  }
  EXPECT_THAT(stop_of("", "  mbarrier.init.layout::v1.shared::cta.b64 [%bar], 1;\n").message,
              HasSubstr("not modelled: mbarrier.init.layout::v1"));
}

TEST(MbarrierTokens, NameThePhaseInProgressOrTheOneBefore) {
  std::vector<Diagnosis> reports;
  const auto out = output_of("2", R"(
  mbarrier.arrive.shared.b64 %rd1, [%bar];
  mbarrier.test_wait.shared.b64 %p0, [%bar], %rd1;
  mbarrier.arrive.shared.b64 %rd2, [%bar];
  mbarrier.test_wait.shared.b64 %p1, [%bar], %rd1;
  mbarrier.test_wait.shared.b64 %p2, [%bar], %rd2;
  selp.u32 %r1, 1, 0, %p0; selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2;
  st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2; st.global.u32 [%out+8], %r3;
)",
                             3, &reports);
  EXPECT_THAT(out, ::testing::ElementsAre(0u, 1u, 1u));
  EXPECT_TRUE(reports.empty());
}

TEST(MbarrierTokens, AStaleTokenIsReportedAndAnsweredByItsParity) {
  for (const char* wait :
       {"mbarrier.test_wait.shared.b64 %p0, [%bar], %rd1", "mbarrier.try_wait.shared.b64 %p0, [%bar], %rd1"}) {
    std::vector<Diagnosis> reports;
    const auto out = output_of(
        "1",
        "  mbarrier.arrive.shared.b64 %rd1, [%bar];\n  mbarrier.test_wait.parity.shared.b64 %p9, [%bar], 0;\n" +
            phase("1") + "  " + wait + ";\n  selp.u32 %r1, 1, 0, %p0;\n  st.global.u32 [%dst], %r1;\n",
        1, &reports);
    EXPECT_EQ(out[0], 0u) << "phase 0 has long been over, but parity 0 looks like phase 2";
    ASSERT_EQ(reports.size(), 1u) << wait;
    EXPECT_EQ(reports[0].code, "mbarrier-phase-skipped") << wait;
    EXPECT_EQ(reports[0].severity, Severity::error) << wait;
    EXPECT_THAT(reports[0].message,
                HasSubstr("a wait for phase 0 of the mbarrier at shared offset 0x400, which is in phase 2 by now"))
        << wait;
  }
}

TEST(MbarrierTokens, ATokenMadeByHandIsOnlyAParity) {
  std::vector<Diagnosis> reports;
  const auto out = output_of("1", phase("0") + phase("1") + R"(
  mov.b64 %rd1, 0x7ffff80000000000;
  mbarrier.test_wait.shared.b64 %p0, [%bar], %rd1;
  selp.u32 %r1, 1, 0, %p0;
  st.global.u32 [%dst], %r1;
)",
                             1, &reports);
  EXPECT_EQ(out[0], 0u);
  EXPECT_TRUE(reports.empty());
}

// try_wait may always return false before the phase ends: who does not look again goes on too early.
TEST(MbarrierWaits, ATryWaitMayGiveUpAtOnce) {
  const auto answer = [](CompletionOrder order, const char* arrives) {
    const auto out = output_of("1", std::string(R"(
  setp.ge.u32 %p1, %t, 32;
  @%p1 bra WAIT;
)") + arrives + R"(
  @%p15 mbarrier.arrive.shared.b64 _, [%bar];
  bra END;
WAIT:
  nanosleep.u32 500;
  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 0;
  selp.u32 %r1, 1, 0, %p0;
  st.global.u32 [%out], %r1;
END:
)",
                               1, nullptr, 64, 1, order);
    return out[0];
  };
  const char* later = "  nanosleep.u32 4000;\n";
  using Mode = CompletionOrder::Mode;
  EXPECT_EQ(answer({Mode::timed, 0}, later), 1u) << "in time it waits";
  EXPECT_EQ(answer({Mode::late, 0}, later), 0u);
  uint32_t seeds = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) seeds += answer({Mode::seeded, seed}, later);
  EXPECT_GT(seeds, 2u);
  EXPECT_LT(seeds, 14u);
  for (const Mode mode : {Mode::timed, Mode::late, Mode::seeded})
    EXPECT_EQ(answer({mode, 3}, ""), 1u) << "a phase that is over is seen to be";
}

TEST(MbarrierWaits, AWaiterThatIsLappedIsReported) {
  // Warp 1 waits for phase 0; warp 0 ends phases 0 and 1 in one go, before the waiter has looked again.
  RunPtx run(over_barrier("1", R"(
  setp.ge.u32 %p1, %t, 32;
  @%p1 bra WAIT;
  nanosleep.u32 2000;
  setp.ne.u32 %p2, %t, 0;
  @%p2 exit;
  mbarrier.arrive.shared.b64 _, [%bar];
  mbarrier.arrive.shared.b64 _, [%bar];
  exit;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 0;
  @!%p0 bra WAIT;
)"));
  const Diagnosis end = run.fault_of("k", {1}, {64}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1));
  EXPECT_EQ(end.code, "deadlock") << "hardware hangs here";
  bool skipped = false;
  for (const Diagnosis& r : run.reports)
    if (r.code == "mbarrier-phase-skipped") {
      skipped = true;
      EXPECT_THAT(r.message,
                  HasSubstr("a wait for phase 0 of the mbarrier at shared offset 0x400, which is in phase 2 by now"));
      EXPECT_THAT(r.help, HasSubstr("let every waiting thread see each phase end before the next can end"));
    }
  EXPECT_TRUE(skipped);
}

TEST(MbarrierWaits, ARingOfPhasesIsClean) {
  // Ten rounds between two warps, each on the other's barrier: the waits of one program point are for different phases.
  for (const CompletionOrder& order : kOrders) {
    std::vector<Diagnosis> reports;
    const auto out = output_of("32", R"(
  .reg .b32 %other;
  add.u32 %other, %bar, 8;
  @%p15 mbarrier.init.shared.b64 [%other], 32;
  bar.sync 0;
  mov.u32 %r5, 0; mov.u32 %r7, 0;
  setp.ge.u32 %p1, %t, 32;
NEXT:
  and.b32 %r6, %r5, 1;
  @%p1 bra CONSUME;
  mbarrier.arrive.shared.b64 _, [%bar];
EMPTY:
  mbarrier.try_wait.parity.shared.b64 %p0, [%other], %r6;
  @!%p0 bra EMPTY;
  bra ROUND;
CONSUME:
FULL:
  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], %r6;
  @!%p0 bra FULL;
  add.u32 %r7, %r7, 1;
  mbarrier.arrive.shared.b64 _, [%other];
ROUND:
  add.u32 %r5, %r5, 1;
  setp.lt.u32 %p2, %r5, 10;
  @%p2 bra NEXT;
  st.global.u32 [%dst], %r7;
)",
                               64, &reports, 64, 1, order);
    EXPECT_EQ(out[63], 10u);
    EXPECT_TRUE(reports.empty()) << diagnosis::render(reports[0]);
  }
}

TEST(MbarrierWaits, TryWaitGivesUpAtTheMachinesLimitWhateverTheHint) {
  // An H200 returns false after 3.94 us for hints of 1 us to 2 s.
  for (const char* hint : {"", ", 1", ", 1000", ", 2000000000"}) {
    RunPtx run(".version 9.0\n.target sm_90a\n.address_size 64\n" + over_barrier("1", std::string(R"(
  mov.u64 %rd1, %clock64;
  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 0)") + hint + R"(;
  mov.u64 %rd2, %clock64;
  sub.u64 %rd3, %rd2, %rd1;
  cvt.u32.u64 %r1, %rd3;
  selp.u32 %r2, 1, 0, %p0;
  st.global.u32 [%out], %r1;
  st.global.u32 [%out+4], %r2;
)"),
               hopper_machine());
    const uint64_t out = run.buffer<uint32_t>(2);
    run.launch("k", {1}, {1}, out, out);
    const auto words = run.download<uint32_t>(out, 2);
    EXPECT_NEAR(words[0], 7763, 0.02 * 7763) << hint;
    EXPECT_EQ(words[1], 0u) << hint;
  }
}

// ---- Hangs

TEST(MbarrierHang, SaysWhoWaitsForWhat) {
  const Diagnosis d = stop_of("3", R"(
  @%p15 mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 0;
  @!%p0 bra WAIT;
)",
                              32);
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_EQ(d.kind, FaultKind::deadlock);
  EXPECT_EQ(d.where.cta[0], 0);
  EXPECT_EQ(d.where.warp, 0);
  EXPECT_THAT(d.label, HasSubstr("all lanes wait on the mbarrier at shared offset 0x400 for parity 0: it is in phase 0 "
                                 "(parity 0), 2 of 3 arrivals missing, 128 bytes outstanding"));
  EXPECT_EQ(d.where.ptx_text, "mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 0");
  EXPECT_THAT(d.message, HasSubstr("expects 3 arrivals a phase, and gets 1"));
  EXPECT_THAT(d.help, HasSubstr("or add the missing arrivals"));
}

TEST(MbarrierHang, AWrongParityIsTold) {
  // The first phase is over; a waiter that passes its counter's next value waits for the second.
  const Diagnosis d = stop_of("1", R"(
  mbarrier.arrive.shared.b64 _, [%bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 1;
  @!%p0 bra WAIT;
)");
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.label, HasSubstr("for parity 1: it is in phase 1 (parity 1), 1 of 1 arrivals missing, 0 bytes "
                                 "outstanding; phase 0 has ended, and a wait for it has parity 0"));
}

TEST(MbarrierHang, PollingWithTestWaitIsTold) {
  const Diagnosis d = stop_of("1", R"(
SPIN:
  mbarrier.test_wait.parity.shared.b64 %p0, [%bar], 0;
  @!%p0 bra SPIN;
)");
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.message, HasSubstr("the kernel spins forever"));
  EXPECT_EQ(d.label, "lane 0 spins");
}

TEST(MbarrierHang, EveryCtaThatWaitsIsCounted) {
  const Diagnosis d =
      stop_of("1", "WAIT:\n  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 0;\n  @!%p0 bra WAIT;\n", 1, 2);
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.label, HasSubstr("[and in 1 more CTAs]"));
}

}  // namespace
}  // namespace tinygpu::test
