// Happens-before of asynchronous copies: what waits for them, and the fences between the proxies.
#include "tests/check/kernel.h"

namespace tinygpu::test::copies_test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> found(const std::string& body, uint32_t ctas = 1) {
  Kernel k;
  k.body = body;
  k.ctas = ctas;
  return found_in_all_orders(k);
}

const std::string kCopy = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 1024, [%b];";
const std::string kExpect = "mbarrier.arrive.expect_tx.shared.b64 _, [%b], 1024;";
std::string load() { return "  @%p8 " + kExpect + "\n  @%p8 " + kCopy + "\n"; }
const std::string kAll = "%p12";  // all threads

TEST(CopyRaces, ALoadIsThereWhenItsPhaseEnds) {
  const std::string read = "  ld.shared.u32 %r1, [%s+8];\n";
  EXPECT_THAT(found(load() + wait(kAll) + read), IsEmpty());
  // A barrier of threads does not wait for it.
  EXPECT_THAT(found(load() + "  bar.sync 0;\n" + read + wait(kAll)),
              ElementsAre(race("async-not-complete", "ld.shared.u32 %r1, [%s+8];", kCopy)));
  // One thread waits, then all meet.
  EXPECT_THAT(found(load() + wait("%p8") + "  bar.sync 0;\n" + read), IsEmpty());
  EXPECT_EQ(found(load() + wait("%p8") + "  @%p11 ld.shared.u32 %r1, [%s+8];\n").size(), 1u);
}

TEST(CopyRaces, ACopyOverwritesWhatIsStillRead) {
  const std::string read = "  ld.shared.u32 %r1, [%s+8];\n";
  // With the fence: clean. Without: ordered, but the copy may overtake the read (a warning).
  EXPECT_THAT(found(read + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" + load() + wait(kAll)), IsEmpty());
  EXPECT_THAT(found(read + "  bar.sync 0;\n" + load() + wait(kAll)),
              ElementsAre(race("proxy-fence-missing", kCopy, "ld.shared.u32 %r1, [%s+8];")));
  EXPECT_THAT(found("  @%p11 ld.shared.u32 %r1, [%s+8];\n" + load() + wait(kAll)),
              ElementsAre(race("data-race", kCopy, "ld.shared.u32 %r1, [%s+8];")));
}

const std::string kOut = "cp.async.bulk.global.shared::cta.bulk_group [%o], [%s], 256;";
const std::string kCommit = "cp.async.bulk.commit_group;";
const std::string kFill = "  mad.lo.u32 %r0, %t, 4, %s;\n  st.shared.u32 [%r0], %t;\n";

TEST(CopyRaces, StoresAreHandedToTheAsyncProxy) {
  const auto store = [](const std::string& between) {
    return found(kFill + between + "  @%p8 " + kOut + "\n  @%p8 " + kCommit + "\n  @%p8 cp.async.bulk.wait_group 0;\n");
  };
  EXPECT_THAT(store("  fence.proxy.async.shared::cta;\n  bar.sync 0;\n"), IsEmpty());
  EXPECT_THAT(store("  fence.proxy.async;\n  bar.sync 0;\n"), IsEmpty());
  EXPECT_THAT(store("  bar.sync 0;\n  @%p8 fence.proxy.async.shared::cta;\n"), IsEmpty())
      << "by the thread that issues";
  const std::string missing = race("proxy-fence-missing", kOut, "st.shared.u32 [%r0], %t;");
  EXPECT_THAT(store("  bar.sync 0;\n"), ElementsAre(missing));
  EXPECT_THAT(store("  fence.proxy.async.global;\n  bar.sync 0;\n"), ElementsAre(missing)) << "of other memory";
  EXPECT_THAT(store("  @%p8 fence.proxy.async.shared::cta;\n  bar.sync 0;\n"), ElementsAre(missing))
      << "before it knows of the others' stores";
  EXPECT_THAT(store("  bar.sync 0;\n  @%p11 fence.proxy.async.shared::cta;\n"), ElementsAre(missing)) << "elsewhere";
  EXPECT_THAT(store("  fence.proxy.async.shared::cta;\n"),
              ElementsAre(race("data-race", kOut, "st.shared.u32 [%r0], %t;")));
}

TEST(CopyRaces, AStoreReadsItsSourceUntilTheGroupIsWaitedFor) {
  const auto reuse = [](const std::string& waits) {
    return found(kFill + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  @%p8 " + kOut + "\n  @%p8 " + kCommit +
                 "\n" + waits + "  bar.sync 0;\n  st.shared.u32 [%r0], 0;\n  @%p8 cp.async.bulk.wait_group 0;\n");
  };
  EXPECT_THAT(reuse("  @%p8 cp.async.bulk.wait_group.read 0;\n"), IsEmpty());
  EXPECT_THAT(reuse("  @%p8 cp.async.bulk.wait_group 0;\n"), IsEmpty());
  const std::string race = "st.shared.u32 [%r0], 0";
  for (const char* not_enough :
       {"", "  @%p8 cp.async.bulk.wait_group.read 1;\n", "  @%p11 cp.async.bulk.wait_group.read 0;\n"}) {
    const auto told = reuse(not_enough);
    ASSERT_EQ(told.size(), 1u) << not_enough;
    EXPECT_THAT(told[0], ::testing::HasSubstr(race));
    EXPECT_THAT(told[0], ::testing::HasSubstr(kOut.substr(0, kOut.size() - 1)));
  }
}

TEST(CopyRaces, WhatAStoreWritesIsThereBehindTheFullWait) {
  const auto read = [](const std::string& waits) {
    return found(kFill + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n  @%p8 " + kOut + "\n  @%p8 " + kCommit +
                 "\n" + waits +
                 "  bar.sync 0;\n  @%p11 ld.global.u32 %r1, [%o];\n  @%p8 cp.async.bulk.wait_group 0;\n");
  };
  EXPECT_THAT(read("  @%p8 cp.async.bulk.wait_group 0;\n"), IsEmpty());
  EXPECT_EQ(read("  @%p8 cp.async.bulk.wait_group.read 0;\n").size(), 1u);
}

TEST(CopyRaces, CompleteTxSaysNothingOfTheIssuersStores) {
  const std::string body = "  @%p8 st.shared.u32 [%s+2048], %t;\n" + load();
  EXPECT_THAT(found(body + wait("%p11") + "  @%p11 ld.shared.u32 %r1, [%s+2048];\n" + wait("%p8")), IsEmpty())
      << "its own arrive does";
  const std::string separate = "  setp.eq.u32 %p1, %t, 32; @%p1 " + kExpect +
                               "\n  bar.sync 0;\n  @%p8 st.shared.u32 [%s+2048], %t;\n  @%p8 " + kCopy + "\n";
  EXPECT_THAT(found(separate + wait("%p11") + "  @%p11 ld.shared.u32 %r1, [%s+2048];\n" + wait("%p8")),
              ElementsAre(race("data-race", "ld.shared.u32 %r1, [%s+2048];", "@%p8 st.shared.u32 [%s+2048], %t;")));
}

TEST(CopyRaces, InitialisationIsHandedToTheAsyncProxy) {
  const auto fresh = [](const std::string& fence) {
    return found(
        "  @%p8 mbarrier.init.shared.b64 [%s+2048], 1;\n" + fence +
        "  bar.sync 0;\n  @%p8 mbarrier.arrive.expect_tx.shared.b64 _, [%s+2048], 1024;\n"
        "  @%p8 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 1024, [%s+2048];\n"
        "FRESH: mbarrier.try_wait.parity.shared.b64 %p0, [%s+2048], 0;\n  @!%p0 bra FRESH;\n");
  };
  EXPECT_THAT(fresh("  @%p8 fence.mbarrier_init.release.cluster;\n"), IsEmpty());
  EXPECT_THAT(fresh("  @%p8 fence.proxy.async.shared::cta;\n"), IsEmpty());
  EXPECT_THAT(fresh("  bar.sync 0;\n  fence.proxy.async;\n"), IsEmpty());
  EXPECT_THAT(fresh(""), ElementsAre(::testing::StartsWith("mbarrier-init-not-published: cp.async.bulk")));
}

TEST(CopyRaces, CpAsync) {
  const std::string copy =
      "  mad.lo.u32 %r0, %t, 16, %s; mad.wide.u32 %rd0, %t, 16, %i;\n  cp.async.ca.shared.global [%r0], [%rd0], 16;\n";
  const std::string own = "  ld.shared.u32 %r1, [%r0];\n",
                    other = "  xor.b32 %r2, %r0, 16; ld.shared.u32 %r1, [%r2];\n";
  const std::string commit = "  cp.async.commit_group;\n", wait0 = "  cp.async.wait_group 0;\n";
  EXPECT_THAT(found(copy + commit + wait0 + own), IsEmpty());
  EXPECT_THAT(found(copy + "  cp.async.wait_all;\n" + own), IsEmpty());
  EXPECT_THAT(found(copy + commit + wait0 + "  bar.sync 0;\n" + other), IsEmpty());
  EXPECT_EQ(found(copy + commit + wait0 + other).size(), 1u) << "another lane's copies";
  EXPECT_EQ(found(copy + commit + "  bar.sync 0;\n" + own + wait0).size(), 1u) << "a barrier does not wait for copies";
  EXPECT_EQ(found(copy + commit + "  cp.async.wait_group 1;\n" + own + wait0).size(), 1u) << "one group may be pending";
  EXPECT_THAT(found(copy + commit + commit + "  cp.async.wait_group 1;\n" + own + wait0), IsEmpty());
  EXPECT_EQ(found("  @%p8 st.shared.u32 [%s+64], %t;\n" + copy + commit + wait0).size(), 1u) << "over another's store";
}

// They land when their CTA ends.
TEST(CopyRaces, CpAsyncThatNobodyWaitsForMayOverwriteWhatHasBeenRead) {
  const std::string at = "  mad.lo.u32 %r0, %t, 16, %s; mad.wide.u32 %rd0, %t, 16, %i;\n";
  const std::string copy = "  cp.async.ca.shared.global [%r0], [%rd0], 16;\n";
  const std::string own = "  ld.shared.u32 %r1, [%r0];\n",
                    other = "  xor.b32 %r2, %r0, 16; ld.shared.u32 %r1, [%r2];\n";
  EXPECT_THAT(found(at + other + "  bar.sync 0;\n" + copy), IsEmpty()) << "it needs no fence between the proxies";
  EXPECT_THAT(found(at + own + copy), IsEmpty()) << "each lane has read what it overwrites";
  EXPECT_EQ(found(at + other + copy).size(), 1u) << "another lane reads it";
}

TEST(CopyRaces, CpAsyncReadsItsSourceLaneByLane) {
  const std::string at = "  mad.lo.u32 %r0, %t, 16, %s; mad.wide.u32 %rd0, %t, 16, %o;\n";
  const std::string copy = "  cp.async.ca.shared.global [%r0], [%rd0], 16;\n", wait0 = "  cp.async.wait_all;\n";
  const std::string own = "  st.global.u32 [%rd0+8], %t;\n",
                    other = "  xor.b64 %rd0, %rd0, 16; st.global.u32 [%rd0+8], %t;\n";
  const std::string expected =
      race("async-not-complete", "st.global.u32 [%rd0+8], %t;", "cp.async.ca.shared.global [%r0], [%rd0], 16;");
  EXPECT_THAT(found(at + copy + wait0 + own), IsEmpty()) << "in place: each lane has waited for what it reads";
  EXPECT_THAT(found(at + own + copy + wait0), IsEmpty());
  EXPECT_THAT(found(at + copy + wait0 + other), ElementsAre(expected));
  EXPECT_THAT(found(at + copy + wait0 + "  bar.warp.sync -1;\n" + other), IsEmpty());
  EXPECT_EQ(found(at + other + "  mad.wide.u32 %rd0, %t, 16, %o;\n" + copy + wait0).size(), 1u)
      << "what another lane has stored";
  // Lanes that read less, or nothing, leave the rest to others.
  const std::string some = "  and.b32 %r3, %t, 12;\n  cp.async.ca.shared.global [%r0], [%rd0], 16, %r3;\n";
  EXPECT_THAT(found(at + some + wait0 + "  xor.b64 %rd0, %rd0, 16; st.global.u32 [%rd0+12], %t;\n"), IsEmpty());
}

TEST(CopyRaces, CpAsyncArrivesOnAnMbarrier) {
  const std::string copy =
      "  mad.lo.u32 %r0, %l, 16, %s; mad.wide.u32 %rd0, %l, 16, %i;\n  @%p10 cp.async.ca.shared.global [%r0], [%rd0], "
      "16;\n";
  const std::string arrive = "  @%p10 cp.async.mbarrier.arrive.noinc.shared.b64 [%b+32];\n";
  const std::string read = "  @%p11 ld.shared.u32 %r1, [%s];\n";
  EXPECT_THAT(found(copy + arrive + wait("%p11", 32) + read + "  cp.async.wait_all;\n"), IsEmpty());
  EXPECT_EQ(found(arrive + copy + wait("%p11", 32) + read + "  cp.async.wait_all;\n").size(), 1u) << "later copies";
}

TEST(CopyRaces, StAsyncIsThereBehindItsMbarrier) {
  const std::string head =
      "  mapa.shared::cluster.u32 %r2, %s, 1; mapa.shared::cluster.u32 %r3, %b, 1;\n"
      "  setp.eq.u32 %p1, %k, 0; and.pred %p1, %p1, %p8; setp.eq.u32 %p2, %k, 1; and.pred %p3, %p2, %p8;\n"
      "  @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 4;\n"
      "  @%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %t, [%r3];\n";
  const std::string read = "  @%p2 ld.shared.u32 %r1, [%s];\n";
  EXPECT_THAT(found(head + wait("%p2") + read, 2), IsEmpty());
  EXPECT_EQ(found(head + "  bar.sync 0;\n" + read + wait("%p2"), 2).size(), 1u);
}

// Rank 0 sends, rank 1 reads, says so by `reply`, and rank 0 sends to the same place again. The bytes of a reply are no
// promise for what its thread has read, but kernels take them for one: a note.
TEST(CopyRaces, AReplyByStAsyncPromisesNothingOfReads) {
  const auto told = [](const std::string& reply) {
    const std::string send = "  @%p1 st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2], %t, [%r3];\n";
    return found(
        "  xor.b32 %r4, %k, 1; mapa.shared::cluster.u32 %r2, %s, %r4; mapa.shared::cluster.u32 %r3, %b, %r4;\n"
        "  setp.eq.u32 %p1, %k, 0; and.pred %p1, %p1, %p8; setp.eq.u32 %p2, %k, 1; and.pred %p3, %p2, %p8;\n"
        "  @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 4;\n" +
            send + wait("%p3") + "  @%p3 ld.shared.u32 %r1, [%s];\n  @%p3 " + reply + wait("%p1") + send +
            "  @%p3 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 4;\n" + wait("%p3", 0, 1),
        2);
  };
  EXPECT_THAT(told("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n"),
              ElementsAre(::testing::StartsWith("scope-too-narrow: st.async")))
      << "the wait is of scope .cta";
  EXPECT_THAT(told("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r2+8], %t, [%r3];\n"
                   "  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 4;\n"),
              ElementsAre(::testing::StartsWith("data-race: ld.shared.u32 %r1, [%s] <- st.async")));
}

TEST(CopyRaces, WgmmaReadsItsOperandsUntilItIsWaitedFor) {
  const auto multiplied = [](const std::string& before, const std::string& behind,
                             const std::string& fence = "  wgmma.fence.sync.aligned;\n") {
    Kernel k;
    k.hopper = true;
    k.threads = 128;
    k.body =
        "  .reg .f32 %f<4>; .reg .b64 %desc; mov.f32 %f0, 0f00000000; mov.f32 %f1, %f0; mov.f32 %f2, %f0; "
        "mov.f32 %f3, %f0;\n  shr.u32 %r0, %s, 4; cvt.u64.u32 %desc, %r0; or.b64 %desc, %desc, 0x0000001000080000;\n"
        "  mad.lo.u32 %r0, %t, 16, %s;\n  st.shared.u32 [%r0], %t;\n" +
        before + fence +
        "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0,%f1,%f2,%f3}, %desc, %desc, %p13, 1, 1, 0, 0;\n"
        "  wgmma.commit_group.sync.aligned;\n" +
        behind + "  wgmma.wait_group.sync.aligned 0;\n";
    return found_in_all_orders(k);
  };
  const std::string fence = "  fence.proxy.async.shared::cta;\n", meet = "  bar.sync 0;\n";
  const std::string wait0 = "  wgmma.wait_group.sync.aligned 0;\n", again = "  st.shared.u32 [%r0], 0;\n";
  EXPECT_THAT(multiplied(fence + meet, wait0 + meet + again), IsEmpty());
  EXPECT_THAT(multiplied(meet, wait0), ElementsAre(::testing::StartsWith("proxy-fence-missing: wgmma.mma_async")));
  EXPECT_THAT(multiplied(fence, wait0), IsEmpty()) << "its own warps' stores";
  EXPECT_THAT(multiplied(fence + meet, wait0, ""), ElementsAre(::testing::StartsWith("wgmma-fence-missing: ")));
  EXPECT_FALSE(multiplied(fence + meet, again).empty());
  EXPECT_FALSE(multiplied(fence + meet, "  wgmma.wait_group.sync.aligned 1;\n" + again).empty());
}

TEST(CopyRaces, FencesOfGlobalMemory) {
  const auto copied = [](const std::string& fence) {
    return found("  @%p8 st.global.u32 [%i], %t;\n  @%p8 " + fence + "\n" + load() + wait("%p8"));
  };
  EXPECT_THAT(copied("fence.proxy.async;"), IsEmpty());
  EXPECT_THAT(copied("fence.proxy.async.global;"), IsEmpty());
  const std::string missing = race("proxy-fence-missing", kCopy, "st.global.u32 [%i], %t;");
  EXPECT_THAT(copied("fence.proxy.async.shared::cta;"), ElementsAre(missing));
  EXPECT_THAT(copied("fence.acq_rel.gpu;"), ElementsAre(missing));
}

// A CTA ends under its own copy: it would have overwritten what threads have read.
TEST(CopyRaces, InFlightAtTheEnd) {
  Kernel k;
  const std::string copy =
      "  @%p8 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 256;\n"
      "  @%p8 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 256, [%b];\n";
  k.body = copy + "  bar.sync 0;\n  ld.shared.u32 %r1, [%s];\n";
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    k.order = {mode, 3};
    EXPECT_THAT(k.findings(), Contains(StartsWith("async-not-complete: ld.shared.u32")));
  }
}

// A request whose answer comes to both CTAs is made when all have read what the last one led to: its arrival shows
// that.
TEST(CopyRaces, AMulticastsArrivalComesBehindItsIssue) {
  Kernel k;
  k.ctas = 2;
  k.clusters = 5;
  k.threads = 96;
  k.body =
      "  mapa.shared::cluster.u32 %r2, %b, 0; mad.lo.u32 %r3, %k, 8, %r2; add.u32 %r3, %r3, 8;\n"
      "  setp.eq.u32 %p1, %k, 0; and.pred %p1, %p1, %p8; setp.eq.u32 %p2, %t, 32; setp.eq.u32 %p3, %t, 64;\n";
  for (int round = 0; round < 3; ++round) {
    for (const int offset : {8, 16})
      if (round) k.body += wait("%p1", offset, (round - 1) % 2, ".acquire.cluster");
    k.body +=
        "  @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 16;\n"
        "  @%p1 clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.multicast::cluster::all"
        ".b128 [%s], [%b];\n" +
        wait("%p2", 0, round % 2) +
        "  @%p2 ld.shared.u32 %r4, [%s];\n  @%p2 fence.proxy.async.shared::cta;\n"
        "  @%p2 st.shared.u32 [%s+64], %r4;\n  @%p2 mbarrier.arrive.shared.b64 _, [%b+24];\n" +
        wait("%p3", 24, round % 2) +
        "  @%p3 ld.shared.u32 %r5, [%s+64];\n"
        "  @%p3 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n";
  }
  using Mode = CompletionOrder::Mode;
  for (const CompletionOrder& order : {CompletionOrder{Mode::timed, 0}, {Mode::late, 0}, {Mode::seeded, 1}}) {
    k.order = order;
    size_t notes = 0;
    for (const Diagnosis& d : k.diagnoses()) {
      if (d.code == "clc-after-failure") continue;  // of the last clusters
      EXPECT_EQ(d.severity, Severity::note) << diagnosis::render(d);
      notes += d.code == "data-race";
    }
    EXPECT_EQ(notes, 1u) << "what was read of the last answer's tile";
  }
}

// Its part of a multicast has landed, another CTA's has not: a CTA may read, and end.
TEST(CopyRaces, AMulticastLandsInEachCtaByItself) {
  const std::string copies =
      "  @%p8 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 512;\n"
      "  barrier.cluster.arrive; barrier.cluster.wait;\n  mad.lo.u32 %r0, %k, 256, %s; mov.u32 %r1, 3; cvt.u16.u32 "
      "%rs0, %r1;\n"
      "  @%p8 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r0], [%i], 256, "
      "[%b], %rs0;\n";
  const std::string read = "  ld.shared.u32 %r1, [%s+8]; ld.shared.u32 %r2, [%s+264];\n";
  EXPECT_THAT(found("  .reg .b16 %rs0;\n" + copies + wait(kAll) + read + "  ret;\n", 2), IsEmpty());
  Kernel early;
  early.ctas = 2;
  early.body = "  .reg .b16 %rs0;\n" + copies + read + wait(kAll) + "  ret;\n";
  EXPECT_FALSE(early.findings().empty());
}

}  // namespace
}  // namespace tinygpu::test::copies_test
