// Arrivals and bytes that asynchronous operations bring: cp.async, st.async, red.async.
#include "tests/mbarrier/body.h"

namespace tinygpu::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kPending = R"(
  mbarrier.arrive.noComplete.shared.b64 %rd9, [%bar], 1;
  mbarrier.pending_count.b64 %r9, %rd9;
)";

TEST(MbarrierCpAsync, WithoutNoincTheArrivalBringsItsOwnCount) {
  for (const CompletionOrder& order : kOrders) {
    std::vector<Diagnosis> reports;
    const auto out = output_of("5", R"(
  cp.async.ca.shared.global [%bar+16], [%in+8], 4;
  cp.async.mbarrier.arrive.shared.b64 [%bar];
  cp.async.wait_all;
  nanosleep.u32 5000;
)" + kPending + "  ld.shared.u32 %r1, [%bar+16];\n  st.global.u32 [%out], %r9;\n  st.global.u32 [%out+4], %r1;\n",
                               2, &reports, 1, 1, order);
    EXPECT_THAT(out, ElementsAre(5u, 2u));
    EXPECT_TRUE(reports.empty());
  }
}

TEST(MbarrierCpAsync, WithNoincTheArrivalIsOneOfTheCounted) {
  for (const CompletionOrder& order : kOrders) {
    const auto out = output_of("5", R"(
  cp.async.ca.shared.global [%bar+16], [%in+8], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];
  cp.async.wait_all;
  nanosleep.u32 5000;
)" + kPending + "  st.global.u32 [%out], %r9;\n",
                               1, nullptr, 1, 1, order);
    EXPECT_EQ(out[0], 4u);
  }
}

TEST(MbarrierCpAsync, WithoutCopiesItArrivesAtOnceAndThePhaseEnds) {
  const auto out = output_of("1", R"(
  cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];
WAIT:
  mbarrier.try_wait.parity.shared.b64 %p0, [%bar], 0;
  @!%p0 bra WAIT;
  st.global.u32 [%out], 77;
)",
                             1);
  EXPECT_EQ(out[0], 77u);
}

TEST(MbarrierCpAsync, NoincThatNobodyCountedStops) {
  const Diagnosis d = stop_of("1", R"(
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], 16;
  cp.async.ca.shared.global [%bar+16], [%in], 4;
  cp.async.mbarrier.arrive.noinc.shared.b64 [%bar];
  cp.async.wait_all;
  nanosleep.u32 5000;
)");
  EXPECT_EQ(d.code, "mbarrier-over-arrival");
  EXPECT_EQ(d.where.ptx_text, "cp.async.mbarrier.arrive.noinc.shared.b64 [%bar]")
      << "the place is the instruction's, not the copy's end";
}

/// Both CTAs of a cluster: %peer is the other's address of the barrier; CTA 0 runs `send`, CTA 1 waits for `bytes`.
std::string exchange(const std::string& bytes, const std::string& send) {
  return R"(
  .reg .b32 %peer;
  mov.u32 %r9, %cluster_ctarank;
  setp.eq.u32 %p1, %r9, 1;
  xor.b32 %r8, %r9, 1;
  mapa.shared::cluster.u32 %peer, %bar, %r8;
  st.shared.v4.u32 [%bar+16], {%r9, %r9, %r9, %r9};
  barrier.cluster.arrive;
  barrier.cluster.wait;
  @%p1 bra RECEIVE;
)" + send +
         R"(
  bra END;
RECEIVE:
  mbarrier.arrive.expect_tx.shared.b64 _, [%bar], )" +
         bytes + R"(;
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p0, [%bar], 0;
  @!%p0 bra WAIT;
  ld.shared.v4.u32 {%r1,%r2,%r3,%r4}, [%bar+16];
  st.global.v4.u32 [%out], {%r1,%r2,%r3,%r4};
END:
  barrier.cluster.arrive;
  barrier.cluster.wait;
)";
}

TEST(MbarrierRemoteStores, StAsyncLandsItsBytesThenCompletesThem) {
  for (const CompletionOrder& order : kOrders) {
    std::vector<Diagnosis> reports;
    const auto out = output_of("1", exchange("28", R"(
  mov.u32 %r1, 100; mov.u32 %r2, 200; mov.u32 %r3, 300; mov.u32 %r4, 400;
  st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%peer+16], {%r1,%r2,%r3,%r4}, [%peer];
  mov.u64 %rd1, 0x900000008;
  st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u64 [%peer+32], %rd1, [%peer];
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%peer+40], %r1, [%peer];
)"),
                               4, &reports, 1, 2, order);
    EXPECT_THAT(out, ElementsAre(100u, 200u, 300u, 400u));
    EXPECT_TRUE(reports.empty());
  }
}

TEST(MbarrierRemoteStores, StAsyncOf128Bits) {
  for (const CompletionOrder& order : kOrders) {
    const auto out = output_of("1", exchange("16", R"(
  .reg .b128 %q; .reg .b64 %lo, %hi;
  mov.u64 %lo, 0x200000001; mov.u64 %hi, 0x400000003; mov.b128 %q, {%lo, %hi};
  st.async.shared::cluster.mbarrier::complete_tx::bytes.b128 [%peer+16], %q, [%peer];
)"),
                               4, nullptr, 1, 2, order);
    EXPECT_THAT(out, ElementsAre(1u, 2u, 3u, 4u));
  }
}

TEST(MbarrierRemoteStores, RedAsyncReducesThenCompletes) {
  for (const CompletionOrder& order : kOrders) {
    const auto out = output_of("1", exchange("16", R"(
  mov.u32 %r1, 41; mov.u32 %r2, 0xff00; mov.u32 %r3, -5;
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%peer+16], %r1, [%peer];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.xor.b32 [%peer+20], %r2, [%peer];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.min.s32 [%peer+24], %r3, [%peer];
  red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%peer+28], %r3, [%peer];
)"),
                               4, nullptr, 1, 2, order);
    EXPECT_THAT(out, ElementsAre(42u, 0xff01u, uint32_t(-5), uint32_t(-5)));
  }
}

// An H200 signals the mbarrier at the same offset of the destination's CTA, whatever rank the address names.
TEST(MbarrierRemoteStores, ABarrierInAnotherCtaThanTheDataIsTheDestinations) {
  std::vector<Diagnosis> reports;
  const auto out = output_of(
      "1",
      exchange(
          "4",
          "  mov.u32 %r1, 77;\n  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%peer+16], %r1, [%bar];\n"),
      1, &reports, 1, 2);
  EXPECT_THAT(out, ElementsAre(77u));
  ASSERT_FALSE(reports.empty());
  EXPECT_EQ(reports[0].code, "bulk-mbarrier-elsewhere");
  EXPECT_EQ(reports[0].severity, Severity::warning);
  EXPECT_EQ(reports[0].message,
            "st.async into CTA rank 1 that signals an mbarrier of CTA rank 0: hardware signals the mbarrier at that "
            "offset in CTA rank 1");
}

TEST(MbarrierRemoteStores, FewerBytesThanExpectedHangWithTheDifference) {
  const Diagnosis d = stop_of(
      "1",
      exchange(
          "64",
          "  mov.u32 %r1, 1;\n  st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%peer+16], %r1, [%peer];\n"),
      1, 2);
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(diagnosis::render(d), HasSubstr("0 of 1 arrivals missing, 60 bytes outstanding"));
}

TEST(MbarrierRemote, ArriveReachesTheOthersBarrier) {
  for (const CompletionOrder& order : kOrders) {
    const auto out = output_of("2", R"(
  mov.u32 %r9, %cluster_ctarank;
  xor.b32 %r8, %r9, 1;
  mapa.shared::cluster.u32 %r1, %bar, %r8;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
  mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r1];
WAIT:
  mbarrier.try_wait.parity.acquire.cluster.shared.b64 %p0, [%bar], 0;
  @!%p0 bra WAIT;
  mul.wide.u32 %rd1, %r9, 4;
  add.u64 %rd2, %out, %rd1;
  add.u32 %r2, %r9, 1;
  st.global.u32 [%rd2], %r2;
  barrier.cluster.arrive;
  barrier.cluster.wait;
)",
                               2, nullptr, 1, 2, order);
    EXPECT_THAT(out, ElementsAre(1u, 2u));
  }
}

}  // namespace
}  // namespace tinygpu::test
