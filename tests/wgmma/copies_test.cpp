// cp.async while wgmma reads shared memory: each is held up for some cycles.
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Cycles that one warp needs to issue 32 copies, with `mmas` wgmma of its warpgroup in flight.
uint32_t cycles_of_copies(int mmas) {
  std::string body;
  for (int i = 0; i < mmas; ++i)
    body += "  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, %b, %b, %on, 1, 1, 0, 0;\n";
  body += "  wgmma.commit_group.sync.aligned;\n  mov.u64 %t0, %clock64;\n";
  for (int i = 0; i < 32; ++i) body += "  @%one cp.async.cg.shared.global [%to], [%from], 16;\n";
  RunPtx r(R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out, .param .u64 source)
{
  .reg .pred %on, %one; .reg .b32 %r<8>, %to; .reg .b64 %rd<4>, %b, %from, %t0, %t1; .reg .f32 %d<4>;
  .shared .align 1024 .b8 smem[8192];
  ld.param.u64 %rd0, [out]; ld.param.u64 %from, [source];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem;
  shl.b32 %r2, %r0, 4; add.u32 %to, %r1, %r2; add.u32 %to, %to, 4096;
  cvt.u64.u32 %rd1, %r2; add.s64 %from, %from, %rd1;
  setp.eq.u32 %on, %r0, %r0; setp.ge.u32 %one, %r0, 96;
  shr.u32 %r5, %r1, 4; cvt.u64.u32 %b, %r5;
  mov.f32 %d0, 0f00000000; mov.f32 %d1, 0f00000000; mov.f32 %d2, 0f00000000; mov.f32 %d3, 0f00000000;
  wgmma.fence.sync.aligned;
)" + body + R"(
  mov.u64 %t1, %clock64;
  cp.async.wait_all;
  wgmma.wait_group.sync.aligned 0;
  sub.s64 %t1, %t1, %t0;
  cvt.u32.u64 %r3, %t1;
  shl.b32 %r4, %r0, 2; cvt.u64.u32 %rd2, %r4; add.s64 %rd3, %rd0, %rd2;
  st.global.u32 [%rd3], %r3;
  ret;
}
)",
           hopper_machine());
  const uint64_t out = r.buffer<uint32_t>(128), source = r.buffer<uint8_t>(4096);
  r.launch("k", {1}, {128}, out, source);
  return r.download<uint32_t>(out, 128)[127];
}

TEST(WgmmaCopies, CopiesAreHeldUpWhileOperandsAreRead) {
  const uint32_t alone = cycles_of_copies(0), beside = cycles_of_copies(100);
  EXPECT_GT(alone, 50u) << "32 copies of four lines, of which a queue takes some at once";
  // An H200 in a ring of stages: some seven cycles a copy where alone it takes five.
  EXPECT_GT(beside, alone * 5 / 4);
  EXPECT_LT(beside, alone * 2);
}

}  // namespace
}  // namespace tinygpu::test
