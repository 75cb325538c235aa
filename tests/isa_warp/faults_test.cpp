// Bad addresses: what hardware would report, and where.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;

const char* kFile = "\n.file 1 \"saxpy.cu\"\n";

TEST(Faults, OutOfBoundsNamesKernelCtaThreadAndLines) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, %ctaid.x;
  mad.lo.u32 %r2, %r1, 64, %t;
  mul.wide.u32 %rd1, %r2, 4;
  add.s64 %rd2, %in, %rd1;
  .loc 1 42 5
  ld.global.u32 %r3, [%rd2];
  st.global.u32 [%dst], %r3;
)",
                    4096, kFile));
  const Diagnosis d = run.fault_of("k", {3}, {32}, run.buffer<uint32_t>(128 + 5), run.buffer<uint32_t>(64));
  EXPECT_EQ(d.kind, FaultKind::illegal_address);
  EXPECT_EQ(d.where.kernel, "k");
  EXPECT_EQ(d.where.cta[0], 2);
  EXPECT_EQ(d.where.thread, 5);
  EXPECT_EQ(d.where.cuda_line, 42);
  EXPECT_THAT(d.where.cuda_file, HasSubstr("saxpy.cu"));
  EXPECT_EQ(d.where.ptx_text, "ld.global.u32 %r3, [%rd2]");
  EXPECT_THAT(d.message, HasSubstr("0 bytes past the end of a 532-byte allocation"));
}

TEST(Faults, MisalignedVector) {
  RunPtx run(kernel("  ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%in+8];\n"));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(64), run.buffer<uint32_t>(64));
  EXPECT_EQ(d.kind, FaultKind::misaligned_address);
  EXPECT_EQ(d.where.thread, 0);
  EXPECT_THAT(d.message, HasSubstr("not a multiple of 16"));
}

TEST(Faults, OnlyTheExecutingLanesAreChecked) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p0, %t, 3;
  selp.b64 %rd1, %in, 64, %p0;
  mov.u32 %r1, 9;
  @%p0 ld.global.u32 %r1, [%rd1];
  st.global.u32 [%dst], %r1;
)"));
  const std::vector<uint32_t> got = run_kernel(run, 32, 32, {7, 0, 0, 0});
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(got[lane], lane < 3 ? 7u : 9u) << lane;
}

TEST(Faults, SharedMemoryEndsWhereTheLaunchSaid) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 2;
  add.u32 %r3, %r1, %r2;
  st.shared.u32 [%r3+32], %t;
)",
                    128));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1));
  EXPECT_EQ(d.kind, FaultKind::illegal_address);
  EXPECT_EQ(d.where.thread, 24);
}

TEST(Faults, NullAndHostPointers) {
  RunPtx null(kernel("  mov.u64 %rd1, 0;\n  ld.u32 %r1, [%rd1];\n"));
  EXPECT_EQ(null.fault_of("k", {1}, {1}, null.buffer<uint32_t>(1), null.buffer<uint32_t>(1)).kind,
            FaultKind::illegal_address);
  RunPtx host(kernel("  st.global.u32 [%in], 1;\n"));
  uint32_t on_the_stack = 0;
  EXPECT_EQ(host.fault_of("k", {1}, {1}, reinterpret_cast<uint64_t>(&on_the_stack), host.buffer<uint32_t>(1)).kind,
            FaultKind::illegal_address);
}

TEST(Faults, ParametersAreReadOnly) {
  RunPtx run(kernel("  mov.b64 %rd1, pin;\n  cvta.param.u64 %rd2, %rd1;\n  st.u32 [%rd2], 1;\n"));
  EXPECT_EQ(run.fault_of("k", {1}, {1}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).code, "store-to-parameter");
}

TEST(Faults, SharedAddressOfAnotherCtaNeedsTheClusterWindow) {
  RunPtx run(kernel("  mov.u32 %r1, smem;\n  xor.b32 %r2, %r1, 0x1000000;\n  ld.shared.u32 %r3, [%r2];\n"));
  run.cluster = {2};
  const Diagnosis d = run.fault_of("k", {2}, {1}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "shared-window");
  EXPECT_EQ(d.kind, FaultKind::illegal_instruction);  // as on an H200
  // An index below 0 names a CTA that no cluster has.
  RunPtx below(kernel("  mov.u32 %r1, smem;\n  sub.u32 %r2, %r1, 4000;\n  ld.shared.u32 %r3, [%r2];\n"));
  const Diagnosis negative = below.fault_of("k", {1}, {1}, below.buffer<uint32_t>(1), below.buffer<uint32_t>(1));
  EXPECT_EQ(negative.code, "shared-window");
  EXPECT_EQ(negative.kind, FaultKind::illegal_instruction);  // as on an H200
  EXPECT_THAT(negative.message, HasSubstr("CTA rank 255"));
  RunPtx beyond(kernel("  mov.u32 %r1, 0x7000400;\n  ld.shared::cluster.u32 %r3, [%r1];\n"));
  beyond.cluster = {2};
  EXPECT_EQ(beyond.fault_of("k", {2}, {1}, beyond.buffer<uint32_t>(1), beyond.buffer<uint32_t>(1)).code,
            "cluster-rank");
}

TEST(Faults, AtomicsCheckTheirAlignment) {
  RunPtx run(kernel("  mov.u64 %rd2, 1;\n  atom.global.add.u64 %rd1, [%in+4], %rd2;\n"));
  EXPECT_EQ(run.fault_of("k", {1}, {1}, run.buffer<uint32_t>(4), run.buffer<uint32_t>(1)).kind,
            FaultKind::misaligned_address);
}

TEST(Faults, WhatIsNotModelledStopsWithItsName) {
  RunPtx run(kernel("  mov.b64 %rd1, 0;\n  txq.width.b32 %r1, [%rd1];\n"));
  const Diagnosis d = run.fault_of("k", {1}, {1}, run.buffer<uint32_t>(4), run.buffer<uint32_t>(1));
  EXPECT_EQ(d.kind, FaultKind::not_modelled);
  EXPECT_THAT(d.message, HasSubstr("not modelled: txq.width.b32"));
}

}  // namespace
}  // namespace tinygpu::test
