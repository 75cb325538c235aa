// Happens-before over Tensor Memory, and over the operands of MMAs.
#include "tests/check/kernel.h"

namespace tinygpu::test::tensor_test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

std::vector<std::string> found(const std::string& body) {
  Kernel k;
  k.body = body;
  k.tensor = true;
  return found_in_all_orders(k);
}

const std::string kMma = "  @%p8 tcgen05.mma.cta_group::1.kind::f16 [%base], %desc, %desc, %idesc, %p13;\n";
const std::string kCommit = "  @%p8 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b];\n";
const std::string kBefore = "  tcgen05.fence::before_thread_sync;\n", kAfter = "  tcgen05.fence::after_thread_sync;\n";
const std::string kLoad = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r4}, [%mine];\n";
const std::string kStore = "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%mine], {%t};\n";
const std::string kWaitLoad = "  tcgen05.wait::ld.sync.aligned;\n", kWaitStore = "  tcgen05.wait::st.sync.aligned;\n";

TEST(TensorRaces, AnMmaIsOverBehindItsCommit) {
  EXPECT_THAT(found(kMma + kCommit + wait("%p12") + kAfter + kLoad + kWaitLoad), IsEmpty());
  // A relaxed wait is enough for tcgen05.
  EXPECT_THAT(found(kMma + kCommit + wait("%p12", 0, 0, ".relaxed.cta") + kAfter + kLoad + kWaitLoad), IsEmpty());
  // Without the fence: known kernels do so.
  EXPECT_THAT(found(kMma + kCommit + wait("%p12") + kLoad + kWaitLoad), Contains(StartsWith("tmem-fence-missing: ")));
  // A barrier of threads does not wait for it.
  const auto told = found(kMma + kCommit + "  bar.sync 0;\n" + kAfter + kLoad + kWaitLoad + wait("%p12"));
  ASSERT_FALSE(told.empty());
  EXPECT_THAT(told[0], HasSubstr("tmem-not-complete: tcgen05.ld"));
  EXPECT_THAT(told[0], HasSubstr("<- tcgen05.mma"));
}

TEST(TensorRaces, MmasOfOneAccumulatorFollowEachOther) {
  EXPECT_THAT(found(kMma + kMma + kCommit + wait("%p12") + kAfter), IsEmpty());
  const std::string other =
      "  mov.u32 %r5, 0x08080010;\n  @%p8 tcgen05.mma.cta_group::1.kind::f16 [%base], %desc, %desc, %r5, %p13;\n";
  EXPECT_THAT(found(kMma + other + kCommit + wait("%p12") + kAfter), ElementsAre(StartsWith("tmem-unordered: ")));
}

// cp to mma, mma to shift and shift to cp.4x256b follow each other; so what lies at the ends of such a chain does, too.
TEST(TensorRaces, PairsMakeAChain) {
  const std::string a = "  add.u32 %r5, %base, 64;\n  add.u32 %r6, %base, 0x1f0040;\n";
  const std::string copy = "  @%p8 tcgen05.cp.cta_group::1.128x256b [%r5], %desc;\n";
  const std::string product = "  @%p8 tcgen05.mma.cta_group::1.kind::f16 [%base], [%r5], %desc, %idesc, %p13;\n";
  const std::string shift = "  @%p8 tcgen05.shift.cta_group::1.down [%r5];\n";
  const std::string patch = "  @%p8 tcgen05.cp.cta_group::1.4x256b [%r6], %desc;\n";
  const std::string end = kCommit + wait("%p12") + kAfter;
  EXPECT_THAT(found(a + copy + product + shift + patch + product + end), IsEmpty());
  EXPECT_THAT(found(a + copy + shift + patch + product + end), Contains(StartsWith("tmem-unordered: tcgen05.shift")));
  EXPECT_THAT(found(a + copy + product + patch + product + end), Contains(StartsWith("tmem-unordered: tcgen05.cp")));
}

TEST(TensorRaces, AnotherThreadsMmaNeedsTheOrderOfIssue) {
  // Warp 1 goes on with the accumulator of warp 0.
  const std::string second =
      "  setp.eq.u32 %p1, %t, 32;\n  @%p1 tcgen05.mma.cta_group::1.kind::f16 [%base], %desc, %desc, %idesc, %p13;\n"
      "  @%p1 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b];\n";
  const std::string end = wait("%p12") + kAfter;
  EXPECT_THAT(found(kMma + kBefore + "  bar.sync 0;\n" + kAfter + second + end),
              Not(Contains(HasSubstr("%p13 <- tcgen05.mma"))));
  EXPECT_THAT(found(kMma + "  bar.sync 0;\n" + second + end), Contains(StartsWith("tmem-fence-missing: ")));
  EXPECT_THAT(found(kMma + kBefore + kAfter + second + end), Contains(StartsWith("data-race: ")));
}

TEST(TensorRaces, LoadsAndStoresAreWaitedFor) {
  EXPECT_THAT(found(kStore + kWaitStore + kLoad + kWaitLoad + kStore + kWaitStore), IsEmpty());
  EXPECT_THAT(found(kStore + kLoad + kWaitLoad + kWaitStore), ElementsAre(StartsWith("tmem-not-complete: tcgen05.ld")));
  EXPECT_THAT(found(kStore + kWaitStore + kLoad + kStore + kWaitStore + kWaitLoad),
              Contains(StartsWith("tmem-load-not-waited: tcgen05.st")));
}

// Who uses the register has waited for the load (PTX ISA 9.7.16.6.4.5): what comes behind that in its program, too.
TEST(TensorRaces, TheUseOfARegisterWaitsForItsLoad) {
  const std::string first = kStore + kWaitStore + kLoad,
                    again = "  tcgen05.st.sync.aligned.32x32b.x1.b32 [%mine], {%r5};\n";
  const std::string uses = "  add.u32 %r5, %r4, 1;\n", moves = "  mov.b32 %r5, %r4;\n";
  EXPECT_THAT(found(first + uses + again + kWaitStore + kWaitLoad), Each(StartsWith("tmem-load-not-waited: add")));
  EXPECT_THAT(found(first + moves + again + kWaitStore + kWaitLoad),
              Each(StartsWith("tmem-load-not-waited: tcgen05.st")));
  EXPECT_THAT(found(first + moves + kWaitLoad + again + kWaitStore), IsEmpty()) << "a move is no use";
  // Two loads, one used: nothing is known of the other.
  const std::string second = "  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r6}, [%mine];\n";
  EXPECT_THAT(found(first + second + uses + again + kWaitStore + kWaitLoad),
              Contains(AllOf(StartsWith("tmem-load-not-waited: tcgen05.st"), HasSubstr("%r6"))));
}

TEST(TensorRaces, CellsThatOthersWriteBehindAUsedLoadAreAWarning) {
  const std::string first = kMma + kCommit + wait("%p12") + kAfter + kLoad;
  const std::string again =
      kMma + "  @%p8 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b+8];\n" + wait("%p12", 8);
  const auto severity = [&](const std::string& use) {
    Kernel k;
    k.tensor = true;
    k.body = first + use + kBefore + "  bar.sync 0;\n" + kAfter + again + kAfter + kWaitLoad;
    for (const Diagnosis& d : k.diagnoses())
      if (d.code == "tmem-load-not-waited" && d.where.ptx_text.find("tcgen05.mma") != std::string::npos)
        return d.severity;
    return Severity::note;
  };
  EXPECT_EQ(severity(""), Severity::error);
  EXPECT_EQ(severity("  add.u32 %r5, %r4, 1;\n"), Severity::warning);
}

// tcgen05.alloc is executed by all lanes of its warp: each has stored the address.
TEST(TensorRaces, AWarpReadsTheAddressOfItsOwnAlloc) {
  const std::string alloc =
      "  { .shared .align 4 .b32 own; mov.u32 %r0, own; }\n"
      "  @%p10 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;\n";
  const std::string load = "ld.shared.b32 %r1, [%r0];\n";
  const std::string give =
      "  bar.sync 0;\n  @%p10 ld.shared.b32 %r2, [%r0];\n"
      "  @%p10 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 32;\n";
  EXPECT_THAT(found(alloc + "  @%p10 " + load + give), IsEmpty());
  EXPECT_THAT(found(alloc + "  @%p11 " + load + give), Contains(StartsWith("data-race: ld.shared.b32 %r1")));
  // Any lane may hand it over.
  const std::string hands = "  setp.eq.u32 %p1, %t, 5;\n  @%p1 mbarrier.arrive.shared.b64 _, [%b];\n" + wait("%p11");
  EXPECT_THAT(found(alloc + hands + "  @%p11 " + load + give), IsEmpty());
}

// The word of tcgen05.alloc becomes part of a tile.
TEST(TensorRaces, ACopyOverTheAddressOfAnAllocIsAWarning) {
  const auto severity = [](const std::string& first, const std::string& fence) {
    Kernel k;
    k.body = first + "  bar.sync 0;\n" + fence +
             "  bar.sync 0;\n  setp.eq.u32 %p1, %t, 32;\n  @%p1 mbarrier.arrive.expect_tx.shared.b64 _, [%b], 128;\n"
             "  @%p1 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%s], [%i], 128, [%b];\n" +
             wait("%p12") +
             "  bar.sync 0;\n  mov.b32 %r1, 0;\n  @%p10 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32;\n";
    std::vector<std::string> out;
    for (const Diagnosis& d : k.diagnoses())
      if (d.code == "proxy-fence-missing" && d.message.find("that tcgen05.alloc writes") != std::string::npos)
        out.push_back(d.severity == Severity::error ? "error" : "warning");
    return out;
  };
  const std::string alloc = "  @%p10 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%s], 32;\n";
  EXPECT_THAT(severity(alloc, ""), ::testing::ElementsAre("warning"));
  EXPECT_THAT(severity(alloc, "  fence.proxy.async.shared::cta;\n"), IsEmpty());
}

TEST(TensorRaces, ScalesCopiedOverBehindAnMmaAreANoteOnce) {
  Kernel k;
  k.tensor = true;
  const std::string copy = "  @%p8 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r5], %desc;\n";
  const std::string product =
      "  @%p8 tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale.scale_vec::1X [%base], %desc, %desc, %r7, [%r5], "
      "[%r6], %p13;\n";
  k.body =
      "  add.u32 %r5, %base, 64; add.u32 %r6, %base, 80; mov.u32 %r7, 0x08840000;\n"
      "  @%p8 tcgen05.cp.cta_group::1.32x128b.warpx4 [%r6], %desc;\n" +
      copy + product + copy + product + copy + product + kCommit + wait("%p12") + kAfter;
  size_t notes = 0;
  for (const Diagnosis& d : k.diagnoses()) {
    if (d.code != "tmem-unordered") continue;
    EXPECT_EQ(d.severity, Severity::note);
    ++notes;
  }
  EXPECT_EQ(notes, 1u);
}

TEST(TensorRaces, AStageIsGivenBackBehindTheLoad) {
  // The epilogue reads, then the MMA's thread writes the cells again.
  const std::string first = kMma + kCommit + wait("%p12") + kAfter + kLoad;
  const std::string again =
      kMma + "  @%p8 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b+8];\n" + wait("%p12", 8);
  EXPECT_THAT(found(first + kWaitLoad + kBefore + "  bar.sync 0;\n" + kAfter + again + kAfter), IsEmpty());
  EXPECT_THAT(found(first + kWaitLoad + "  bar.sync 0;\n" + kAfter + again + kAfter),
              Contains(StartsWith("tmem-fence-missing: tcgen05.mma")));
  EXPECT_THAT(found(first + kWaitLoad + kBefore + "  bar.sync 0;\n" + again + kAfter),
              Contains(StartsWith("tmem-fence-missing: tcgen05.mma")));
  EXPECT_THAT(found(first + kBefore + "  bar.sync 0;\n" + kAfter + again + kAfter + kWaitLoad),
              Contains(StartsWith("tmem-load-not-waited: tcgen05.mma")));
  EXPECT_THAT(found(first + "  @%p10 tcgen05.wait::ld.sync.aligned;\n" + kBefore + "  bar.sync 0;\n" + kAfter + again +
                    kAfter + kWaitLoad),
              Contains(StartsWith("tmem-load-not-waited: tcgen05.mma")))
      << "the other warp's loads";
}

// What alloc and dealloc do is done when they are over, and still the manual has the fences there: a note.
TEST(TensorRaces, AllocAndDeallocStandBetweenFences) {
  Kernel k;
  k.tensor = true;
  k.body = kStore + kWaitStore;
  const auto without = [&](const std::string& fence, int nth) {
    k.change = [=](std::string text) {
      size_t at = 0;
      for (int i = 0; i <= nth; ++i) at = text.find(fence, at + 1);
      return text.erase(at, fence.size());
    };
    return found_in_all_orders(k);
  };
  EXPECT_THAT(without("tcgen05.fence::before_thread_sync;", 0), Contains(StartsWith("tmem-fence-missing: tcgen05.st")));
  EXPECT_THAT(without("tcgen05.fence::after_thread_sync;", 0), Contains(StartsWith("tmem-fence-missing: tcgen05.st")));
  EXPECT_THAT(without("tcgen05.fence::before_thread_sync;", 1),
              ElementsAre(StartsWith("tmem-fence-missing: tcgen05.dealloc")));
  EXPECT_THAT(without("tcgen05.fence::after_thread_sync;", 1),
              ElementsAre(StartsWith("tmem-fence-missing: tcgen05.dealloc")));
}

TEST(TensorRaces, ACommitToAnMbarrierThatNobodyHasPublished) {
  Kernel k;
  k.tensor = true;
  k.body = kMma + kCommit + wait("%p12") + kAfter;
  k.change = [](std::string text) {
    const std::string fence = "@%p8 fence.mbarrier_init.release.cluster;";
    return text.erase(text.find(fence), fence.size());
  };
  EXPECT_THAT(found_in_all_orders(k), ElementsAre(StartsWith("mbarrier-init-not-published: tcgen05.commit")));
}

TEST(TensorRaces, DeallocComesBehindAllUses) {
  EXPECT_THAT(found(kStore + kWaitStore), IsEmpty());
  EXPECT_THAT(found(kStore), Contains(StartsWith("tmem-not-complete: tcgen05.dealloc")));
  // Warp 1 is not even waited for.
  Kernel k;
  k.tensor = true;
  k.body = kLoad + kWaitLoad;
  k.change = [](std::string text) {
    const size_t last = text.rfind("bar.sync 0;");
    return text.erase(last, 11);
  };
  EXPECT_THAT(k.findings(), Contains(AllOf(StartsWith("data-race: "), HasSubstr("tcgen05.dealloc"))));
}

// A warp of the other CTA has stored and arrived without a scope; an MMA behind that, and its commit, tell its own CTA
// that the store is over.
TEST(TensorRaces, ACommitBehindAnArriveWithoutAScope) {
  const auto body = [](const char* waits) {
    return "  mapa.shared::cluster.u32 %r2, %b, 0; setp.eq.and.u32 %p1, %k, 1, %p11; setp.eq.and.u32 %p2, %k, 0, %p8;\n"
           "  @%p1 tcgen05.st.sync.aligned.32x32b.x1.b32 [%mine], {%t};\n  @%p1 tcgen05.wait::st.sync.aligned;\n"
           "  @%p1 mbarrier.arrive.shared::cluster.b64 _, [%r2+32];\n" +
           wait(waits, 32) +
           "  @%p2 tcgen05.mma.cta_group::1.kind::f16 [%base], %desc, %desc, %idesc, %p13;\n  { .reg .b16 %h; mov.b16 "
           "%h, 3;\n  @%p2 tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 "
           "[%b], %h; }\n" +
           wait("%p12");
  };
  Kernel k;
  k.tensor = true;
  k.ctas = 2;
  k.change = [](std::string text) { return text.erase(text.rfind("bar.sync 0;"), 11); };
  k.body = body("%p2");
  EXPECT_THAT(found_in_all_orders(k), Not(Contains(StartsWith("data-race: "))));
  k.body = body("%p13");  // the MMA does not come behind the arrive
  EXPECT_THAT(k.findings(), Contains(AllOf(StartsWith("data-race: "), HasSubstr("tcgen05.dealloc"))));
}

const std::string kFill = "  mad.lo.u32 %r0, %t, 64, %s;\n  st.shared.u32 [%r0], %t;\n";

TEST(TensorRaces, OperandsAreHandedToTheAsyncProxy) {
  const std::string rest = kMma + kCommit + wait("%p12") + kAfter;
  EXPECT_THAT(found(kFill + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" + rest), IsEmpty());
  EXPECT_THAT(found(kFill + "  bar.sync 0;\n" + rest), Contains(StartsWith("proxy-fence-missing: tcgen05.mma")));
  // How many of the other warps' stores meet the operation at work is a question of time, so of one order only.
  Kernel unordered;
  unordered.tensor = true;
  unordered.body = kFill + "  fence.proxy.async.shared::cta;\n" + rest;
  EXPECT_THAT(unordered.findings(), Contains(AllOf(StartsWith("data-race: "), HasSubstr("tcgen05.mma"))));
}

TEST(TensorRaces, OperandsAreFreeBehindTheCommit) {
  EXPECT_THAT(found(kMma + kCommit + wait("%p12") + kAfter + kFill), IsEmpty());
  const auto early = found(kMma + kCommit + "  bar.sync 0;\n" + kFill + wait("%p12") + kAfter);
  ASSERT_FALSE(early.empty());
  EXPECT_THAT(early[0], HasSubstr("st.shared.u32 [%r0], %t"));
  EXPECT_THAT(early[0], HasSubstr("tcgen05.mma"));
}

}  // namespace
}  // namespace tinygpu::test::tensor_test
