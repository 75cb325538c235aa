// Deadlocks are told from their root: the wait on whose end the others wait, and who could have ended it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test::deadlock_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// Warps of one CTA; %w their number, %l the lane, %b the address of four mbarriers with counts of 1, %s that of 8 KiB,
/// %i 8 KiB of global memory; %e: lane 0 of each warp.
std::string kernel(const std::string& body) {
  return ptx_header() + R"(
.visible .entry k(.param .u64 in)
{
  .shared .align 8 .b64 bars[4]; .shared .align 128 .b8 smem[8192];
  .reg .b32 %r<16>, %t, %w, %l, %b, %s; .reg .b64 %i; .reg .pred %p<8>, %e;
  ld.param.u64 %i, [in]; mov.u32 %t, %tid.x; shr.u32 %w, %t, 5; and.b32 %l, %t, 31; mov.u32 %b, bars; mov.u32 %s, smem;
  setp.eq.u32 %e, %l, 0; setp.eq.u32 %p7, %t, 0;
  @%p7 mbarrier.init.shared.b64 [%b], 1; @%p7 mbarrier.init.shared.b64 [%b+8], 1;
  @%p7 mbarrier.init.shared.b64 [%b+16], 1; @%p7 mbarrier.init.shared.b64 [%b+24], 1;
  @%p7 fence.mbarrier_init.release.cluster;
  bar.sync 0;
)" + body +
         "  ret;\n}\n";
}

std::string wait(int offset, int parity) {
  static int label = 0;
  const std::string l = fmt::format("WAIT{}", ++label);
  return fmt::format("{}: mbarrier.try_wait.parity.shared.b64 %p0, [%b+{}], {};\n  @!%p0 bra {};\n", l, offset, parity,
                     l);
}

/// `body` runs in warp 1, `other` in warp 0.
std::string roles(const std::string& other, const std::string& body) {
  return "  setp.eq.u32 %p1, %w, 0;\n  @%p1 bra OTHER;\n" + body + "  bra END;\nOTHER:\n" + other + "END:\n";
}

Diagnosis fault(const std::string& body, uint32_t threads = 64, CompletionOrder order = {}, uint64_t max_cycles = 0) {
  RunPtx run(kernel(body));
  run.gpu.options.order = order;
  run.gpu.options.max_cycles = max_cycles;
  return run.fault_of("k", {1}, {threads}, run.buffer<uint32_t>(2048));
}

TEST(Deadlock, BeginsWithTheWaitThatOthersWaitFor) {
  const Diagnosis d = fault(roles("  bar.sync 1, 64;\n", wait(8, 0) + "  bar.sync 1, 64;\n"));
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_EQ(d.where.warp, 1);
  EXPECT_THAT(d.where.ptx_text, HasSubstr("mbarrier.try_wait"));
  EXPECT_THAT(d.message, HasSubstr("Nothing has ever arrived on the mbarrier bars[1] (shared offset 0x408)"));
  ASSERT_EQ(d.others.size(), 1u);
  EXPECT_EQ(d.others[0].where.ptx_text, "bar.sync 1, 64") << "where it waits, not what comes behind";
  EXPECT_THAT(d.others[0].label, HasSubstr("warp 1 could end that"));
}

// One lane waits for an mbarrier, the others for that lane: it is the mbarrier that is to be mended.
TEST(Deadlock, LanesThatWaitForTheirWarpAreNoCause) {
  for (const char* meets : {"  bar.warp.sync -1;\n", "  bar.sync 1, 64;\n", "  vote.sync.all.pred %p3, %p7, -1;\n"}) {
    const Diagnosis d = fault(roles("  bar.sync 1, 64;\n", "  @!%e bra PAST;\n" + wait(8, 0) + "PAST:\n" + meets));
    EXPECT_THAT(d.where.ptx_text, HasSubstr("mbarrier.try_wait")) << meets;
    EXPECT_THAT(d.message, HasSubstr("Nothing has ever arrived")) << meets;
    EXPECT_THAT(d.help, HasSubstr("find the missing arrive or commit")) << meets;
    EXPECT_TRUE(d.rule.empty()) << meets;
  }
}

TEST(Deadlock, ALaneThatNeverComesIsTheCause) {
  const Diagnosis d = fault("  @%e bra PAST;\n  bar.warp.sync -1;\n  bra END;\nPAST:\n  bar.sync 1, 64;\nEND:\n");
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(diagnosis::render(d), AllOf(HasSubstr("bar.warp.sync"), HasSubstr("bar.sync 1, 64")));
}

// The consumer leaves after one round; the producer waits for a second.
TEST(Deadlock, NamesWhoArrivedBefore) {
  const std::string producer = wait(8, 0) + wait(8, 1), consumer = "  @%e mbarrier.arrive.shared.b64 _, [%b+8];\n";
  const Diagnosis d = fault(roles(consumer, producer));
  EXPECT_THAT(d.where.ptx_text, HasSubstr("[%b+8], 1"));
  ASSERT_FALSE(d.others.empty());
  EXPECT_EQ(d.others.back().where.ptx_text, "@%e mbarrier.arrive.shared.b64 _, [%b+8]");
  EXPECT_EQ(d.others.back().label, "arrived in phase 0, 1 time");
  EXPECT_THAT(d.help, HasSubstr("the threads that arrived earlier are named below"));
}

TEST(Deadlock, CountsWhoComes) {
  const Diagnosis d = fault(
      roles("  @%e mbarrier.arrive.shared.b64 _, [%b+8];\n",
            "  @%e mbarrier.init.shared.b64 [%b+8], 3;\n  @%e mbarrier.arrive.shared.b64 _, [%b+8];\n" + wait(8, 0)));
  EXPECT_THAT(d.message, AllOf(HasSubstr("expects 3 arrivals a phase"), HasSubstr("gets")));
}

// Parity 1 without a wait for phase 0 before: it asks for a phase that never begins.
TEST(Deadlock, NamesAPhaseThatWasNeverWaitedFor) {
  const Diagnosis d =
      fault(roles("  @%e mbarrier.arrive.shared.b64 _, [%b+8];\n", "  nanosleep.u32 5000;\n" + wait(8, 1)));
  EXPECT_THAT(d.message, AllOf(HasSubstr("The wait is for phase 1 of the mbarrier bars[1] (shared offset 0x408)"),
                               HasSubstr("never waited for phase 0, which has ended")));
  EXPECT_THAT(d.help, HasSubstr("a wait for phase 0 has parity 0"));
  ASSERT_FALSE(d.others.empty());
  EXPECT_EQ(d.others.back().label, "arrived in phase 0, 1 time");
}

TEST(Deadlock, AnArrivalTooManyNamesThoseOfThePhase) {
  const Diagnosis d = fault(roles("",
                                  "  @%e mbarrier.init.shared.b64 [%b+8], 2;\n"
                                  "  @%e mbarrier.arrive.shared.b64 _, [%b+8], 1;\n"
                                  "  @%e mbarrier.arrive.shared.b64 _, [%b+8], 2;\n"));
  EXPECT_EQ(d.code, "mbarrier-over-arrival");
  ASSERT_EQ(d.others.size(), 1u) << diagnosis::render(d);
  EXPECT_EQ(d.others[0].label, "arrived in phase 0, 1 time");
  EXPECT_THAT(d.others[0].where.ptx_text, HasSubstr("[%b+8], 1"));
}

const std::string kCopy =
    "  @%e cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 1024, [%b+8];\n";

TEST(Deadlock, CountsBytes) {
  const Diagnosis d =
      fault(roles(wait(8, 0), "  @%e mbarrier.arrive.expect_tx.shared.b64 _, [%b+8], 2048;\n" + kCopy + wait(8, 0)));
  EXPECT_THAT(d.message, HasSubstr("1024 bytes have landed, and 2048 are expected"));
  const std::string text = diagnosis::render(d);
  EXPECT_THAT(text, AllOf(HasSubstr("expects 2048 bytes in phase 0"), HasSubstr("lands 1024 bytes in phase 0")));
  EXPECT_THAT(d.help, HasSubstr("let expect_tx name exactly the bytes that land"));
}

// More than expected is told when the last arrival has come, not when everybody has stopped.
TEST(Deadlock, TooManyBytesAreToldAtOnce) {
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    RunPtx run(
        kernel(roles(wait(8, 0), "  @%e mbarrier.arrive.expect_tx.shared.b64 _, [%b+8], 512;\n" + kCopy + wait(8, 0))));
    run.gpu.options.order = {mode, 1};
    const Diagnosis end = run.fault_of("k", {1}, {64}, run.buffer<uint32_t>(2048));
    EXPECT_EQ(end.code, "deadlock");
    ASSERT_EQ(run.reports.size(), 1u);
    const Diagnosis& d = run.reports[0];
    EXPECT_EQ(d.code, "mbarrier-tx-mismatch");
    EXPECT_THAT(d.message, HasSubstr("1024 bytes have landed and 512 were expected"));
    EXPECT_THAT(d.where.ptx_text, HasSubstr("cp.async.bulk"));
    EXPECT_EQ(d.label, "lands 1024 bytes");
    ASSERT_EQ(d.others.size(), 1u);
    EXPECT_THAT(d.others[0].where.ptx_text, HasSubstr("expect_tx"));
    EXPECT_EQ(d.others[0].label, "expects 512 bytes");
  }
}

TEST(Deadlock, ACircleIsToldAsOne) {
  const auto role = [](int mine, int other) {
    return wait(mine, 0) + fmt::format("  @%e mbarrier.arrive.shared.b64 _, [%b+{}];\n", other);
  };
  const std::string rounds = "  @%e mbarrier.arrive.shared.b64 _, [%b+{}];\n";
  // Each has arrived once at the other's, so that it is known who could.
  const auto body = [&](int mine, int other) {
    return fmt::format(fmt::runtime(rounds), other) + wait(mine, 0) + wait(mine, 1) + role(mine, other);
  };
  const Diagnosis d = fault(roles(body(8, 16), body(16, 8)));
  EXPECT_THAT(d.label, HasSubstr("could end that"));
  ASSERT_GE(d.others.size(), 1u);
  EXPECT_THAT(d.others[0].label, HasSubstr("could end that"));
}

TEST(Deadlock, EqualWaitsStandOnce) {
  const Diagnosis d = fault(wait(8, 0), 128);
  EXPECT_THAT(d.label, HasSubstr("[and 3 more warps]"));
  EXPECT_TRUE(d.others.empty());
}

// Who bounds the run is told of the deadlock all the same.
TEST(Deadlock, IsNoMatterOfTheCyclesGiven) {
  const Diagnosis d = fault(wait(8, 0), 64, {}, 1'000'000);
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.message, HasSubstr("waits forever"));
}

}  // namespace
}  // namespace tinygpu::test::deadlock_test
