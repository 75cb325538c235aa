// cp.async: bytes land later than issue, groups complete in order, arrivals come when copies have landed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::ElementsAre;

const char* kCopyOne = R"(
  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 4;
  add.u32 %r3, %r1, %r2;
  mul.wide.u32 %rd1, %t, 16;
  add.s64 %rd2, %in, %rd1;
  add.s64 %rd3, %out, %rd1;
)";

std::string copy_out(const std::string& from = "%r3", const std::string& to = "%rd3") {
  return "  ld.shared.v4.u32 {%r10,%r11,%r12,%r13}, [" + from + "];\n  st.global.v4.u32 [" + to +
         "], {%r10,%r11,%r12,%r13};\n";
}

class CpAsync : public ::testing::TestWithParam<CompletionOrder> {};

TEST_P(CpAsync, LandsAfterTheWaitAndNotBefore) {
  RunPtx run(kernel(std::string(kCopyOne) + R"(
  mov.u32 %r4, 7;
  st.shared.v4.u32 [%r3], {%r4,%r4,%r4,%r4};
  cp.async.cg.shared.global [%r3], [%rd2], 16;
  cp.async.commit_group;
  ld.shared.u32 %r20, [%r3];              // too early: the old bytes
  cp.async.wait_group 0;
)" + copy_out() + "  st.global.u32 [%dst+2048], %r20;\n"));
  run.gpu.options.order = GetParam();
  const auto in = iota(128, 500);
  const auto out = run_kernel(run, 32, 1024, in);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], in[i]);
  if (GetParam().mode == CompletionOrder::Mode::seeded) return;  // may land at any moment after issue
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[512 + t], 7u) << "a copy landed at issue";
}

TEST_P(CpAsync, WaitGroupLeavesTheNewestPending) {
  RunPtx run(kernel(
      std::string(kCopyOne) + R"(
  cp.async.ca.shared.global [%r3], [%rd2], 16;
  cp.async.commit_group;
  cp.async.ca.shared.global [%r3+512], [%rd2+512], 8;
  cp.async.ca.shared.global [%r3+520], [%rd2+520], 4;
  cp.async.commit_group;
  cp.async.commit_group;                  // empty: complete at once
  cp.async.wait_group 2;
)" + copy_out() +
      "  cp.async.wait_group 0;\n  add.u32 %r3, %r3, 512;\n  add.s64 %rd3, %rd3, 512;\n  st.shared.u32 [%r3+12], 0;\n" +
      copy_out()));
  run.gpu.options.order = GetParam();
  const auto in = iota(256);
  const auto out = run_kernel(run, 32, 256, in);
  for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(out[i], i >= 128 && i % 4 == 3 ? 0 : in[i]) << i;
}

TEST_P(CpAsync, ShortSourcesAreFilledWithZeros) {
  RunPtx run(kernel(std::string(kCopyOne) + R"(
  and.b32 %r5, %t, 31;
  min.u32 %r5, %r5, 16;
  setp.gt.u32 %p0, %t, 16;
  selp.b64 %rd2, 8, %rd2, %p0;            // lanes that read nothing may hold any address
  selp.b32 %r5, 0, %r5, %p0;
  cp.async.cg.shared.global [%r3], [%rd2], 16, %r5;
  cp.async.wait_all;
)" + copy_out()));
  run.gpu.options.order = GetParam();
  std::vector<uint32_t> in(128, 0xffffffff);
  const auto out = run_kernel(run, 32, 128, in);
  const auto* bytes = reinterpret_cast<const uint8_t*>(out.data());
  for (uint32_t t = 0; t < 32; ++t)
    for (uint32_t b = 0; b < 16; ++b) EXPECT_EQ(bytes[16 * t + b], t <= 16 && b < t ? 0xff : 0) << t << " " << b;
}

TEST_P(CpAsync, IgnoreSourceWritesZeros) {
  RunPtx run(kernel(std::string(kCopyOne) + R"(
  setp.lt.u32 %p0, %t, 8;
  cp.async.ca.shared.global [%r3], [%rd2], 16, %p0;
  cp.async.wait_all;
)" + copy_out()));
  run.gpu.options.order = GetParam();
  const auto in = iota(128, 1);
  const auto out = run_kernel(run, 32, 128, in);
  for (uint32_t i = 0; i < 128; ++i) EXPECT_EQ(out[i], i < 32 ? 0 : in[i]);
}

TEST_P(CpAsync, MbarrierArrivesWhenEarlierCopiesHaveLanded) {
  // Two warps copy; noinc arrivals count against init(64), the plain form brings its own count.
  for (const char* form : {".noinc", ""}) {
    RunPtx run(kernel(std::string(kCopyOne) + R"(
  add.u32 %r30, %r1, 2048;
  setp.eq.u32 %p0, %t, 0;
  @%p0 mbarrier.init.shared::cta.b64 [%r30], 64;
  bar.sync 0;
  cp.async.cg.shared.global [%r3], [%rd2], 16;
  cp.async.mbarrier.arrive)" +
                      std::string(form) +
                      R"(.shared::cta.b64 [%r30];
)" + (*form ? "" : "  mbarrier.arrive.shared::cta.b64 _, [%r30];\n") +
                      R"(
WAIT:
  mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r30], 0;
  @!%p1 bra WAIT;
  xor.b32 %r5, %r2, 1008;                 // another thread's bytes
  add.u32 %r6, %r1, %r5;
)" + copy_out("%r6")));
    run.gpu.options.order = GetParam();
    const auto in = iota(256);
    const auto out = run_kernel(run, 64, 256, in);
    for (uint32_t i = 0; i < 256; ++i) EXPECT_EQ(out[i], (63 - i / 4) * 4 + i % 4) << form;
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, CpAsync,
                         ::testing::Values(CompletionOrder{CompletionOrder::Mode::timed, 0},
                                           CompletionOrder{CompletionOrder::Mode::late, 0},
                                           CompletionOrder{CompletionOrder::Mode::seeded, 3}),
                         [](const auto& info) {
                           return info.index == 0 ? "timed" : info.index == 1 ? "late" : "seeded";
                         });

TEST(CpAsyncFaults, MisalignedAndOutOfBoundsAtIssue) {
  RunPtx run(kernel(std::string(kCopyOne) + "  cp.async.cg.shared.global [%r3], [%rd2+4], 16;\n"));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(256), run.buffer<uint32_t>(256));
  EXPECT_EQ(d.kind, FaultKind::misaligned_address);
  RunPtx far(kernel(std::string(kCopyOne) + "  cp.async.cg.shared.global [%r3+4096], [%rd2], 16;\n"));
  EXPECT_EQ(far.fault_of("k", {1}, {32}, far.buffer<uint32_t>(256), far.buffer<uint32_t>(256)).kind,
            FaultKind::illegal_address);
}

TEST(CpAsyncFaults, SourceSizeLargerThanTheCopyIsReported) {
  RunPtx run(
      kernel(std::string(kCopyOne) + "  mov.u32 %r5, 20;\n  cp.async.cg.shared.global [%r3], [%rd2], 16, %r5;\n"));
  run_kernel(run, 32, 1, iota(128));
  ASSERT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(run.reports[0].code, "cp-async-size");
}

}  // namespace
}  // namespace tinygpu::test
