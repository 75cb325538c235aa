// Grids, CTAs and clusters get to every SM, and the result and the clock do not depend on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

const char* kVectorAdd = R"(
.visible .entry add(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u32 n)
{
  .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %rd<8>; .reg .f32 %f<4>;
  ld.param.u64 %rd1, [pa]; ld.param.u64 %rd2, [pb]; ld.param.u64 %rd3, [pc]; ld.param.u32 %r1, [n];
  mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ntid.x; mov.u32 %r4, %tid.x;
  mad.lo.s32 %r5, %r2, %r3, %r4;
  setp.ge.s32 %p1, %r5, %r1;
  @%p1 bra DONE;
  mul.wide.s32 %rd4, %r5, 4;
  add.s64 %rd5, %rd1, %rd4; add.s64 %rd6, %rd2, %rd4; add.s64 %rd7, %rd3, %rd4;
  ld.global.f32 %f1, [%rd5]; ld.global.f32 %f2, [%rd6];
  add.f32 %f3, %f1, %f2;
  st.global.f32 [%rd7], %f3;
DONE:
  ret;
}
)";

TEST(Launch, AddsVectors) {
  RunPtx run(kVectorAdd);
  const uint32_t n = 10000;
  std::vector<float> a(n), b(n);
  std::iota(a.begin(), a.end(), 1.0f);
  std::iota(b.begin(), b.end(), 0.5f);
  const uint64_t pa = run.upload(a), pb = run.upload(b), pc = run.buffer<float>(n);
  const LaunchStats stats = run.launch("add", {(n + 255) / 256}, {256}, pa, pb, pc, n);
  const auto c = run.download<float>(pc, n);
  for (uint32_t i = 0; i < n; ++i) ASSERT_EQ(c[i], a[i] + b[i]) << i;
  EXPECT_GT(stats.cycles, 30u);
  EXPECT_GT(stats.instructions, n / 32 * 15);
}

TEST(Launch, CyclesDoNotDependOnHostThreads) {
  uint64_t cycles[2];
  for (int i = 0; i < 2; ++i) {
    RunPtx run(kVectorAdd);
    run.gpu.options.threads = i == 0 ? 1 : 2;
    const uint32_t n = 20000;
    const uint64_t pa = run.buffer<float>(n), pb = run.buffer<float>(n), pc = run.buffer<float>(n);
    cycles[i] = run.launch("add", {(n + 127) / 128}, {128}, pa, pb, pc, n).cycles;
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

TEST(Launch, OutOfBoundsNamesTheAllocation) {
  RunPtx run(kVectorAdd);
  const uint64_t pa = run.buffer<float>(64), pb = run.buffer<float>(64), pc = run.buffer<float>(64);
  const Diagnosis d = run.fault_of("add", {1}, {96}, pa, pb, pc, 128u);
  EXPECT_EQ(d.kind, FaultKind::illegal_address);
  EXPECT_THAT(d.message, ::testing::HasSubstr("0 bytes past the end of a 256-byte allocation"));
  EXPECT_EQ(d.where.kernel, "add");
  EXPECT_EQ(d.where.thread, 64);
  EXPECT_THAT(d.where.ptx_text, ::testing::HasSubstr("ld.global.f32"));
}

TEST(Launch, SpecialRegistersOfClusters) {
  RunPtx run(R"(
.visible .entry who(.param .u64 out)
{
  .reg .b32 %r<12>; .reg .b64 %rd<4>; .reg .pred %p<2>;
  ld.param.u64 %rd1, [out];
  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %cluster_ctarank; mov.u32 %r3, %cluster_nctarank; mov.u32 %r4, %clusterid.x;
  mov.u32 %r5, %nclusterid.x; mov.u32 %r6, %tid.x;
  setp.ne.u32 %p1, %r6, 0;
  @%p1 ret;
  mul.wide.u32 %rd2, %r1, 16;
  add.s64 %rd3, %rd1, %rd2;
  st.global.v4.u32 [%rd3], {%r2, %r3, %r4, %r5};
  ret;
}
)");
  run.cluster = {4};
  const uint64_t out = run.buffer<uint32_t>(8 * 4);
  run.launch("who", {8}, {64}, out);
  const auto v = run.download<uint32_t>(out, 32);
  for (uint32_t c = 0; c < 8; ++c)
    EXPECT_THAT(std::vector<uint32_t>(v.begin() + c * 4, v.begin() + c * 4 + 4),
                ::testing::ElementsAre(c % 4, 4u, c / 4, 2u));
}

TEST(Launch, StrongAccessesOfManyCtasAreOrdered) {
  // Every CTA adds to one counter and keeps what it saw: a permutation, the same one on any number of threads.
  const char* text = R"(
.visible .entry count(.param .u64 counter, .param .u64 out)
{
  .reg .b32 %r<4>; .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [counter]; ld.param.u64 %rd2, [out];
  atom.global.add.u32 %r1, [%rd1], 1;
  mov.u32 %r2, %ctaid.x;
  mul.wide.u32 %rd3, %r2, 4;
  add.s64 %rd4, %rd2, %rd3;
  st.global.u32 [%rd4], %r1;
  ret;
}
)";
  std::vector<uint32_t> seen[2];
  for (int i = 0; i < 2; ++i) {
    RunPtx run(text);
    run.gpu.options.threads = i + 1;
    const uint64_t counter = run.buffer<uint32_t>(1), out = run.buffer<uint32_t>(100);
    run.launch("count", {100}, {1}, counter, out);
    seen[i] = run.download<uint32_t>(out, 100);
  }
  EXPECT_EQ(seen[0], seen[1]);
  std::sort(seen[0].begin(), seen[0].end());
  for (uint32_t i = 0; i < 100; ++i) EXPECT_EQ(seen[0][i], i);
}

TEST(Launch, SpinOnAFlagThatNobodySetsIsADeadlock) {
  RunPtx run(R"(
.visible .entry spin(.param .u64 flag)
{
  .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
  ld.param.u64 %rd1, [flag];
LOOP:
  ld.volatile.global.u32 %r1, [%rd1];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra LOOP;
  ret;
}
)");
  const Diagnosis d = run.fault_of("spin", {2}, {32}, run.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.message, ::testing::HasSubstr("these warps spin"));
}

// oneTBB, which ran the host threads once, kept 6.5 KB for each launch.
TEST(Launch, LeavesNoMemoryBehind) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "freed memory stays in the sanitizer's quarantine";
#endif
  RunPtx run(".visible .entry k() { ret; }");
  run.gpu.options.threads = 2;
  const auto resident_kib = [] {
    std::ifstream statm("/proc/self/statm");
    uint64_t pages = 0;
    statm >> pages >> pages;
    return int64_t(pages * 4);
  };
  const auto launches = [&](int n) {
    for (int i = 0; i < n; ++i) run.launch("k", {8}, {32});
  };
  launches(500);
  const int64_t before = resident_kib();
  launches(2000);
  EXPECT_LT(resident_kib() - before, 1024);
}

}  // namespace
}  // namespace tinygpu::test
