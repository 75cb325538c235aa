// Happens-before over Tensor Memory, and over the operands of MMAs.
#include "tests/check/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
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

TEST(TensorRaces, DeallocComesBehindAllUses) {
  EXPECT_THAT(found(kStore + kWaitStore), IsEmpty());
  EXPECT_THAT(found(kStore), Contains(StartsWith("tmem-not-complete: tcgen05.dealloc")));
}

const std::string kFill = "  mad.lo.u32 %r0, %t, 64, %s;\n  st.shared.u32 [%r0], %t;\n";

TEST(TensorRaces, OperandsAreHandedToTheAsyncProxy) {
  const std::string rest = kMma + kCommit + wait("%p12") + kAfter;
  EXPECT_THAT(found(kFill + "  fence.proxy.async.shared::cta;\n  bar.sync 0;\n" + rest), IsEmpty());
  EXPECT_THAT(found(kFill + "  bar.sync 0;\n" + rest), Contains(StartsWith("proxy-fence-missing: tcgen05.mma")));
  EXPECT_THAT(found(kFill + "  fence.proxy.async.shared::cta;\n" + rest),
              Contains(AllOf(StartsWith("data-race: "), HasSubstr("tcgen05.mma"))));
}

TEST(TensorRaces, OperandsAreFreeBehindTheCommit) {
  EXPECT_THAT(found(kMma + kCommit + wait("%p12") + kAfter + kFill), IsEmpty());
  const auto early = found(kMma + kCommit + "  bar.sync 0;\n" + kFill + wait("%p12") + kAfter);
  ASSERT_FALSE(early.empty());
  EXPECT_THAT(early[0], HasSubstr("st.shared.u32 [%r0], %t"));
  EXPECT_THAT(early[0], HasSubstr("tcgen05.mma"));
}

}  // namespace
}  // namespace tinygpu::test
