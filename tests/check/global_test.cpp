// Happens-before over global memory: barriers, flags, atomics and fences by scope, between CTAs.
#include <algorithm>

#include "common/tinygpu/check/unwritten_memory.h"
#include "tests/check/kernel.h"

namespace tinygpu::test::global_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> found(const std::string& body, uint32_t ctas = 1, uint32_t clusters = 1) {
  Kernel k;
  k.body = body;
  k.ctas = ctas;
  k.clusters = clusters;
  return k.findings();
}

TEST(GlobalRaces, BarrierOfThreads) {
  const std::string store = "  @%p8 st.global.u32 [%o], %t;\n", load = "  @%p11 ld.global.u32 %r1, [%o];\n";
  EXPECT_THAT(found(store + "  bar.sync 0;\n" + load), IsEmpty());
  EXPECT_THAT(found(store + load),
              ElementsAre(race("data-race", "ld.global.u32 %r1, [%o];", "st.global.u32 [%o], %t;")));
}

/// Thread 0 of CTA 0 writes and raises a flag at %o + 64; thread 0 of CTA 1 waits for it and reads.
std::vector<std::string> flag(const std::string& raise, const std::string& look, uint32_t ctas, uint32_t clusters,
                              const std::string& behind = "") {
  return found(
      "  mov.u32 %r5, %ctaid.x; setp.eq.u32 %p1, %r5, 0; and.pred %p1, %p1, %p8; setp.eq.u32 %p2, %r5, 1; "
      "and.pred %p2, %p2, %p8;\n"
      "  @%p1 st.global.u32 [%o], %t;\n  @%p1 " +
          raise + " [%o+64], 1;\n  @!%p2 bra DONE;\nL: " + look +
          " %r2, [%o+64]; setp.ne.u32 %p3, %r2, 1; @%p3 bra L;\n" + behind + "  ld.global.u32 %r1, [%o];\nDONE:\n",
      ctas, clusters);
}

TEST(GlobalRaces, FlagsOfTheRightScope) {
  const std::string lost = race("scope-too-narrow", "ld.global.u32 %r1, [%o];", "@%p1 st.global.u32 [%o], %t;");
  EXPECT_THAT(flag("st.release.gpu.global.u32", "ld.acquire.gpu.global.u32", 1, 2), IsEmpty());
  EXPECT_THAT(flag("st.release.sys.global.u32", "ld.acquire.sys.global.u32", 1, 2), IsEmpty());
  EXPECT_THAT(flag("st.release.cluster.global.u32", "ld.acquire.cluster.global.u32", 2, 1), IsEmpty());
  EXPECT_THAT(flag("st.release.gpu.global.u32", "ld.relaxed.gpu.global.u32", 1, 2), ElementsAre(lost));
  EXPECT_THAT(flag("st.release.gpu.global.u32", "ld.relaxed.gpu.global.u32", 1, 2, "  fence.acquire.gpu;\n"),
              IsEmpty());
  EXPECT_THAT(flag("fence.acq_rel.gpu; @%p1 st.relaxed.gpu.global.u32", "ld.acquire.gpu.global.u32", 1, 2), IsEmpty());
  EXPECT_THAT(flag("red.release.gpu.global.add.u32", "ld.acquire.gpu.global.u32", 1, 2), IsEmpty());
  EXPECT_THAT(flag("st.async.release.gpu.global.u32", "ld.acquire.gpu.global.u32", 1, 2), IsEmpty());
  // The flag itself races where a scope leaves the other one out, or an access is weak.
  EXPECT_THAT(flag("st.release.cluster.global.u32", "ld.acquire.gpu.global.u32", 1, 2), ::testing::Contains(lost));
  EXPECT_EQ(flag("st.volatile.global.u32", "ld.volatile.global.u32", 1, 2).size(), 1u);
}

/// Thread 0 of CTA 0 stores words, and thread 0 of CTA 1 reads them, both without any order.
std::vector<std::string> beside_each_other(const std::string& store, const std::string& load) {
  return found(
      "  mov.u32 %r5, %ctaid.x; setp.eq.u32 %p1, %r5, 0; and.pred %p1, %p1, %p8; setp.eq.u32 %p2, %r5, 1; "
      "and.pred %p2, %p2, %p8;\n  @%p1 " +
          store + "\n  @%p2 " + load + "\n",
      1, 2);
}

TEST(GlobalRaces, AVectorIsAnAccessOfEachElement) {
  const std::string words = "st.relaxed.gpu.global.v2.u32 [%o+8], {%t, %t};";
  EXPECT_THAT(beside_each_other(words, "ld.relaxed.gpu.global.v4.u32 {%r1, %r2, %r3, %r4}, [%o];"), IsEmpty());
  EXPECT_THAT(beside_each_other(words, "ld.relaxed.gpu.global.u32 %r1, [%o+12];"), IsEmpty());
  // Neither is an access of the whole other one's bytes.
  EXPECT_EQ(beside_each_other(words, "ld.relaxed.gpu.global.u64 %rd1, [%o+8];").size(), 1u);
  EXPECT_EQ(beside_each_other(words, "ld.relaxed.gpu.global.v2.u64 {%rd1, %rd2}, [%o];").size(), 1u);
}

TEST(GlobalRaces, NoOrderReachesALoadThroughTheReadOnlyCache) {
  const std::string store = "  @%p8 st.global.u32 [%o], %t;\n", load = "  @%p11 ld.global.nc.u32 %r1, [%o];\n";
  const std::string told = race("read-only-written", "ld.global.nc.u32 %r1, [%o];", "st.global.u32 [%o], %t;");
  EXPECT_THAT(found(store + "  bar.sync 0;\n" + load), ElementsAre(told));
  EXPECT_THAT(found(store + "  @%p8 ld.global.nc.u32 %r1, [%o];\n"), ElementsAre(told)) << "of the thread itself";
  EXPECT_THAT(found(store + "  bar.sync 0;\n  @%p11 ld.global.nc.u32 %r1, [%o+4];\n"), IsEmpty()) << "other bytes";
  EXPECT_THAT(found(load + "  bar.sync 0;\n" + store), IsEmpty()) << "read before it is written";
  EXPECT_THAT(found(store + load),
              ElementsAre(race("data-race", "ld.global.nc.u32 %r1, [%o];", "st.global.u32 [%o], %t;")));
  EXPECT_THAT(flag("st.release.gpu.global.u32", "ld.acquire.gpu.global.u32", 1, 2, "  ld.global.nc.u32 %r1, [%o];\n"),
              ElementsAre(race("read-only-written", "ld.global.nc.u32 %r1, [%o];", "@%p1 st.global.u32 [%o], %t;")));
}

TEST(GlobalRaces, AtomicsPassReleasesOn) {
  // Three CTAs count up; the last one reads what all have written.
  const auto last = [](const std::string& atom) {
    return found(
        "  mov.u32 %r5, %ctaid.x; mad.wide.u32 %rd0, %r5, 4, %o;\n  @!%p8 bra DONE;\n"
        "  st.global.u32 [%rd0+128], %r5;\n  " +
            atom + " %r2, [%o], 1; setp.ne.u32 %p1, %r2, 2; @%p1 bra DONE;\n" +
            "  ld.global.u32 %r1, [%o+128]; ld.global.u32 %r1, [%o+132]; ld.global.u32 %r1, [%o+136];\nDONE:\n",
        1, 3);
  };
  EXPECT_THAT(last("atom.acq_rel.gpu.global.add.u32"), IsEmpty());
  EXPECT_FALSE(last("atom.relaxed.gpu.global.add.u32").empty());
  EXPECT_FALSE(last("atom.acq_rel.cta.global.add.u32").empty());
  EXPECT_THAT(last("fence.sc.gpu; atom.acquire.gpu.global.add.u32"), IsEmpty());
}

/// A grid that writes %o and lets the next one start, and that one, which does `dependent`: as a programmatic launch.
std::vector<std::string> grids(const std::string& primary, const std::string& dependent, bool programmatic = true) {
  const auto kernel = [](const std::string& name, const std::string& body) {
    return ".visible .entry " + name +
           "(.param .u64 out) { .reg .b64 %o; .reg .b32 %r<4>; .reg .pred %p; mov.u32 %r0, %tid.x; "
           "setp.eq.u32 %p, %r0, 0; ld.param.u64 %o, [out];\n" +
           body + "\nret; }\n";
  };
  RunPtx run(kernel("first", primary) + kernel("second", dependent));
  run.checks = checks::AllChecks(checks::Level::races);
  const uint64_t out = run.upload(std::vector<uint32_t>(64));
  if (programmatic) {
    run.launch_dependent(run.config("first", {2}, {64}, out), run.config("second", {2}, {64}, out));
  } else {
    run.launch("first", {2}, {64}, out);
    run.launch("second", {2}, {64}, out);
  }
  std::vector<std::string> told;
  for (const Diagnosis& d : run.reports)
    told.push_back(d.others.empty() ? d.code : race(d.code, d.where.ptx_text, d.others[0].where.ptx_text));
  return told;
}

TEST(GlobalRaces, AGridThatStartsBesideTheOneBefore) {
  const std::string lets = "griddepcontrol.launch_dependents;\n", waits = "griddepcontrol.wait;\n";
  const std::string store = "@%p st.global.u32 [%o], %r0;\n", load = "ld.global.u32 %r1, [%o];\n";
  const std::string told = race("data-race", "ld.global.u32 %r1, [%o];", "@%p st.global.u32 [%o], %r0;");
  const std::string one = "mov.u32 %r3, %ctaid.x; setp.ne.u32 %p, %r3, 0; @%p exit; setp.eq.u32 %p, %r0, 0;\n";
  EXPECT_THAT(grids(one + lets + store, load), ElementsAre(told));
  EXPECT_THAT(grids(one + lets + store, waits + load), IsEmpty());
  EXPECT_THAT(grids(one + store, load), IsEmpty()) << "it lets no grid start early";
  EXPECT_THAT(grids(one + lets + store, load, false), IsEmpty()) << "an ordinary launch";
  EXPECT_THAT(grids(one + lets + store, "ld.global.u32 %r1, [%o+4];"), IsEmpty()) << "other bytes";
  // One thread waits for all that it synchronises with, and for no others.
  EXPECT_THAT(grids(one + lets + store, "@%p " + waits + "bar.sync 0;\n" + load), IsEmpty());
  EXPECT_EQ(grids(one + lets + store, "@%p " + waits + load).size(), 1u);
  // And what the grid before reads is not overwritten.
  EXPECT_THAT(grids(lets + load, one + store),
              ElementsAre(race("data-race", "@%p st.global.u32 [%o], %r0;", "ld.global.u32 %r1, [%o];")));
  // Who lets the next one start without having waited leaves two grids that may meet: that is not followed.
  EXPECT_THAT(grids(one + lets + store, lets), ElementsAre("race-check-incomplete"));
}

TEST(UnwrittenMemory, IsToldOfWhereItIsRead) {
  // 64 words, of which the host writes the first 16 and the kernel the next 16; each thread of 32 reads one.
  const auto told = [](uint32_t first) {
    RunPtx run(R"(
.visible .entry k(.param .u64 in, .param .u32 first) {
  .reg .b64 %a, %b; .reg .b32 %t, %r; .reg .pred %p;
  ld.param.u64 %a, [in]; ld.param.u32 %r, [first]; mov.u32 %t, %tid.x;
  mad.wide.u32 %b, %t, 4, %a; setp.lt.u32 %p, %t, 16; @%p st.global.u32 [%b+64], %t;
  bar.sync 0;
  add.u32 %r, %r, %t; mad.wide.u32 %b, %r, 4, %a; ld.global.u32 %r, [%b];
  ret;
})");
    checks::UnwrittenMemory check;
    run.gpu.options.observers.push_back(&check);
    const uint64_t memory = run.buffer<uint32_t>(64);
    checks::mark_unwritten(run.gpu.memory, memory, 256);
    std::memset(run.gpu.memory.translate(memory, 64), 0, 64);
    run.launch("k", {1}, {32}, memory, first);
    std::vector<std::string> messages;
    for (const Diagnosis& d : run.reports) messages.push_back(d.code + ": " + d.message);
    return messages;
  };
  EXPECT_THAT(told(0), IsEmpty());
  const auto found = told(1);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_THAT(found[0], ::testing::StartsWith("global-uninitialised: ld reads 4 bytes at global address"));
  EXPECT_THAT(found[0], ::testing::HasSubstr("byte 128 of an allocation of 256"));
}

TEST(GlobalRaces, AtomicsAreStrongAmongEachOther) {
  EXPECT_THAT(found("  red.global.add.u32 [%o], 1;", 1, 4), IsEmpty());
  EXPECT_EQ(found("  red.cta.global.add.u32 [%o], 1;", 1, 4).size(), 1u) << "a scope that leaves others out";
  EXPECT_FALSE(found("  red.global.add.u32 [%o], 1;\n  @%p8 ld.global.u32 %r1, [%o];", 1, 4).empty());
}

TEST(GlobalRaces, AReadThatCompareAndSwapLooksAtAgain) {
  const auto severities = [](const std::string& body) {
    Kernel k;
    k.body = body;
    k.clusters = 2;
    std::vector<std::string> out;
    for (const Diagnosis& d : k.diagnoses())
      if (d.severity != Severity::note) out.push_back(d.code + (d.severity == Severity::error ? " error" : " warning"));
    std::ranges::sort(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  };
  // The loop that the programming guide makes atomics of: lanes and CTAs at one word.
  EXPECT_THAT(severities("L: ld.global.u32 %r1, [%o]; add.u32 %r2, %r1, 1; atom.global.cas.b32 %r3, [%o], %r1, %r2;\n"
                         "  setp.ne.u32 %p1, %r3, %r1; @%p1 bra L;\n"),
              ElementsAre("data-race warning", "lane-order-missing warning"));
  // Three warnings hide no error of the same code.
  EXPECT_THAT(severities("  @%p8 ld.global.u32 %r1, [%o]; @%p8 ld.global.u32 %r1, [%o];\n"
                         "  @%p8 ld.global.u32 %r1, [%o]; @%p8 ld.global.u32 %r1, [%o];\n"
                         "  @%p8 atom.global.cas.b32 %r3, [%o], 0, 1; @%p8 st.global.u32 [%o+64], 0;\n"
                         "  @%p8 ld.global.u32 %r1, [%o+64];\n"),
              ElementsAre("data-race error", "data-race warning"));
  // Half of the word, and a word that is counted up.
  EXPECT_THAT(severities("  @%p8 ld.global.u16 %r1, [%o]; @%p8 atom.global.cas.b32 %r3, [%o], 0, 1;\n"),
              ElementsAre("data-race error"));
  EXPECT_THAT(severities("  @%p8 ld.global.u32 %r1, [%o]; @%p8 atom.global.add.u32 %r3, [%o], 1;\n"),
              ElementsAre("data-race error"));
}

TEST(GlobalRaces, CtasOfAGridAreNotOrdered) {
  EXPECT_EQ(found("  @%p8 st.global.u32 [%o], %t;", 1, 4).size(), 1u);
  EXPECT_THAT(found("  mov.u32 %r5, %ctaid.x; mad.lo.u32 %r5, %r5, 64, %t; mad.wide.u32 %rd0, %r5, 4, %o; "
                    "st.global.u32 [%rd0], %t;",
                    1, 4),
              IsEmpty());
}

}  // namespace
}  // namespace tinygpu::test::global_test
