// When things happen: operands are read by the engine and not at issue, accumulators land later, commits tell when.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/mma/mma_case.h"

namespace gen5::test::ordering_test {
namespace {

using tinygpu::CompletionOrder;
using tinygpu::Dim3;
using tinygpu::test::RunPtx;

/// 128x8x16 f16, A and B all ones unless said otherwise; K-major without swizzle.
MmaCase ones() {
  MmaCase c;
  c.place_plainly();
  c.image.resize(kImageBytes);
  c.tmem.assign(kLanes * kColumns, 0);
  c.a_bits.assign(128 * 16, 0x3c00);
  c.b_bits.assign(8 * 16, 0x3c00);
  c.place();
  return c;
}

const std::string kMma = "tcgen05.mma.cta_group::1.kind::f16 [%d], %adesc, %bdesc, %idesc, %en;";
const std::string kCommit = "tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%bar];";

TEST(Commit, EmptyGroupArrivesAtOnce) {
  RunPtx gpu(replaced(kernel_text({}), kMma, ""));
  const MmaCase c = ones();
  EXPECT_EQ(run(gpu, {c})[0], c.tmem);
  for (const tinygpu::Diagnosis& d : gpu.reports) EXPECT_NE(d.code, "commit-empty") << "no thread has issued any";
}

// The thread that commits is not the one that issued: the waiters read before the MMA is done.
TEST(Commit, OfAnotherThreadsMmasIsEmptyAndWarnedOf) {
  RunPtx gpu(replaced(
      replaced(kernel_text({}), kCommit, ""), "wait:\n",
      "wait:\n  setp.eq.u32 %p, %t, 32;\n  @!%p bra waiting;\n  nanosleep.u32 2000;\n  " + kCommit + "\nwaiting:\n"));
  run(gpu, {ones()});
  const auto empty = std::ranges::find(gpu.reports, "commit-empty", &tinygpu::Diagnosis::code);
  ASSERT_NE(empty, gpu.reports.end());
  EXPECT_EQ(empty->severity, tinygpu::Severity::warning);
  EXPECT_EQ(empty->where.thread, 32);
  EXPECT_EQ(empty->where.operation, "");
  ASSERT_EQ(empty->others.size(), 1u);
  EXPECT_EQ(empty->others[0].where.thread, 0);
  EXPECT_EQ(empty->others[0].where.operation, "tcgen05.mma");
}

TEST(Commit, GenericAddress) {
  RunPtx gpu(replaced(kernel_text({}), kCommit,
                      "cvt.u64.u32 %ptr, %bar; cvta.shared.u64 %ptr, %ptr;"
                      "tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [%ptr];"));
  const MmaCase c = ones();
  EXPECT_EQ(run(gpu, {c})[0], c.expected());
}

/// The kernel with a commit that signals the CTAs of `mask`.
std::string commit_to(const std::string& mask) {
  return replaced(
      kernel_text({}), kCommit,
      ".reg .b16 %mask; mov.b16 %mask, " + mask +
          ";tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [%bar], %mask;");
}

TEST(Commit, MulticastToItself) {
  RunPtx gpu(commit_to("1"));
  const MmaCase c = ones();
  EXPECT_EQ(run(gpu, {c})[0], c.expected());
}

TEST(Commit, MaskOutsideTheCluster) {
  RunPtx gpu(commit_to("3"));
  try {
    run(gpu, {ones()});
    FAIL() << "ran to its end";
  } catch (const tinygpu::KernelFault& f) {
    EXPECT_EQ(f.diagnosis.code, "commit-mask");
  }
}

TEST(Ordering, OperandsThatOrdinaryStoresWroteNeedAProxyFence) {
  const std::string fence = "fence.proxy.async.shared::cta;";
  const MmaCase c = ones();
  RunPtx with(kernel_text({}));
  EXPECT_EQ(run(with, {c})[0], c.expected());
  EXPECT_TRUE(with.reports.empty());

  RunPtx without(replaced(kernel_text({}), fence, "fence.acq_rel.cta;"));
  EXPECT_EQ(run(without, {c})[0], c.expected()) << "the model itself has no stale copies";
  ASSERT_EQ(without.reports.size(), 1u);
  EXPECT_EQ(without.reports[0].code, "proxy-fence-missing");
  EXPECT_EQ(without.reports[0].severity, tinygpu::Severity::warning);
  EXPECT_THAT(without.reports[0].message, testing::HasSubstr("A of tcgen05.mma reads shared offset 0x800, which "
                                                             "ordinary stores have written"));
  EXPECT_THAT(without.reports[0].where.ptx_text, testing::StartsWith("tcgen05.mma"));

  // The image lies at 0x800, behind the barrier and aligned to 1024. A store into B behind the fence:
  RunPtx late(replaced(kernel_text({}), fence, fence + " st.shared.b32 [%img+8192], 0x3c003c00;"));
  EXPECT_EQ(run(late, {c})[0], c.expected());
  ASSERT_EQ(late.reports.size(), 1u);
  EXPECT_THAT(late.reports[0].message, testing::HasSubstr("B of tcgen05.mma reads shared offset 0x2800"));

  // With A in Tensor Memory the part that is not handed over is not read.
  Form tmem;
  tmem.a_in_tmem = true;
  MmaCase d = c;
  d.form = tmem;
  d.place();
  RunPtx other(replaced(kernel_text(tmem), fence, fence + " st.shared.b32 [%img], 0;"));
  run(other, {d});
  EXPECT_TRUE(other.reports.empty());
}

/// Eight MMAs into one accumulator, then another into a second one, under every order of completion.
TEST(Ordering, ChainsHoldUnderEveryOrder) {
  std::string chain;
  for (int i = 0; i < 8; ++i) chain += "tcgen05.mma.cta_group::1.kind::f16 [%d], %adesc, %bdesc, %idesc, 1;";
  chain += "add.u32 %tmp, %d, 64; tcgen05.mma.cta_group::1.kind::f16 [%tmp], %adesc, %bdesc, %idesc, 0;";
  RunPtx gpu(replaced(kernel_text({}), kMma, chain));
  MmaCase c = ones();
  std::vector<CompletionOrder> orders{{CompletionOrder::Mode::timed, 0}, {CompletionOrder::Mode::late, 0}};
  for (uint64_t seed = 1; seed <= 6; ++seed) orders.push_back({CompletionOrder::Mode::seeded, seed});
  for (const CompletionOrder& order : orders) {
    gpu.gpu.options.order = order;
    const auto got = run(gpu, {c})[0];
    EXPECT_EQ(got[0], std::bit_cast<uint32_t>(128.0f));
    EXPECT_EQ(got[64 * kLanes + 5], std::bit_cast<uint32_t>(16.0f));
    EXPECT_TRUE(gpu.reports.empty());
  }
}

/// Who fills a collector buffer and who uses it goes by the order of issue, even where accumulators differ.
TEST(Ordering, CollectorsGoByIssueUnderEveryOrder) {
  std::string all;
  for (int i = 0; i < 6; ++i)
    all += "add.u32 %tmp, %d, " + std::to_string(16 * i) + "; tcgen05.mma.cta_group::1.kind::f16.collector::a::" +
           (i == 0   ? "fill"
            : i == 5 ? "lastuse"
                     : "use") +
           " [%tmp], %adesc, %bdesc, %idesc, 0;";
  RunPtx gpu(replaced(kernel_text({}), kMma, all));
  for (uint64_t seed = 0; seed <= 6; ++seed) {
    gpu.gpu.options.order = {seed ? CompletionOrder::Mode::seeded : CompletionOrder::Mode::late, seed};
    run(gpu, {ones()});
    EXPECT_TRUE(gpu.reports.empty()) << gpu.reports[0].code;
  }
}

// Only equal shapes follow each other in issue order (PTX ISA 9.7.16.6.2). The second MMA has N = 16 and adds to what
// the first leaves.
TEST(Ordering, AnotherShapeOnTheSameCellsIsNamed) {
  const std::string first = "tcgen05.mma.cta_group::1.kind::f16 [%d], %adesc, %bdesc, %idesc, 0;";
  const std::string second =
      "add.u32 %tmp, %idesc, 0x20000; tcgen05.mma.cta_group::1.kind::f16 [%d], %adesc, %bdesc, %tmp, 1;";
  const std::string wait =
      ".reg .pred %early; WAITFIRST: mbarrier.try_wait.parity.shared::cta.b64 %early, [%bar], 0; @!%early bra "
      "WAITFIRST; mbarrier.inval.shared.b64 [%bar]; mbarrier.init.shared.b64 [%bar], 1;";
  const auto sum_and_codes = [](const std::string& text, CompletionOrder::Mode mode) {
    RunPtx gpu(replaced(kernel_text({}), kMma, text));
    gpu.gpu.options.order = {mode, 0};
    const float sum = std::bit_cast<float>(run(gpu, {ones()})[0][0]);
    std::string codes;
    for (const auto& d : gpu.reports) codes += " " + d.code;
    return std::to_string(int(sum)) + codes;
  };
  using Mode = CompletionOrder::Mode;
  EXPECT_EQ(sum_and_codes(first + second, Mode::timed), "32 tmem-unordered");
  EXPECT_EQ(sum_and_codes(first + second, Mode::late), "16 tmem-unordered");
  for (Mode mode : {Mode::timed, Mode::late}) EXPECT_EQ(sum_and_codes(first + kCommit + wait + second, mode), "32");
}

// The same kernel as always, but the operands are overwritten between the MMA and its commit's arrival.
TEST(Ordering, OperandsAreReadWhenTheEngineExecutes) {
  RunPtx gpu(replaced(kernel_text({}), kCommit, kCommit + "st.shared.b32 [%img], 0x40004000;"));
  const MmaCase c = ones();
  const auto got = run(gpu, {c})[0];
  EXPECT_EQ(got[0], std::bit_cast<uint32_t>(18.0f));  // the first two elements of row 0 became 2
  EXPECT_EQ(got[1], std::bit_cast<uint32_t>(16.0f));
}

// Reading D without waiting for the commit: the old cells when the MMA completes at its last moment, and a warning.
TEST(Ordering, AccumulatorsLandAfterIssue) {
  std::string text = replaced(kernel_text({}), "mbarrier.try_wait.parity.shared::cta.b64 %done, [%bar], 0;",
                              // Late is who was planned last: the load, not the MMA.
                              ".reg .b32 %turn; mov.u32 %turn, 0; TURN: add.u32 %turn, %turn, 1; setp.lt.u32 %done, "
                              "%turn, 400; @%done bra TURN; setp.eq.u32 %done, 0, 0;");
  text = replaced(text, kCommit, "");
  RunPtx gpu(text);
  gpu.gpu.options.order = {CompletionOrder::Mode::late, 0};
  MmaCase c = ones();
  c.tmem.assign(kLanes * kColumns, 0x42);
  const auto got = run(gpu, {c})[0];
  EXPECT_EQ(got[0], 0x42u);
  bool warned = false;
  for (const auto& d : gpu.reports) warned |= d.code == "tmem-not-complete";
  EXPECT_TRUE(warned);
}

std::string fault_of(const MmaCase& c, const std::string& text) {
  RunPtx gpu(text);
  return fault_in([&] { run(gpu, {c}); });
}

TEST(Diagnosis, FieldsAreNamed) {
  MmaCase c = ones();
  c.n = 264;
  EXPECT_EQ(fault_of(c, kernel_text({})).substr(0, 22), "instruction-descriptor");
  EXPECT_NE(fault_of(c, kernel_text({})).find("N >> 3 (bits 22:17) holds 33 (N = 264)"), std::string::npos);
  c = ones();
  c.b.swizzle = 3;
  EXPECT_NE(fault_of(c, kernel_text({})).find("the swizzle field (bits 63:61) holds 3"), std::string::npos);
  c = ones();
  c.a.stride = 0x30000;
  EXPECT_EQ(fault_of(c, kernel_text({})).substr(0, 20), "matrix-out-of-bounds");
  c = ones();
  c.d_column = 505;
  EXPECT_EQ(fault_of(c, kernel_text({})).substr(0, 18), "tmem-out-of-bounds");
  c = ones();
  c.lane = 16;
  EXPECT_EQ(fault_of(c, kernel_text({})).substr(0, 19), "mma-lane-alignment:");
}

TEST(Diagnosis, CollectorUseOfChangedData) {
  const std::string fill = "tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%d], %adesc, %bdesc, %idesc, 0;";
  const auto reports = [&](const std::string& second) {
    RunPtx gpu(replaced(kernel_text({}), kMma, fill + second));
    run(gpu, {ones()});
    std::string codes;
    for (const auto& d : gpu.reports) codes += d.code + " ";
    return codes;
  };
  EXPECT_EQ(reports("tcgen05.mma.cta_group::1.kind::f16.collector::a::lastuse [%d], %adesc, %bdesc, %idesc, 1;"), "");
  EXPECT_EQ(reports("add.u64 %adesc, %adesc, 1; tcgen05.mma.cta_group::1.kind::f16.collector::a::use [%d], %adesc, "
                    "%bdesc, %idesc, 1;"),
            "collector-stale ");
}

}  // namespace
}  // namespace gen5::test::ordering_test
