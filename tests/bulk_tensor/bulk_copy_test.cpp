// Linear bulk copies in every direction, multicast, cta_group, cp_mask, bulk groups, st.bulk, prefetch.
#include "tests/bulk_tensor/body.h"

namespace tinygpu::test {
namespace {

const std::string kLoad64 = R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 64;
  @%first cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%buf], [%in], 64, [%bar];
)";
/// Every thread's word of the buffer goes to out, 32 words per CTA.
const std::string kDump = R"(
  shl.b32 %r20, %t, 2; add.u32 %r21, %buf, %r20; ld.shared.u32 %r22, [%r21];
  shl.b32 %r23, %rank, 7; add.u32 %r23, %r23, %r20; cvt.u64.u32 %rd10, %r23; add.u64 %rd10, %out, %rd10;
  st.global.u32 [%rd10], %r22;
)";
/// Every thread stores 100 + its index into the buffer and hands it to the async proxy.
const std::string kFill = R"(
  shl.b32 %r10, %t, 2; add.u32 %r11, %buf, %r10; add.u32 %r12, %t, 100; st.shared.u32 [%r11], %r12;
  fence.proxy.async.shared::cta; bar.sync 0;
)";

TEST(BulkCopy, LoadsLandBeforeTheirPhaseEnds) {
  for (const CompletionOrder& order : kOrders) {
    BulkRun b(kLoad64 + kWait + kDump, 1, order);
    const auto out = b.words(16);
    for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(out[i], i + 1);
    EXPECT_TRUE(b.run.reports.empty());
  }
}

// PTX ISA 9.2, 9.7.9.25.4.1: up to 15 bytes at either end may lie outside of an allocation; all are counted.
TEST(BulkCopy, IgnoredBytesNeedNoMemoryAndStayWhatTheyAre) {
  for (const CompletionOrder& order : kOrders) {
    BulkRun b(kFill + R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 64;
  @%first cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.ignore_oob [%buf], [%in], 64, 4, 8, [%bar];
)" + kWait + kDump,
              1, order);
    const auto out = b.words(16);
    for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(out[i], i < 1 || i > 13 ? 100 + i : i + 1) << i;
    EXPECT_TRUE(b.run.reports.empty());
  }
}

TEST(BulkCopy, IgnoredBytesMayLieOutsideOfAnAllocation) {
  // The last four bytes of an allocation, in a piece of 16.
  const auto code = [](const std::string& copy) -> std::string {
    BulkRun b("  add.u64 %in, %in, 4080;\n  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16;\n  @%first " +
              copy + "\n" + kWait);
    b.in = b.run.buffer<uint8_t>(4084);
    try {
      b.words(1);
    } catch (const KernelFault& f) {
      return f.diagnosis.code;
    }
    return b.run.reports.empty() ? "" : b.run.reports[0].code;
  };
  const std::string form = "cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes";
  EXPECT_EQ(code(form + ".ignore_oob [%buf], [%in], 16, 0, 12, [%bar];"), "");
  EXPECT_EQ(code(form + ".ignore_oob [%buf], [%in], 16, 3, 12, [%bar];"), "");
  const std::string outside = code(form + " [%buf], [%in], 16, [%bar];");
  EXPECT_NE(outside, "");
  EXPECT_EQ(code(form + ".ignore_oob [%buf], [%in], 16, 0, 11, [%bar];"), outside);
  EXPECT_EQ(code("mov.u32 %r9, 28;\n  @%first " + form + ".ignore_oob [%buf], [%in], 16, 0, %r9, [%bar];"),
            "bulk-size");
}

TEST(BulkCopy, MulticastLandsInEveryNamedCtaAndSignalsItsBarrier) {
  for (const CompletionOrder& order : kOrders) {
    // CTA 0 sends to CTAs 1 and 3 of four.
    BulkRun b(R"(
  st.shared.u32 [%buf], 7;
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 64;
  barrier.cluster.arrive; barrier.cluster.wait;
  setp.eq.u32 %p1, %rank, 0; and.pred %p2, %p1, %first; mov.b16 %h1, 10;
  @%p2 cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%buf], [%in], 64, [%bar], %h1;
  and.b32 %r1, %rank, 1; setp.eq.u32 %p3, %r1, 0;
  @%p3 bra DUMP;
)" + kWait + "DUMP:\n" +
                  kDump + "  @%first mbarrier.inval.shared.b64 [%bar];\n",
              4, order);
    const auto out = b.words(128);
    for (const uint32_t cta : {1u, 3u})
      for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(out[32 * cta + i], i + 1) << cta;
    EXPECT_EQ(out[0], 7u);
    EXPECT_EQ(out[64], 7u);
  }
}

TEST(BulkCopy, SharedToSharedOfAnotherCta) {
  for (const CompletionOrder& order : kOrders) {
    BulkRun b(kFill + kSendToPeer + kWait + "  add.u32 %buf, %buf, 1024;\n" + kDump, 2, order);
    const auto out = b.words(64);
    for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 100 + i % 32);
    EXPECT_TRUE(b.run.reports.empty());
  }
}

TEST(BulkCopy, ReductionsIntoAnotherCta) {
  BulkRun b(kFill + R"(
  @%first mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 128;
  add.u32 %r4, %r11, 1024; st.shared.u32 [%r4], 5; add.u32 %r4, %buf, 1024;
  xor.b32 %r1, %rank, 1; mapa.shared::cluster.u32 %r2, %r4, %r1; mapa.shared::cluster.u32 %r3, %bar, %r1;
  fence.proxy.async; barrier.cluster.arrive; barrier.cluster.wait;
  @%first cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.u32 [%r2], [%buf], 128, [%r3];
)" + kWait + "  add.u32 %buf, %buf, 1024;\n" +
                kDump,
            2);
  const auto out = b.words(64);
  for (uint32_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], 105 + i % 32);
}

TEST(BulkCopy, StoresAndTheirByteMask) {
  for (const CompletionOrder& order : kOrders) {
    BulkRun b(kFill + R"(
  mov.b16 %h1, 0xf00f;
  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 64;
  @%first cp.async.bulk.global.shared::cta.bulk_group.cp_mask [%out+64], [%buf+64], 64, %h1;
  @%first cp.async.bulk.commit_group;
  @%first cp.async.bulk.wait_group 0;
)",
              1, order);
    const auto out = b.words(32);
    // The mask keeps bytes 0 to 3 and 12 to 15 of every 16.
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i >= 16 && (i % 4 == 1 || i % 4 == 2) ? 0 : 100 + i) << i;
    EXPECT_TRUE(b.run.reports.empty());
  }
}

TEST(BulkCopy, ReductionsIntoGlobalMemory) {
  const auto reduced = [](const std::string& type) {
    BulkRun b(kFill + "  @%first cp.reduce.async.bulk.global.shared::cta.bulk_group." + type +
              " [%out], [%buf], 128;\n  @%first cp.async.bulk.commit_group;\n  @%first cp.async.bulk.wait_group 0;\n");
    const std::vector<uint32_t> start(32, 0x3f800006);
    std::memcpy(b.run.gpu.memory.translate(b.out, 128), start.data(), 128);
    return b.words(32)[5];
  };
  EXPECT_EQ(reduced("add.u32"), 0x3f800006u + 105);
  EXPECT_EQ(reduced("min.u32"), 105u);
  EXPECT_EQ(reduced("max.s32"), 0x3f800006u);
  EXPECT_EQ(reduced("inc.u32"), 0u);
  EXPECT_EQ(reduced("dec.u32"), 105u);
  EXPECT_EQ(reduced("and.b32"), 0x3f800006u & 105);
  EXPECT_EQ(reduced("or.b32"), 0x3f800006u | 105);
  EXPECT_EQ(reduced("xor.b32"), 0x3f800006u ^ 105);
  EXPECT_EQ(reduced("add.f32"), 0x3f800006u) << "105 as a float is a subnormal that vanishes beside 1";
  EXPECT_EQ(reduced("add.noftz.f16"), 0x3f80006fu) << "halves: 6 + 105 units of the subnormal";
  EXPECT_EQ(reduced("add.noftz.bf16"), 0x3f80006fu);
}

TEST(BulkGroups, ReadWaitsForTheSourceAndTheFullWaitForTheBytes) {
  // Behind wait_group.read the source may be overwritten: what goes out is what was there before.
  for (const CompletionOrder& order : kOrders) {
    BulkRun b(kFill + R"(
  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 128;
  @%first cp.async.bulk.commit_group;
  @%first cp.async.bulk.wait_group.read 0;
  bar.sync 0;
  st.shared.u32 [%r11], 9;
)",
              1, order);
    const auto out = b.words(32);
    for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], 100 + i);
    EXPECT_TRUE(b.run.reports.empty());
  }
}

TEST(BulkGroups, AWaitLeavesTheNewestGroupsPending) {
  // Two groups, wait_group 1: the first is complete. Group counts are the thread's own.
  for (const CompletionOrder& order : kOrders) {
    BulkRun b(kFill + R"(
  @!%first bra END;
  cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.global.shared::cta.bulk_group [%out+16], [%buf], 16;
  cp.async.bulk.commit_group;
  cp.async.bulk.wait_group 1;
  ld.global.u32 %r1, [%out];
  st.global.u32 [%out+256], %r1;
  cp.async.bulk.wait_group 0;
  ld.global.u32 %r1, [%out+16];
  st.global.u32 [%out+260], %r1;
END:
)",
              1, order);
    const auto out = b.words(66);
    EXPECT_EQ(out[64], 100u);
    EXPECT_EQ(out[65], 100u);
  }
}

TEST(BulkGroups, AnotherThreadsWaitCoversNothing) {
  // Lane 1 waits for lane 0's copy: no wait at all. Late order shows it: the source is overwritten before it is read.
  BulkRun b(kFill + R"(
  setp.eq.u32 %p1, %t, 1;
  @%first cp.async.bulk.global.shared::cta.bulk_group [%out], [%buf], 128;
  @%first cp.async.bulk.commit_group;
  @%p1 cp.async.bulk.wait_group.read 0;
  bar.sync 0;
  st.shared.u32 [%r11], 9;
)",
            1, {CompletionOrder::Mode::late, 0});
  const Diagnosis d = b.report();
  EXPECT_EQ(d.code, "async-not-complete");
  EXPECT_EQ(b.run.download<uint32_t>(b.out, 1)[0], 9u);
}

TEST(StBulk, FillsWithZeros) {
  BulkRun b(kFill + R"(
  cvt.u64.u32 %rd2, %buf; cvta.shared.u64 %rd2, %rd2;
  @%first st.bulk.weak.shared::cta [%buf], 64, 0;
  @%first st.bulk [%rd2+120], 8, 0;
  bar.sync 0;
)" + kDump);
  const auto out = b.words(32);
  for (uint32_t i = 0; i < 32; ++i) EXPECT_EQ(out[i], i < 16 || i >= 30 ? 0u : 100 + i) << i;
}

TEST(StBulk, SizesAndAddressesAreMultiplesOfEight) {
  const Diagnosis size = BulkRun("  mov.b64 %rd1, 60;\n  st.bulk.weak.shared::cta [%buf], %rd1, 0;\n").fault();
  EXPECT_EQ(size.code, "bulk-size");
  EXPECT_THAT(size.message, ::testing::HasSubstr("st.bulk of 60 bytes"));
  const Diagnosis address = BulkRun("  st.bulk.weak.shared::cta [%buf+4], 64, 0;\n").fault();
  EXPECT_EQ(address.kind, FaultKind::misaligned_address);
  const Diagnosis end = BulkRun("  st.bulk.weak.shared::cta [%buf], 16384, 0;\n").fault();
  EXPECT_EQ(end.code, "shared-out-of-bounds");
  EXPECT_THAT(end.message, ::testing::HasSubstr("st.bulk of 16384 bytes at shared offset 0x400"));
}

TEST(BulkPrefetch, MovesNothingAndChecksItsRange) {
  BulkRun b("  cp.async.bulk.prefetch.L2.global [%in], 4096;\n  st.global.u32 [%out], 1;\n");
  EXPECT_EQ(b.words(1)[0], 1u);
  const Diagnosis d = BulkRun("  cp.async.bulk.prefetch.L2.global [%out], 32768;\n").fault();
  EXPECT_EQ(d.kind, FaultKind::illegal_address);
  EXPECT_THAT(d.message, ::testing::HasSubstr("a bulk prefetch of 32768 bytes"));
}

}  // namespace
}  // namespace tinygpu::test
