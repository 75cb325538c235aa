// What ordinary accesses and copies do to each other without a wait or a proxy fence between them; and that right
// kernels hear nothing.
#include "tests/bulk_tensor/body.h"

namespace tinygpu::test::hazards_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kLoad = R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%in], 128, [%bar];
  bar.sync 0;
)";
const std::string kAddress = "  shl.b32 %r10, %t, 2; add.u32 %r11, %buf, %r10;\n";
const std::string kFill = kAddress + "  st.shared.u32 [%r11], %t;\n";
const std::string kStore = R"(
  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 128;
  @%first cp.async.bulk.commit_group;
  @%first cp.async.bulk.wait_group 0;
)";

// ---- Copies in flight

TEST(InFlight, ALoadOfTheDestinationBeforeTheWaitIsReported) {
  for (const CompletionOrder& order : kOrders) {
    if (order.mode == CompletionOrder::Mode::seeded) continue;  // may have landed
    BulkRun b(kAddress + kLoad + "  ld.shared.u32 %r1, [%r11];\n" + kWait, 1, order);
    const Diagnosis d = b.report();
    EXPECT_EQ(d.code, "async-not-complete");
    EXPECT_EQ(d.severity, Severity::error);
    EXPECT_EQ(d.where.thread, 0);
    EXPECT_EQ(d.message, "ordinary load of 4 bytes at shared offset 0x400 while a copy that lands there is in flight");
    EXPECT_EQ(d.where.ptx_text, "ld.shared.u32 %r1, [%r11]");
    EXPECT_EQ(d.where.operation, "");
    ASSERT_EQ(d.others.size(), 1u);
    EXPECT_EQ(d.others[0].where.ptx_text,
              "@%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%in], 128, [%bar]");
    EXPECT_EQ(d.others[0].where.operation, "cp.async.bulk");
    EXPECT_LT(d.others[0].where.cycle, d.where.cycle);
    EXPECT_EQ(d.others[0].label, "the copy was issued here: bytes 0x400 to 0x47f");
    EXPECT_THAT(d.help, HasSubstr("wait first for the phase of the copy's mbarrier that counts its bytes; a barrier of "
                                  "threads does not wait for copies"));
  }
}

TEST(InFlight, SoAreStoresAndAtomicsAndMatrixLoads) {
  for (const char* access :
       {"st.shared.u32 [%r11], 1", "atom.shared.add.u32 %r1, [%r11], 1",
        "ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%r1}, [%buf]", "st.shared::cluster.u32 [%r11], 1"}) {
    BulkRun b(kAddress + kLoad + "  " + access + ";\n" + kWait, 1, {CompletionOrder::Mode::late, 0});
    EXPECT_EQ(b.report().code, "async-not-complete") << access;
  }
}

TEST(InFlight, BytesBesideTheCopyAreFree) {
  BulkRun b(kAddress + kLoad + "  st.shared.u32 [%r11+256], %t; ld.shared.u32 %r1, [%r11+256];\n" + kWait, 1,
            {CompletionOrder::Mode::late, 0});
  b.words(1);
  EXPECT_TRUE(b.run.reports.empty());
}

TEST(InFlight, TooFewExpectedBytesLetTheWaitThroughEarly) {
  // 64 of 128 bytes are expected, in two copies: under the late order the phase ends with the first of them.
  BulkRun b(kAddress + R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 64;
  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%in], 64, [%bar];
  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%buf+64], [%in], 64, [%bar];
  bar.sync 0;
)" + kWait + "  ld.shared.u32 %r1, [%r11];\n  nanosleep.u32 5000;\n",
            1, {CompletionOrder::Mode::late, 0});
  b.words(1);
  ASSERT_FALSE(b.run.reports.empty());
  EXPECT_EQ(b.run.reports[0].code, "async-not-complete");
}

TEST(InFlight, OverwritingTheSourceOfAStoreIsReported) {
  for (const char* copy : {"cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 128",
                           "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%buf], 128"}) {
    BulkRun b(kFill + "  fence.proxy.async.shared::cta; bar.sync 0;\n  @%first " + copy +
                  ";\n  @%first cp.async.bulk.commit_group;\n  ld.shared.u32 %r2, [%r11];\n" +
                  "  st.shared.u32 [%r11], 9;\n  @%first cp.async.bulk.wait_group 0;\n",
              1, {CompletionOrder::Mode::late, 0});
    const Diagnosis d = b.report();
    EXPECT_EQ(d.code, "async-not-complete") << "the load before it is right";
    EXPECT_EQ(d.where.ptx_text, "st.shared.u32 [%r11], 9");
    EXPECT_THAT(
        d.message,
        HasSubstr("ordinary store of 4 bytes at shared offset 0x400 while a copy that reads there is in flight"));
    EXPECT_THAT(d.help, HasSubstr("wait with cp.async.bulk.wait_group.read"));
  }
}

TEST(InFlight, OfManyCopiesTheFirstThatIsMetIsNamed) {
  // Copies of one interval and of others, some of which have landed when the store comes.
  const std::string copies =
      "  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 64;\n"
      "  @%first cp.async.bulk.commit_group; @%first cp.async.bulk.wait_group 0;\n"
      "  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf+64], 64;\n"
      "  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf+32], 32;\n"
      "  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 128;\n"
      "  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf+32], 32;\n"
      "  @%first cp.async.bulk.commit_group;\n";
  for (const auto& [offset, bytes] :
       {std::pair("32", "[%buf+32], 32"), std::pair("64", "[%buf+64], 64"), std::pair("0", "[%buf], 128")}) {
    BulkRun b(kFill + "  fence.proxy.async.shared::cta; bar.sync 0;\n" + copies + "  @%first st.shared.u32 [%buf+" +
                  offset + "], 9;\n  @%first cp.async.bulk.wait_group 0;\n",
              1, {CompletionOrder::Mode::late, 0});
    const Diagnosis d = b.report();
    EXPECT_EQ(d.code, "async-not-complete");
    ASSERT_EQ(d.others.size(), 1u);
    EXPECT_THAT(d.others[0].where.ptx_text, HasSubstr(bytes));
  }
}

TEST(InFlight, ACopyOverALiveMbarrierIsReported) {
  BulkRun b(R"(
  @%first mbarrier.init.shared.b64 [%buf+8], 1;
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%in], 128, [%bar];
)" + kWait);
  const Diagnosis d = b.report();
  EXPECT_EQ(d.code, "mbarrier-memory-reused");
  EXPECT_EQ(d.message, "this copy lands at shared offset 0x400 on a live mbarrier");
}

// ---- Proxies

TEST(ProxyFence, MissingBetweenStoresAndACopyIsReported) {
  for (const char* copy : {"cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 128",
                           "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%out], [%buf], 128"}) {
    BulkRun b(kFill + "  bar.sync 0;\n  @%first " + copy +
              ";\n  @%first cp.async.bulk.commit_group;\n  @%first cp.async.bulk.wait_group 0;\n");
    const Diagnosis d = b.report();
    EXPECT_EQ(d.code, "proxy-fence-missing");
    EXPECT_EQ(d.severity, Severity::error);
    EXPECT_EQ(d.where.ptx_text, std::string("@%first ") + copy);
    EXPECT_EQ(d.where.thread, 0);
    EXPECT_THAT(d.message, HasSubstr("this copy reads shared offset 0x400, which ordinary stores have written and no "
                                     "fence.proxy.async has made visible to the async proxy since"));
    EXPECT_THAT(d.help, HasSubstr("execute fence.proxy.async.shared::cta in every storing thread"));
  }
}

TEST(ProxyFence, OfTheIssuerBeforeTheBarrierDoesNotCoverTheOthersStores) {
  // The commonest mistake: one thread fences, then all meet. Two warps: what the first has stored is covered, the
  // second's not.
  BulkRun b(kFill +
            "  @%first fence.proxy.async.shared::cta;\n  bar.sync 0;\n  @%first "
            "cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 256;\n");
  const Diagnosis d = b.report(64);
  EXPECT_EQ(d.code, "proxy-fence-missing");
  EXPECT_THAT(d.message, HasSubstr("shared offset 0x480"));
}

TEST(ProxyFence, BeforeTheStoresCoversNothing) {
  BulkRun b(kAddress + "  fence.proxy.async.shared::cta;\n  st.shared.u32 [%r11], %t;\n  bar.sync 0;\n" + kStore);
  EXPECT_EQ(b.report().code, "proxy-fence-missing");
}

TEST(ProxyFence, OfGlobalMemoryAndOrdinaryFencesCoverNothing) {
  for (const char* fence : {"fence.proxy.async.global", "fence.acq_rel.cta", "membar.sys", "fence.proxy.alias"}) {
    BulkRun b(kFill + "  " + fence + ";\n  bar.sync 0;\n" + kStore);
    EXPECT_EQ(b.report().code, "proxy-fence-missing") << fence;
  }
}

TEST(ProxyFence, WhereverItIsRightIsClean) {
  const std::string sync = "  bar.sync 0;\n";
  const std::string wait_others = R"(
  @!%first mbarrier.arrive.shared.b64 _, [%buf+4096];
  @!%first bra NEXT;
V: mbarrier.try_wait.parity.shared.b64 %p6, [%buf+4096], 0;
  @!%p6 bra V;
NEXT:
)";
  const std::string right[] = {
      kFill + "  fence.proxy.async.shared::cta;\n" + sync + kStore,
      kFill + "  fence.proxy.async;\n" + sync + kStore,
      kFill + "  fence.proxy.async.shared::cluster;\n" + sync + kStore,
      kFill + "  fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n" + sync + kStore,
      // The issuer, behind the barrier.
      kFill + sync + "  @%first fence.proxy.async.shared::cta;\n" + kStore,
      // The issuer, behind an mbarrier that the others have arrived on.
      "  @%first mbarrier.init.shared.b64 [%buf+4096], 63;\n  bar.sync 0;\n" + kFill + wait_others +
          "  @%first fence.proxy.async.shared::cta;\n" + kStore,
      // A cluster barrier instead of the CTA's.
      kFill + "  barrier.cluster.arrive; barrier.cluster.wait;\n  @%first fence.proxy.async.shared::cta;\n" + kStore,
      // A thread of a third warp, between two barriers.
      kFill + sync + "  setp.eq.u32 %p5, %t, 40;\n  @%p5 fence.proxy.async.shared::cta;\n" + sync + kStore,
  };
  for (const CompletionOrder& order : kOrders)
    for (const std::string& body : right) {
      BulkRun b(body, 1, order);
      const auto out = b.words(32, 64);
      for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i) << body;
      EXPECT_TRUE(b.run.reports.empty()) << body << diagnosis::render(b.run.reports[0]);
    }
}

TEST(ProxyFence, BytesThatACopyBroughtNeedNone) {
  BulkRun b(kFill + "  fence.proxy.async.shared::cta; bar.sync 0;\n" + kLoad + kWait + "  bar.sync 0;\n" + kStore);
  const auto out = b.words(32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i + 1);
  EXPECT_TRUE(b.run.reports.empty());
  // Also where ordinary stores lay there before, unfenced, and the copy has replaced them.
  BulkRun over(kFill + "  bar.sync 0;\n" + kLoad + kWait + "  bar.sync 0;\n" + kStore);
  over.words(32);
  EXPECT_TRUE(over.run.reports.empty());
}

TEST(ProxyFence, MatrixStoresAndAtomicsCountAsStores) {
  for (const char* store : {"stmatrix.sync.aligned.m8n8.x1.shared.b16 [%r12], {%t}",
                            "atom.shared.add.u32 %r1, [%r11], 1", "red.shared.or.b32 [%r11], 1"}) {
    BulkRun b(kAddress + "  and.b32 %r12, %t, 7; shl.b32 %r12, %r12, 4; add.u32 %r12, %r12, %buf;\n  " + store +
              ";\n  bar.sync 0;\n" + kStore);
    EXPECT_EQ(b.report().code, "proxy-fence-missing") << store;
  }
}

TEST(ProxyFence, ASourceSentToAnotherCtaNeedsItToo) {
  BulkRun b(kFill + kSendToPeer + kWait, 2);
  EXPECT_EQ(b.report().code, "proxy-fence-missing");
}

}  // namespace
}  // namespace tinygpu::test::hazards_test
