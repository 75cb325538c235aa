// Happens-before over shared memory between threads: each edge with what it orders (clean), and without it (told, with
// both places).
#include "tests/check/kernel.h"

namespace tinygpu::test::shared_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> found(const std::string& body, uint32_t ctas = 1, uint32_t threads = 64) {
  Kernel k;
  k.body = body;
  k.ctas = ctas;
  k.threads = threads;
  return k.findings();
}

const std::string kStore = "  @%p8 st.shared.u32 [%s], %t;\n";
const std::string kLoad = "  @%p11 ld.shared.u32 %r1, [%s];\n";
const std::string kRace = race("data-race", "ld.shared.u32 %r1, [%s];", "st.shared.u32 [%s], %t;");

TEST(SharedRaces, BarrierOfThreads) {
  EXPECT_THAT(found(kStore + "  bar.sync 0;\n" + kLoad), IsEmpty());
  EXPECT_THAT(found(kStore + kLoad), ElementsAre(kRace));
  // Reads count, too.
  EXPECT_THAT(found("  @%p11 ld.shared.u32 %r1, [%s];\n  @%p8 st.shared.u32 [%s], %t;"),
              ElementsAre(race("data-race", "st.shared.u32 [%s], %t;", "ld.shared.u32 %r1, [%s];")));
  EXPECT_THAT(found("  @%p11 ld.shared.u32 %r1, [%s];\n  bar.sync 0;\n  @%p8 st.shared.u32 [%s], %t;"), IsEmpty());
  // Two reads are no race; other bytes are other memory.
  EXPECT_THAT(found("  ld.shared.u32 %r1, [%s];\n  ld.shared.u32 %r1, [%s];"), IsEmpty());
  EXPECT_THAT(found("  @%p8 st.shared.u16 [%s], 1;\n  @%p11 ld.shared.u16 %r1, [%s+2];"), IsEmpty());
}

TEST(SharedRaces, AnArriveGivesAndReceivesNothing) {
  const std::string arrives = "  @%p10 bar.arrive 1, 64;\n  @%p11 bar.sync 1, 64;\n";
  EXPECT_THAT(found(kStore + arrives + kLoad), IsEmpty());
  EXPECT_THAT(found("  @%p11 st.shared.u32 [%s], %t;\n" + arrives + "  @%p8 ld.shared.u32 %r1, [%s];\n"),
              ElementsAre(race("data-race", "ld.shared.u32 %r1, [%s];", "st.shared.u32 [%s], %t;")));
  // Another barrier number orders others.
  EXPECT_THAT(found(kStore + "  @%p10 bar.sync 1, 32;\n  @%p11 bar.sync 2, 32;\n" + kLoad), ElementsAre(kRace));
}

// Lane 0 arrives for its warp: what the others have read is not handed over unless they have met.
TEST(SharedRaces, AnArriveSpeaksForItsOwnLane) {
  const auto told = [](const std::string& meet) {
    return found("  mad.lo.u32 %r0, %l, 4, %s;\n  @%p10 ld.shared.u32 %r1, [%r0];\n" + meet +
                 "  @%p8 mbarrier.arrive.shared.b64 _, [%b];\n" + wait("%p11") + "  @%p11 st.shared.u32 [%r0], 0;\n");
  };
  EXPECT_THAT(told("  bar.warp.sync -1;\n"), IsEmpty());
  const std::string missing = race("lane-order-missing", "st.shared.u32 [%r0], 0;", "ld.shared.u32 %r1, [%r0];");
  EXPECT_THAT(told(""), ElementsAre(missing));
  EXPECT_THAT(told("  fence.proxy.async.shared::cta;\n"), ElementsAre(missing)) << "a fence is no meeting";
}

TEST(SharedRaces, BytesThatNobodyHasWritten) {
  const auto told = [](const std::string& body) {
    Kernel k;
    k.body = body;
    k.unwritten = true;
    return found_in_all_orders(k);
  };
  EXPECT_THAT(told("  @%p8 st.shared.u32 [%s], 1;\n  @%p8 ld.shared.u32 %r1, [%s];\n"), IsEmpty());
  EXPECT_THAT(told("  @%p8 st.shared.u32 [%s], 1;\n  @%p8 ld.shared.u64 %rd1, [%s];\n"),
              ElementsAre("shared-uninitialised: ld.shared.u64 %rd1, [%s]"));
  EXPECT_THAT(told("  @%p8 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 16;\n  @%p8 cp.async.bulk.shared::cluster."
                   "global.mbarrier::complete_tx::bytes [%s], [%i], 16, [%b];\n" +
                   wait("%p12") + "  ld.shared.u32 %r1, [%s+12];\n"),
              IsEmpty());
}

// Who may still be reached by others of the cluster stays until they are done.
TEST(SharedRaces, ACtaThatLeavesEarly) {
  const auto told = [](const std::string& access, const std::string& behind) {
    Kernel k;
    k.ctas = 2;
    k.body =
        "  xor.b32 %r4, %k, 1; mapa.shared::cluster.u32 %r2, %s, %r4; mapa.shared::cluster.u32 %r3, %b, %r4;\n"
        "  setp.eq.u32 %p1, %k, 0; and.pred %p2, %p1, %p8;\n  @%p2 " +
        access + behind;
    return found_in_all_orders(k);
  };
  const std::string meets = "  barrier.cluster.arrive; barrier.cluster.wait;\n";
  const std::string leaves = "  @!%p1 nanosleep.u32 20000;\n  ret;\n";  // it comes before the kernel's last barrier
  for (const char* access :
       {"st.shared::cluster.u32 [%r2], 1;\n", "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r3];\n"}) {
    EXPECT_THAT(told(access, meets), IsEmpty()) << access;
    EXPECT_THAT(told(access, leaves), ElementsAre(::testing::StartsWith("exit-with-remote-access: "))) << access;
  }
  // Who has waited for them may leave; known kernels name no scope.
  const std::string waits = "  setp.ne.u32 %p3, %k, 0;\n" + wait("%p3");
  for (const char* form : {"", ".release.cluster"})
    EXPECT_THAT(told(std::string("mbarrier.arrive") + form + ".shared::cluster.b64 _, [%r3];\n", waits + leaves),
                IsEmpty())
        << form;
}

TEST(SharedRaces, LanesOfAWarpAreThreads) {
  const std::string store = "  @%p8 st.shared.u32 [%s], %t;\n", load = "  @%p10 ld.shared.u32 %r1, [%s];\n";
  const std::string told = race("lane-order-missing", "ld.shared.u32 %r1, [%s];", "st.shared.u32 [%s], %t;");
  EXPECT_THAT(found(store + "  bar.warp.sync -1;\n" + load), IsEmpty());
  EXPECT_THAT(found(store + load), ElementsAre(told));
  for (const char* no_edge : {"shfl.sync.idx.b32 %r2, %t, 0, 31, -1;", "vote.sync.any.pred %p1, %p8, -1;",
                              "redux.sync.add.u32 %r2, %t, -1;", "elect.sync _|%p1, -1;"})
    EXPECT_THAT(found(store + "  " + no_edge + "\n" + load), ElementsAre(told)) << no_edge;
  // A lane knows what it has done itself.
  EXPECT_THAT(found("  mad.lo.u32 %r0, %t, 4, %s; st.shared.u32 [%r0], %t; ld.shared.u32 %r1, [%r0];"), IsEmpty());
  EXPECT_THAT(found("  mad.lo.u32 %r0, %t, 20, %s; st.shared.u32 [%r0], %t; ld.shared.u32 %r1, [%r0];"), IsEmpty());
  // Its neighbour's word is another's.
  EXPECT_THAT(
      found("  mad.lo.u32 %r0, %l, 4, %s; @%p10 st.shared.u32 [%r0], %t; xor.b32 %r0, %r0, 4; @%p10 ld.shared.u32 "
            "%r1, [%r0];"),
      ElementsAre(race("lane-order-missing", "@%p10 ld.shared.u32 %r1, [%r0];", "@%p10 st.shared.u32 [%r0], %t;")));
  // Masks: only members meet.
  EXPECT_THAT(
      found("  setp.lt.u32 %p1, %t, 2;\n" + store + "  @%p1 bar.warp.sync 3;\n  @%p1 ld.shared.u32 %r1, [%s];\n"),
      IsEmpty());
  EXPECT_THAT(found("  setp.lt.u32 %p1, %t, 2; setp.eq.u32 %p2, %t, 2;\n" + store +
                    "  @%p1 bar.warp.sync 3;\n  @%p2 ld.shared.u32 %r1, [%s];\n"),
              ElementsAre(told));
}

TEST(SharedRaces, MbarrierArriveAndWait) {
  const std::string arrive = "  @%p8 mbarrier.arrive.shared.b64 _, [%b];\n";
  EXPECT_THAT(found(kStore + arrive + wait("%p11", 0, 0) + kLoad), IsEmpty());
  EXPECT_THAT(found(arrive + kStore + wait("%p11", 0, 0) + kLoad), ElementsAre(kRace)) << "after the arrive";
  EXPECT_THAT(found(kStore + arrive + kLoad + wait("%p11", 0, 0)), ElementsAre(kRace)) << "before the wait";
  // Relaxed on either side orders nothing; with fences around it does.
  const std::string lost = race("scope-too-narrow", "ld.shared.u32 %r1, [%s];", "st.shared.u32 [%s], %t;");
  const std::string relaxed = "  @%p8 mbarrier.arrive.relaxed.cta.shared.b64 _, [%b];\n";
  EXPECT_THAT(found(kStore + relaxed + wait("%p11", 0, 0) + kLoad), ElementsAre(lost));
  EXPECT_THAT(found(kStore + arrive + wait("%p11", 0, 0, ".relaxed.cta") + kLoad), ElementsAre(lost));
  EXPECT_THAT(found(kStore + "  @%p8 fence.release.cta;\n" + relaxed + wait("%p11", 0, 0) + kLoad), IsEmpty());
  EXPECT_THAT(found(kStore + arrive + wait("%p11", 0, 0, ".relaxed.cta") + "  fence.acquire.cta;\n" + kLoad),
              IsEmpty());
}

TEST(SharedRaces, OneLaneArrivesForTheOthers) {
  const std::string store = "  mad.lo.u32 %r0, %l, 4, %s; @%p10 st.shared.u32 [%r0], %t;\n";
  const std::string load = "  @%p11 ld.shared.u32 %r1, [%s+64];\n";
  const std::string arrive = "  @%p8 mbarrier.arrive.shared.b64 _, [%b];\n";
  const std::string told = race("lane-order-missing", "ld.shared.u32 %r1, [%s+64];", "st.shared.u32 [%r0], %t;");
  EXPECT_THAT(found(store + "  bar.warp.sync -1;\n" + arrive + wait("%p11", 0, 0) + load), IsEmpty());
  EXPECT_THAT(found(store + arrive + wait("%p11", 0, 0) + load), ElementsAre(told));
  // Every lane for itself.
  EXPECT_THAT(found(store + "  @%p10 mbarrier.arrive.shared.b64 _, [%b+32];\n" + wait("%p11", 32, 0) + load),
              IsEmpty());
  // One lane waits, the others read.
  EXPECT_THAT(
      found("  @%p8 st.shared.u32 [%s+64], %t;\n" + arrive + "  setp.eq.u32 %p1, %t, 32;\n" + wait("%p1", 0, 0) + load),
      ElementsAre(race("data-race", "ld.shared.u32 %r1, [%s+64];", "st.shared.u32 [%s+64], %t;")));
  EXPECT_THAT(found("  @%p8 st.shared.u32 [%s+64], %t;\n" + arrive + "  setp.eq.u32 %p1, %t, 32;\n" +
                    wait("%p1", 0, 0) + "  bar.warp.sync -1;\n" + load),
              IsEmpty());
}

// All lanes store the same, and one arrives: whichever of them the reader sees, it sees the value.
TEST(SharedRaces, LanesThatStoreOneValueAreANote) {
  const auto severities = [](const std::string& store, const std::string& read = "  @%p11 ld.shared.u32 %r1, [%s];\n") {
    Kernel k;
    k.body = store + "  @%p8 mbarrier.arrive.shared.b64 _, [%b];\n" + wait("%p11", 0, 0) + read;
    std::vector<std::string> out;
    for (const Diagnosis& d : k.diagnoses())
      if (d.code == "lane-order-missing")
        out.push_back(d.severity == Severity::error ? "error" : d.severity == Severity::warning ? "warning" : "note");
    return out;
  };
  EXPECT_THAT(severities("  @%p10 st.shared.u32 [%s], 7;\n"), ElementsAre("note"));
  EXPECT_THAT(severities("  @%p10 st.shared.u32 [%s], %w;\n"), ElementsAre("note"));
  EXPECT_THAT(severities("  @%p10 st.shared.v2.u32 [%s], {%w, %r15};\n"), ElementsAre("note"));
  EXPECT_THAT(severities("  @%p10 st.shared.u32 [%s], %l;\n"), ElementsAre("error")) << "other values";
  EXPECT_THAT(severities("  @%p10 st.shared.v2.u32 [%s], {%w, %l};\n"), ElementsAre("error"));
  // A lane that has stored it itself may read it.
  EXPECT_THAT(severities("  @%p10 st.shared.u32 [%s], 7;\n  @%p10 ld.shared.u32 %r2, [%s];\n", ""),
              ElementsAre("note"));
}

// The end of a copy tells of that copy, not of what its thread had stored before: scopes have nothing to do with it.
TEST(SharedRaces, WhatAScopeThatIsTooNarrowMeansIsSaid) {
  const auto message = [](const std::string& between) {
    Kernel k;
    k.body = kStore + between + kLoad;
    for (const Diagnosis& d : k.diagnoses())
      if (d.severity == Severity::error) return d.code + ": " + d.message;
    return std::string();
  };
  const std::string relaxed = message("  @%p8 mbarrier.arrive.relaxed.cta.shared.b64 _, [%b];\n" + wait("%p11", 0, 0));
  EXPECT_THAT(relaxed, ::testing::AllOf(::testing::StartsWith("scope-too-narrow"), ::testing::HasSubstr("is .relaxed"),
                                        ::testing::Not(::testing::HasSubstr("both threads"))));
}

TEST(SharedRaces, ARingOfPhases) {
  // Warp 0 fills, warp 1 empties, three rounds; the first wait for `empty` passes by itself.
  const auto ring = [](bool reads_first) {
    const std::string read = "  @%p11 ld.shared.u32 %r1, [%s];\n  bar.warp.sync -1;\n";
    const std::string empty = "  @%p1 mbarrier.arrive.shared.b64 _, [%b+8];\n";
    std::string body = "  setp.eq.u32 %p1, %t, 32;\n";
    for (int round = 0; round < 3; ++round) {
      body += wait("%p8", 8, (round + 1) % 2);
      body += "  @%p8 st.shared.u32 [%s], %t;\n  @%p8 mbarrier.arrive.shared.b64 _, [%b];\n";
      body += wait("%p11", 0, round % 2) + (reads_first ? read + empty : empty + read);
    }
    return found(body);
  };
  EXPECT_THAT(ring(true), IsEmpty());
  EXPECT_FALSE(ring(false).empty()) << "given back before it is read";
}

TEST(SharedRaces, ClusterBarrier) {
  const std::string store =
      "  mapa.shared::cluster.u32 %r2, %s, 1; setp.eq.u32 %p1, %k, 0; and.pred %p1, %p1, %p8;\n"
      "  @%p1 st.shared::cluster.u32 [%r2], %t;\n";
  const std::string load = "  setp.eq.u32 %p2, %k, 1; @%p2 ld.shared.u32 %r1, [%s];\n";
  const std::string told = race("data-race", "ld.shared.u32 %r1, [%s];", "st.shared::cluster.u32 [%r2], %t;");
  EXPECT_THAT(found(store + "  barrier.cluster.arrive; barrier.cluster.wait;\n" + load, 2), IsEmpty());
  EXPECT_THAT(found(store + "  bar.sync 0;\n" + load, 2), ElementsAre(told));
  EXPECT_THAT(found("  barrier.cluster.arrive;\n" + store + "  barrier.cluster.wait;\n" + load, 2), ElementsAre(told));
  const std::string relaxed = "  barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n";
  EXPECT_THAT(found(store + relaxed + load, 2),
              ElementsAre(race("scope-too-narrow", "ld.shared.u32 %r1, [%s];", "st.shared::cluster.u32 [%r2], %t;")));
  EXPECT_THAT(found(store + "  fence.acq_rel.cluster;\n" + relaxed + load, 2), IsEmpty());
}

// Nothing promises it, but Triton's pairs of CTAs hand operands over so, and an H200 has all that CTAs store into their
// own shared memory. Of what they store into each other's it is late (2026-11-28).
TEST(SharedRaces, ARelaxedBarrierHandsOverOwnSharedMemoryWithAWarning) {
  const auto told = [](const std::string& store, const std::string& arrive, const std::string& read) {
    Kernel k;
    k.body =
        "  xor.b32 %r3, %k, 1; mapa.shared::cluster.u32 %r2, %s, %r3; setp.eq.u32 %p1, %k, 1;\n"
        "  and.pred %p1, %p1, %p8; setp.eq.u32 %p2, %k, 0; and.pred %p2, %p2, %p8;\n  @%p1 " +
        store + "\n  barrier.cluster.arrive" + arrive + "; barrier.cluster.wait;\n  @%p2 " + read + "\n";
    k.ctas = 2;
    std::vector<std::string> out;
    for (const Diagnosis& d : k.diagnoses())
      if (d.severity != Severity::note && d.code != "shared-uninitialised")
        out.push_back(d.code + (d.severity == Severity::error ? " error: " : " warning: ") + d.message);
    return out;
  };
  const std::string own = "st.shared.u32 [%s], %t;", theirs = "st.shared::cluster.u32 [%r2], %t;";
  const std::string read_theirs = "ld.shared::cluster.u32 %r1, [%r2];", read_own = "ld.shared.u32 %r1, [%s];";
  EXPECT_THAT(told(own, ".relaxed", read_theirs),
              ElementsAre(::testing::AllOf(::testing::StartsWith("scope-too-narrow warning: "),
                                           ::testing::HasSubstr("barrier.cluster.arrive.relaxed"),
                                           ::testing::HasSubstr("Triton's matmuls of CTA pairs"))));
  EXPECT_THAT(told(theirs, ".relaxed", read_own), ElementsAre(::testing::StartsWith("scope-too-narrow error: ")));
  EXPECT_THAT(told("st.global.u32 [%o], %t;", ".relaxed", "ld.global.u32 %r1, [%o];"),
              ElementsAre(::testing::StartsWith("scope-too-narrow error: ")));
  EXPECT_THAT(told(own, ".release", read_theirs), IsEmpty());
}

TEST(SharedRaces, RemoteArriveNeedsTheClustersScope) {
  const std::string store =
      "  mapa.shared::cluster.u32 %r2, %s, 1; mapa.shared::cluster.u32 %r3, %b, 1;\n"
      "  setp.eq.u32 %p1, %k, 0; and.pred %p1, %p1, %p8; setp.eq.u32 %p2, %k, 1;\n"
      "  @%p1 st.shared::cluster.u32 [%r2], %t;\n";
  const std::string load = "  @%p2 ld.shared.u32 %r1, [%s];\n";
  const std::string lost = race("scope-too-narrow", "ld.shared.u32 %r1, [%s];", "st.shared::cluster.u32 [%r2], %t;");
  const auto arrive = [](const std::string& form) {
    return "  @%p1 mbarrier.arrive" + form + ".shared::cluster.b64 _, [%r3];\n";
  };
  const std::string release = arrive(".release.cluster"), acquire = wait("%p2", 0, 0, ".acquire.cluster");
  EXPECT_THAT(found(store + release + acquire + load, 2), IsEmpty());
  EXPECT_THAT(found(store + arrive("") + acquire + load, 2), ElementsAre(lost));
  EXPECT_THAT(found(store + release + wait("%p2", 0, 0) + load, 2), ElementsAre(lost));
  // Where no scope is written known kernels rely on more than is promised; where .cta is, none does.
  const auto severity = [&](const std::string& form, const std::string& waits = wait("%p2", 0, 0, ".acquire.cluster")) {
    Kernel k;
    k.body = store + arrive(form) + waits + load;
    k.ctas = 2;
    for (const Diagnosis& d : k.diagnoses())
      if (d.code == "scope-too-narrow") return d.severity;
    return Severity::note;
  };
  EXPECT_EQ(severity(""), Severity::warning);
  EXPECT_EQ(severity(".release.cta"), Severity::error);
  EXPECT_EQ(severity(".release.cluster", wait("%p2")), Severity::warning);
  EXPECT_EQ(severity("", wait("%p2")), Severity::warning);
  EXPECT_EQ(severity(".release.cluster", wait("%p2", 0, 0, ".acquire.cta")), Severity::error);
}

TEST(SharedRaces, LanesThatMeetAtAnInstructionAlone) {
  // All lanes of warp 0 read, one arrives for them, warp 1 writes.
  const auto ring = [](const std::string& access, const std::string& meet) {
    Kernel k;
    k.body = "  mov.b32 %r9, 0;\n  @!%p10 bra OTHER;\n  mad.lo.u32 %r4, %l, 4, %s;\n  " + access + "\n" + meet +
             "  @%p9 mbarrier.arrive.shared.b64 _, [%b];\nOTHER:\n" + wait("%p11") +
             "  @%p11 st.shared.u32 [%s+8], %t;\n";
    k.hopper = true;
    k.threads = 128;
    std::vector<std::string> out;
    for (const Diagnosis& d : k.diagnoses())
      if (d.severity != Severity::note && d.code != "shared-uninitialised")
        out.push_back(d.code + (d.severity == Severity::error ? " error" : " warning"));
    return out;
  };
  const std::string load = "ld.shared.u32 %r1, [%r4];", store = "st.shared.u32 [%r4], %t;";
  const std::string met = "  wgmma.fence.sync.aligned;\n";
  EXPECT_THAT(ring(load, "  bar.warp.sync -1;\n"), IsEmpty());
  EXPECT_THAT(ring(load, ""), ElementsAre("lane-order-missing error"));
  EXPECT_THAT(ring(load, met), ElementsAre("lane-order-missing warning"));
  EXPECT_THAT(ring(store, met), ElementsAre("lane-order-missing error"));
}

TEST(SharedRaces, AnMbarrierEndsBehindItsWaits) {
  const std::string used = "  @%p8 mbarrier.arrive.shared.b64 _, [%b];\n" + wait("%p12"),
                    inval = "  @%p8 nanosleep.u32 1000; @%p8 mbarrier.inval.shared.b64 [%b];\n";
  EXPECT_THAT(found(used + "  bar.sync 0;\n" + inval), IsEmpty());
  EXPECT_THAT(found(used + inval), ElementsAre(::testing::AllOf(::testing::StartsWith("data-race: "),
                                                                ::testing::HasSubstr("mbarrier.inval"))));
}

TEST(SharedRaces, FlagsByReleaseAndAcquire) {
  const auto flag = [](const std::string& st, const std::string& ld) {
    return found(kStore + "  @%p8 " + st + " [%s+64], 1;\n  @!%p11 bra DONE;\nL: " + ld +
                 " %r2, [%s+64]; setp.ne.u32 %p1, %r2, 1; @%p1 bra L;\n" + kLoad + "DONE:\n");
  };
  // Shared memory holds ones everywhere at the start; the flag is 1.
  EXPECT_THAT(flag("st.release.cta.shared.u32", "ld.acquire.cta.shared.u32"), IsEmpty());
  EXPECT_THAT(flag("st.relaxed.cta.shared.u32", "ld.acquire.cta.shared.u32"), ElementsAre(kRace));
  EXPECT_THAT(flag("st.release.cta.shared.u32", "ld.relaxed.cta.shared.u32"),
              ElementsAre(race("scope-too-narrow", "ld.shared.u32 %r1, [%s];", "st.shared.u32 [%s], %t;")));
  EXPECT_THAT(flag("fence.acq_rel.cta; @%p8 st.relaxed.cta.shared.u32", "ld.acquire.cta.shared.u32"), IsEmpty());
  // What the first look and later ones read races by itself.
  EXPECT_THAT(flag("st.shared.u32", "ld.shared.u32"), ::testing::SizeIs(::testing::Ge(2))) << "the flag races, too";
}

TEST(SharedRaces, AtomicsAreStrongAmongEachOther) {
  EXPECT_THAT(found("  atom.shared.add.u32 %r1, [%s], 1;"), IsEmpty());
  EXPECT_THAT(
      found("  @%p8 st.shared.u32 [%s], 0;\n  bar.sync 0;\n  red.shared.add.u32 [%s], 1;\n  bar.sync 0;\n" + kLoad),
      IsEmpty());
  EXPECT_THAT(found("  red.shared.add.u32 [%s], 1;\n" + kLoad),
              ::testing::Contains(race("data-race", "ld.shared.u32 %r1, [%s];", "red.shared.add.u32 [%s], 1;")));
  EXPECT_THAT(
      found("  @%p10 atom.shared.add.u32 %r1, [%s], 1;\n  @%p11 red.shared.add.u64 [%s], 1;"),
      ElementsAre(race("data-race", "@%p11 red.shared.add.u64 [%s], 1;", "@%p10 atom.shared.add.u32 %r1, [%s], 1;")))
      << "other bytes";
}

TEST(SharedRaces, InitialisationIsPublished) {
  const std::string init = "  @%p8 mbarrier.init.shared.b64 [%s], 1;\n";
  const std::string use = "  setp.eq.u32 %p1, %t, 32; @%p1 mbarrier.arrive.shared.b64 _, [%s];\n";
  EXPECT_THAT(found(init + "  bar.sync 0;\n" + use), IsEmpty());
  const std::string later = "  @!%p8 nanosleep.u32 500;\n";  // behind the initialisation in time; orders nothing
  EXPECT_THAT(found(init + later + use),
              ElementsAre(race("mbarrier-init-not-published", "mbarrier.arrive.shared.b64 _, [%s];",
                               "mbarrier.init.shared.b64 [%s], 1;")));
  // The other lanes of its own warp have to meet it as well.
  const std::string own =
      "  @%p8 mbarrier.arrive.shared.b64 _, [%s];\n  @!%p10 bra D;\n" +
      std::string("L: mbarrier.try_wait.parity.shared::cta.b64 %p0, [%s], 0;\n  @!%p0 bra L;\nD:\n");
  EXPECT_THAT(found(init + "  bar.warp.sync -1;\n" + own), IsEmpty());
  EXPECT_THAT(found(init + own), ElementsAre(::testing::StartsWith("mbarrier-init-not-published: mbarrier.try_wait")));
  const std::string remote =
      "  mapa.shared::cluster.u32 %r2, %s, 1; setp.eq.u32 %p1, %k, 0; and.pred %p1, %p1, %p8;\n"
      "  @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];\n";
  const std::string relaxed = "  barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n";
  EXPECT_THAT(found(init + "  @%p8 fence.mbarrier_init.release.cluster;\n" + relaxed + remote, 2), IsEmpty());
  EXPECT_THAT(found(init + relaxed + remote, 2).size(), 1u);
  // It is sent before the other CTA has initialised, and comes behind that: a pause orders nothing.
  const std::string late =
      "  setp.eq.u32 %p2, %k, 1; mapa.shared::cluster.u32 %r2, %s, 1; setp.eq.u32 %p1, %k, 0; "
      "and.pred %p1, %p1, %p8; and.pred %p2, %p2, %p8;\n"
      "  @%p1 mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];\n"
      "  @%p2 mbarrier.init.shared.b64 [%s], 1;\n  @%p2 fence.mbarrier_init.release.cluster;\n";
  EXPECT_THAT(found(late, 2), ElementsAre(race("mbarrier-init-not-published",
                                               "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];",
                                               "mbarrier.init.shared.b64 [%s], 1;")));
}

}  // namespace
}  // namespace tinygpu::test::shared_test
