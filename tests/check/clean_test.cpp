// What kernels rightly do, and no check may call wrong.
#include "tests/check/kernel.h"

namespace tinygpu::test::clean_test {
namespace {

using ::testing::IsEmpty;

std::vector<std::string> found(const std::string& body, bool tensor = false) {
  Kernel k;
  k.body = body;
  k.tensor = tensor;
  return found_in_all_orders(k);
}

const std::string kExpect = "mbarrier.arrive.expect_tx.shared.b64 _, [%b], 1024;\n";
const std::string kCopy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 1024, [%b];\n";
const std::string kMma = "tcgen05.mma.cta_group::1.kind::f16 [%base], %desc, %desc, %idesc, %p13;\n";
const std::string kBefore = "  tcgen05.fence::before_thread_sync;\n", kAfter = "  tcgen05.fence::after_thread_sync;\n";
std::string commit(const std::string& guard, int offset) {
  return fmt::format("  @{} tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b+{}];\n", guard,
                     offset);
}

TEST(Clean, LanesOfOneInstructionWriteTheSame) {
  EXPECT_THAT(found("  @%p10 st.shared.u32 [%s], 7;\n  bar.sync 0;\n  ld.shared.u32 %r1, [%s];\n"), IsEmpty());
}

TEST(Clean, AFreshBarrierPassesByItself) {
  EXPECT_THAT(found(wait("%p8", 8, 1) + "  @%p8 " + kExpect + "  @%p8 " + kCopy + wait("%p12") +
                    "  ld.shared.u32 %r1, [%s];\n"),
              IsEmpty());
}

// Who asks for the bytes comes behind the copy.
TEST(Clean, TheCopyBeforeItsExpectTx) {
  EXPECT_THAT(found("  @%p8 " + kCopy + "  bar.sync 0;\n  setp.eq.u32 %p1, %t, 32;\n  @%p1 " + kExpect + wait("%p12") +
                    "  ld.shared.u32 %r1, [%s];\n"),
              IsEmpty());
}

// Thread 0 fills, thread 32 multiplies and gives the stage back by a commit: no fence, and thread 0 has not seen its
// own copy land.
std::string ring(bool waits) {
  std::string body = "  setp.eq.u32 %p1, %t, 32;\n";
  for (int round = 0; round < 3; ++round) {
    if (waits) body += wait("%p8", 8, (round + 1) % 2);
    body += "  @%p8 " + kExpect + "  @%p8 " + kCopy;
    if (!waits) body += wait("%p8", 0, round % 2);
    body += wait("%p1", 0, round % 2) + "  @%p1 " + kMma + commit("%p1", 8);
  }
  // One waits for all: the others have not followed the phases.
  return body + wait("%p1", 8, 0) + "  bar.sync 0;\n" + kAfter;
}

TEST(Clean, AStageThatACommitFrees) { EXPECT_THAT(found(ring(true), true), IsEmpty()); }
TEST(Clean, IsNotCleanWithoutTheWait) {
  Kernel k;
  k.body = ring(false);
  k.tensor = true;
  EXPECT_FALSE(k.findings().empty());
}

TEST(Clean, TwoAccumulatorsInTurn) {
  const std::string second =
      "  add.u32 %r5, %base, 32;\n  @%p8 tcgen05.mma.cta_group::1.kind::f16 [%r5], %desc, %desc, "
      "%idesc, %p13;\n";
  EXPECT_THAT(found("  @%p8 " + kMma + commit("%p8", 0) + second + commit("%p8", 8) + wait("%p12", 0) + kAfter +
                        "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%mine];\n  tcgen05.wait::ld.sync.aligned;\n" +
                        kBefore + "  @%p10 mbarrier.arrive.shared.b64 _, [%b+32];\n" + wait("%p12", 8) + kAfter,
                    true),
              IsEmpty());
}

// Finished or not, the order of issue is handed over by relaxed operations between the two fences.
TEST(Clean, RelaxedOperationsBetweenTheTensorFences) {
  EXPECT_THAT(found("  @%p8 " + kMma + kBefore + "  @%p8 mbarrier.arrive.relaxed.cta.shared.b64 _, [%b];\n" +
                        "  setp.eq.u32 %p1, %t, 32;\n" + wait("%p1", 0, 0, ".relaxed.cta") + kAfter + "  @%p1 " + kMma +
                        commit("%p1", 8) + commit("%p8", 16) + wait("%p12", 8) + wait("%p12", 16) + kAfter,
                    true),
              IsEmpty());
}

TEST(Clean, AnEpilogueThatUsesItsBufferAgain) {
  const auto out = [](const std::string& to) {
    return "  @%p8 cp.async.bulk.global.shared::cta.bulk_group [" + to + "], [%s], 256;\n";
  };
  const std::string fill = "  mad.lo.u32 %r0, %t, 4, %s;\n  st.shared.u32 [%r0], %t;\n";
  const std::string fence = "  fence.proxy.async.shared::cta;\n", meet = "  bar.sync 1, 64;\n";
  const std::string close = "  @%p8 cp.async.bulk.commit_group;\n  @%p8 cp.async.bulk.wait_group.read 0;\n";
  EXPECT_THAT(found(fill + fence + meet + out("%o") + close + meet + fill + fence + meet + out("%o+256") + close),
              IsEmpty());
  EXPECT_THAT(found(fill + meet + "  @%p8 fence.proxy.async.shared::cta;\n" + out("%o") + close), IsEmpty());
}

TEST(Clean, ArriveAtOneBarrierAndWaitAtAnother) {
  EXPECT_THAT(found("  @%p8 st.shared.u32 [%s], %t;\n  @%p10 bar.arrive 1, 64;\n  @%p11 bar.sync 1, 64;\n"
                    "  @%p11 ld.shared.u32 %r1, [%s];\n  @%p11 bar.arrive 2, 64;\n  @%p10 bar.sync 2, 64;\n"
                    "  @%p8 st.shared.u32 [%s], %t;\n"),
              IsEmpty());
}

TEST(Clean, AStoreInFlightAtTheEnd) {
  EXPECT_THAT(found("  @%p8 cp.async.bulk.global.shared::cta.bulk_group [%o], [%s], 256;\n"
                    "  @%p8 cp.async.bulk.commit_group;\n"),
              IsEmpty());
}

}  // namespace
}  // namespace tinygpu::test::clean_test
