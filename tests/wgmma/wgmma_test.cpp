// wgmma beyond its numbers (tests/conformance/wgmma): asynchrony, order, and what breaks the rules.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "tests/conformance/wgmma/cases.h"
#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;

/// D[64 x 8] = ones · ones from shared memory that all threads fill with bf16 1.0; `body` holds the wgmmas. A's
/// descriptor is %rd1, B's %rd2 (no swizzle), the accumulators %f0 … %f3, zero at first. Every thread stores %f0.
std::string kernel(const std::string& body) {
  return R"(
.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<16>; .reg .f32 %f<8>;
  .shared .align 1024 .b8 smem[4096];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, 0x3f803f80;
  shl.b32 %r3, %r0, 2;
FILL:
  add.u32 %r4, %r1, %r3;
  st.shared.u32 [%r4], %r2;
  add.u32 %r3, %r3, 512;
  setp.lt.u32 %p0, %r3, 4096;
  @%p0 bra FILL;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  and.b32 %r5, %r1, 262143; shr.u32 %r5, %r5, 4; cvt.u64.u32 %rd1, %r5;
  mov.b64 %rd3, 0x0000000800080000;
  add.s64 %rd1, %rd1, %rd3;
  mov.b64 %rd2, %rd1;
  mov.f32 %f0, 0f00000000; mov.f32 %f1, 0f00000000; mov.f32 %f2, 0f00000000; mov.f32 %f3, 0f00000000;
  setp.eq.u32 %p1, %r0, %r0;
  setp.ne.u32 %p2, %r0, %r0;
)" + body +
         R"(
  shl.b32 %r6, %r0, 2; cvt.u64.u32 %rd4, %r6; add.s64 %rd5, %rd0, %rd4;
  st.global.f32 [%rd5], %f0;
  ret;
}
)";
}

const char* kMma =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f0, %f1, %f2, %f3}, %rd1, %rd2, %p1, 1, 1, 0, 0;\n";
const char* kFence = "wgmma.fence.sync.aligned;\n";
const char* kCommit = "wgmma.commit_group.sync.aligned;\n";
const char* kWait = "wgmma.wait_group.sync.aligned 0;\n";

std::vector<float> run(RunPtx& r) {
  const uint64_t out = r.buffer<float>(128);
  r.launch("k", {1}, {128}, out);
  return r.download<float>(out, 128);
}

TEST(Wgmma, ChainedOperationsAddUpInOrder) {
  for (auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late, CompletionOrder::Mode::seeded}) {
    RunPtx r(kernel(std::string(kFence) + kMma + kMma + kCommit + kMma + kCommit + kWait), hopper_machine());
    r.gpu.options.order = {mode, 5};
    EXPECT_THAT(run(r), ::testing::Each(48.0f));
    EXPECT_TRUE(r.reports.empty());
  }
}

TEST(Wgmma, IsCountedOnceForItsWarpgroup) {
  RunPtx r(kernel(std::string(kFence) + kMma + kMma + kMma + kCommit + kWait), hopper_machine());
  auto stats = r.launch("k", {1}, {128}, r.buffer<float>(128));
  EXPECT_EQ(stats.counters["wgmma.mma_async"], 3u);
  EXPECT_EQ(stats.counters["wgmma.mma_async operations"], 3u * 2 * 64 * 8 * 16);
}

TEST(Wgmma, CountsBitsThatBothHave) {
  std::string text =
      kernel("mov.b32 %r8, 0; mov.b32 %r9, 0; mov.b32 %r10, 0; mov.b32 %r11, 1;\n" + std::string(kFence) +
             "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%r8, %r9, %r10, %r11}, %rd1, %rd2, %p2;\n"
             "wgmma.mma_async.sync.aligned.m64n8k256.s32.b1.b1.and.popc {%r8, %r9, %r10, %r11}, %rd1, %rd2, %p1;\n" +
             kCommit + kWait + "mov.b32 %f0, %r11;\n");
  const std::string store = "st.shared.u32 [%r4], %r2;";
  text.replace(text.find(store), store.size(), "mul.lo.u32 %r2, %r3, 0x9e3779b1; " + store);
  RunPtx r(text, hopper_machine());
  const uint64_t out = r.buffer<uint32_t>(128);
  auto stats = r.launch("k", {1}, {128}, out);
  EXPECT_EQ(stats.counters["wgmma.mma_async operations"], 2u * 2 * 64 * 8 * 256);
  // Eight rows of 16 bytes stand together, and 128 bytes lead to the next eight, along rows as along K.
  const auto word = [](uint32_t row, uint32_t i) {
    return (row % 8 * 16 + row / 8 * 128 + i / 4 * 128 + i % 4 * 4) * 0x9e3779b1u;
  };
  const auto got = r.download<uint32_t>(out, 128);
  for (uint32_t t = 0; t < 128; ++t) {
    uint32_t sum = 0;  // register 3 of a lane: the second column of its pair, eight rows down
    for (uint32_t i = 0; i < 8; ++i)
      sum += uint32_t(std::popcount(word(t / 32 * 16 + t % 32 / 4 + 8, i) & word(t % 4 * 2 + 1, i)));
    EXPECT_EQ(got[t], 2 * sum) << t;
  }
}

TEST(Wgmma, ScaleDFalseForgetsTheAccumulator) {
  std::string again = kMma;
  again.replace(again.find("%p1"), 3, "%p2");
  RunPtx r(kernel(std::string(kFence) + kMma + kMma + again + kCommit + kWait), hopper_machine());
  EXPECT_THAT(run(r), ::testing::Each(16.0f));
}

TEST(Wgmma, WaitingForAllButOneLeavesTheLatestGroupRunning) {
  // The second group's accumulators are other registers; the first group's may be read after wait_group 1.
  const char* other =
      "mov.f32 %f4, 0f00000000; mov.f32 %f5, 0f00000000; mov.f32 %f6, 0f00000000; mov.f32 %f7, 0f00000000;\n";
  const char* second =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f4, %f5, %f6, %f7}, %rd1, %rd2, %p1, 1, 1, 0, 0;\n";
  RunPtx r(
      kernel(std::string(other) + kFence + kMma + kCommit + second + kCommit + "wgmma.wait_group.sync.aligned 1;\n" +
             "add.f32 %f0, %f0, 0f3f800000;\n" + kWait + "add.f32 %f0, %f0, %f4;\n"),
      hopper_machine());
  EXPECT_THAT(run(r), ::testing::Each(33.0f));
  EXPECT_TRUE(r.reports.empty());
}

TEST(Wgmma, ReadingAnAccumulatorInFlightIsReported) {
  RunPtx r(kernel(std::string(kFence) + kMma + kCommit + "add.f32 %f0, %f0, 0f3f800000;\n" + kWait), hopper_machine());
  run(r);
  ASSERT_FALSE(r.reports.empty());
  EXPECT_EQ(r.reports[0].code, "wgmma-not-waited");
  EXPECT_THAT(r.reports[0].help, HasSubstr("wgmma.wait_group"));
  EXPECT_THAT(r.reports[0].where.ptx_text, HasSubstr("add.f32"));
}

TEST(Wgmma, UnderLateOrderSuchAReaderSeesPoison) {
  RunPtx r(kernel(std::string(kFence) + kMma + kCommit + "add.f32 %f4, %f0, %f0;\n" + kWait + "mov.f32 %f0, %f4;\n"),
           hopper_machine());
  r.gpu.options.order.mode = CompletionOrder::Mode::late;
  EXPECT_THAT(run(r), ::testing::Each(::testing::IsNan()));
}

// As on an H200: tests/conformance/misuse.
TEST(Wgmma, TheFirstWarpsDescriptorsCount) {
  const auto result = [](const std::string& where, size_t reports) {
    RunPtx r(kernel("setp.lt.u32 %p3, %r0, 64; shl.b32 %r8, %r0, 2; add.u32 %r8, %r8, %r1; mov.u32 %r9, 0x40004000;\n"
                    "@%p3 st.shared.u32 [%r8+256], %r9; fence.proxy.async.shared::cta; bar.sync 0;\n"
                    "shr.u32 %r7, %r0, 5; setp." +
                    where + "; selp.b64 %rd6, 16, 0, %p3; add.s64 %rd2, %rd2, %rd6;\n" + std::string(kFence) + kMma +
                    kCommit + kWait),
             hopper_machine());
    const auto d = run(r);
    EXPECT_EQ(r.reports.size(), reports) << where;
    for (const Diagnosis& x : r.reports) {
      EXPECT_EQ(x.code, "wgmma-not-uniform");
      EXPECT_EQ(x.severity, Severity::warning);
    }
    return d;
  };
  const auto plain = result("gt.u32 %p3, %r7, 9", 0), shifted = result("lt.u32 %p3, %r7, 9", 0);
  EXPECT_NE(plain, shifted);
  EXPECT_EQ(result("eq.u32 %p3, %r7, 2", 1), plain);
  EXPECT_EQ(result("eq.u32 %p3, %r7, 0", 1), shifted);
}

TEST(Wgmma, ReservedDescriptorBitsAreIgnored) {
  const auto result = [](const std::string& bits) {
    RunPtx r(kernel("or.b64 %rd2, %rd2, " + bits + ";\n" + std::string(kFence) + kMma + kCommit + kWait),
             hopper_machine());
    const auto d = run(r);
    for (const Diagnosis& x : r.reports) {
      EXPECT_EQ(x.code, "matrix-descriptor");
      EXPECT_EQ(x.severity, Severity::warning);
    }
    EXPECT_EQ(r.reports.empty(), bits == "0");
    return d;
  };
  const auto plain = result("0");
  for (const char* bits : {"0xc000", "0xc0000000", "0x1c00000000000", "0x3ff0000000000000"})
    EXPECT_EQ(result(bits), plain);
}

TEST(Wgmma, OperandsOutsideSharedMemoryAreNamed) {
  RunPtx r(kernel("mov.b64 %rd6, 0x3000; add.s64 %rd2, %rd2, %rd6;\n" + std::string(kFence) + kMma + kCommit + kWait),
           hopper_machine());
  const Diagnosis d = r.fault_of("k", {1}, {128}, r.buffer<float>(128));
  EXPECT_EQ(d.code, "matrix-out-of-bounds");
  EXPECT_EQ(d.kind, FaultKind::illegal_address);
  EXPECT_THAT(d.message, HasSubstr("B of wgmma.mma_async"));
}

TEST(Wgmma, OperandsThatOrdinaryStoresWroteNeedAProxyFence) {
  const std::string mma = std::string(kFence) + kMma + kCommit + kWait;
  std::string unfenced = kernel(mma);
  const std::string fence = "fence.proxy.async.shared::cta;";
  unfenced.replace(unfenced.find(fence), fence.size(), "fence.acq_rel.cta;");
  RunPtx r(unfenced, hopper_machine());
  EXPECT_THAT(run(r), ::testing::Each(16.0f)) << "the model itself has no stale copies";
  ASSERT_EQ(r.reports.size(), 1u);
  EXPECT_EQ(r.reports[0].code, "proxy-fence-missing");
  EXPECT_EQ(r.reports[0].severity, Severity::error);
  EXPECT_THAT(r.reports[0].message, HasSubstr("A of wgmma.mma_async reads shared offset 0x400, which ordinary stores "
                                              "have written and no fence.proxy.async has made visible to the async "
                                              "proxy"));
  EXPECT_THAT(r.reports[0].where.ptx_text, HasSubstr("wgmma.mma_async"));
  // Rows 0 to 7 of B alone, K-major as above and MN-major: 128 bytes 512 behind A's 1024.
  for (const char* major : {"0, 0", "0, 1"}) {
    std::string store = kMma;
    store.replace(store.rfind("0, 0"), 4, major);
    RunPtx b(kernel("mov.b64 %rd6, 96; add.s64 %rd2, %rd2, %rd6;\n st.shared.u32 [%r1+1540], %r2;\nbar.sync 0;\n" +
                    std::string(kFence) + store + kCommit + kWait),
             hopper_machine());
    run(b);
    ASSERT_EQ(b.reports.size(), 1u) << major;
    EXPECT_THAT(b.reports[0].message, HasSubstr("B of wgmma.mma_async reads shared offset 0xa00")) << major;
  }
}

TEST(Wgmma, OneWarpAloneWaitsForever) {
  // Only warp 0 issues: a warpgroup's operation never starts.
  RunPtx r(
      kernel("setp.lt.u32 %p3, %r0, 32;\n@!%p3 bra OUT;\n" + std::string(kFence) + kMma + kCommit + kWait + "OUT:\n"),
      hopper_machine());
  const Diagnosis d = r.fault_of("k", {1}, {128}, r.buffer<float>(128));
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(diagnosis::render(d), HasSubstr("wgmma.wait_group"));
}

}  // namespace
}  // namespace tinygpu::test
