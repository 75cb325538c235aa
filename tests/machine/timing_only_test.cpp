// Runs that keep the clock and leave the arithmetic out, and what they say of kernels that need it.
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test::timing_only_test {
namespace {

/// A bulk load, then `use` of a word of what it brought, in %v.
std::string kernel(const std::string& use) {
  return R"(
.visible .entry k(.param .u64 p, .param .u64 o) {
  .shared .align 128 .b8 buffer[1024];
  .shared .align 8 .b64 bar;
  .reg .b64 %at, %out, %x;
  .reg .b32 %s, %b, %v, %w;
  .reg .pred %p, %q;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  mov.u32 %s, buffer;
  mov.u32 %b, bar;
  mbarrier.init.shared::cta.b64 [%b], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 1024;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%at], 1024, [%b];
W:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;
  @!%p bra W;
  ld.shared.u32 %v, [%s+16];
  )" + use +
         R"(
})";
}

struct Result {
  uint64_t cycles;
  uint32_t word;
  std::vector<std::string> codes;
};

Result run(const std::string& use, bool timing_only) {
  RunPtx run(kernel(use));
  run.gpu.options.timing_only = timing_only;
  const uint64_t at = run.upload(std::vector<uint32_t>(256, 5)), out = run.upload(std::vector<uint32_t>(64, 1));
  Result r{};
  r.cycles = run.launch("k", {1}, {1}, at, out).cycles;
  r.word = run.download<uint32_t>(out, 1)[0];
  for (const Diagnosis& d : run.reports) r.codes.push_back(d.code);
  return r;
}

TEST(TimingOnly, TheClockStaysAndTheBytesDoNotMove) {
  const char* use = "add.u32 %v, %v, 1; st.global.u32 [%out], %v;";
  const Result whole = run(use, false), clock = run(use, true);
  EXPECT_EQ(whole.word, 6u);
  EXPECT_NE(clock.word, 6u);
  EXPECT_EQ(clock.cycles, whole.cycles);
  EXPECT_TRUE(clock.codes.empty()) << clock.codes[0];
}

TEST(TimingOnly, AKernelWhoseControlReadsItsDataIsReported) {
  for (const char* use : {
           "setp.eq.u32 %q, %v, 5; @%q bra W2; st.global.u32 [%out], %v; W2:",                          // a branch
           "and.b32 %v, %v, 3; mul.wide.u32 %x, %v, 4; add.u64 %x, %out, %x; st.global.u32 [%x], %v;",  // an address
       }) {
    EXPECT_TRUE(run(use, false).codes.empty());
    EXPECT_EQ(run(use, true).codes, std::vector<std::string>{"timing-only-control"}) << use;
  }
}

TEST(TimingOnly, WhatNoCopyBringsMayDecide) {
  const Result clock = run("ld.global.u32 %w, [%at]; setp.eq.u32 %q, %w, 5; @%q st.global.u32 [%out], %w;", true);
  EXPECT_EQ(clock.word, 5u) << "ordinary loads read what is there";
  EXPECT_TRUE(clock.codes.empty());
}

TEST(TimingOnly, AnAccumulatorThatNoMmaHasComputedMayBeLoaded) {
  // The descriptors: 128-byte swizzle, M = 128, N = 64, f16 with f32 results.
  RunPtx run(R"(
.visible .entry k() {
  .shared .align 1024 .b8 buffer[32768];
  .shared .align 8 .b64 bar;
  .shared .align 4 .b32 where;
  .reg .b64 %adesc, %bdesc;
  .reg .b32 %s, %b, %d, %i, %v;
  .reg .pred %p, %q, %first;
  mov.u32 %s, where;
  tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%s], 64;
  ld.shared.u32 %d, [%s];
  mov.u32 %b, bar;
  elect.sync _|%first, 0xffffffff;
  @!%first bra W;
  mbarrier.init.shared::cta.b64 [%b], 1;
  mov.u32 %s, buffer;
  shr.u32 %s, %s, 4;
  cvt.u64.u32 %adesc, %s;
  or.b64 %adesc, %adesc, 0x4000404000010000;
  add.u64 %bdesc, %adesc, 1024;
  mov.u32 %i, 0x08100010;
  setp.ne.u32 %q, 0, 0;
  tcgen05.mma.cta_group::1.kind::f16 [%d], %adesc, %bdesc, %i, %q;
  tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%b];
W:
  bar.warp.sync 0xffffffff;
L:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;
  @!%p bra L;
  tcgen05.fence::after_thread_sync;
  tcgen05.ld.sync.aligned.32x32b.x1.b32 {%v}, [%d];
  tcgen05.wait::ld.sync.aligned;
  tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64;
  tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
})");
  run.gpu.options.timing_only = true;
  EXPECT_GT(run.launch("k", {1}, {32}).cycles, 0u);
  EXPECT_TRUE(run.reports.empty()) << run.reports[0].code << ": " << run.reports[0].message;
}

}  // namespace
}  // namespace tinygpu::test::timing_only_test
