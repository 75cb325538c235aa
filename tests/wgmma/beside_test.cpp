// What other instructions take while wgmma works on registers.
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Cycles that one warp needs for `count` of `instruction`, with `mmas` wgmma of its warpgroup in flight.
uint32_t cycles_of(const std::string& instruction, int count, int mmas) {
  std::string body, d, zeros;
  for (int i = 0; i < 128; ++i) {
    d += (i ? ", %d" : "%d") + std::to_string(i);
    zeros += "  mov.f32 %d" + std::to_string(i) + ", 0f00000000;\n";
  }
  for (int i = 0; i < mmas; ++i)
    body += "  wgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 {" + d + "}, %b, %b, %on, 1, 1, 0, 0;\n";
  body += "  wgmma.commit_group.sync.aligned;\n  mov.u64 %t0, %clock64;\n";
  for (int i = 0; i < count; ++i) {
    const std::string word = "%w" + std::to_string(i % 8);
    body += "  @%one " + instruction + " " + word + ", " + word + ", %r0, 7;\n";
  }
  RunPtx r(R"(.version 8.6
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 out)
{
  .reg .pred %on, %one; .reg .b32 %r<8>, %w<8>; .reg .b64 %rd<4>, %b, %t0, %t1; .reg .f32 %d<128>;
  .shared .align 1024 .b8 smem[16384];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem;
  setp.eq.u32 %on, %r0, %r0; setp.ge.u32 %one, %r0, 96;
  shr.u32 %r5, %r1, 4; cvt.u64.u32 %b, %r5;
  mov.u32 %w0, 1; mov.u32 %w1, 1; mov.u32 %w2, 1; mov.u32 %w3, 1;
  mov.u32 %w4, 1; mov.u32 %w5, 1; mov.u32 %w6, 1; mov.u32 %w7, 1;
)" + zeros + "  wgmma.fence.sync.aligned;\n" +
               body + R"(
  mov.u64 %t1, %clock64;
  wgmma.wait_group.sync.aligned 0;
  sub.s64 %t1, %t1, %t0;
  cvt.u32.u64 %r3, %t1;
  xor.b32 %w0, %w0, %w1; xor.b32 %w2, %w2, %w3; xor.b32 %w4, %w4, %w5; xor.b32 %w6, %w6, %w7;
  xor.b32 %w0, %w0, %w2; xor.b32 %w4, %w4, %w6; xor.b32 %w0, %w0, %w4;
  mul.wide.u32 %rd2, %r0, 8; add.s64 %rd3, %rd0, %rd2;
  st.global.u32 [%rd3], %r3; st.global.u32 [%rd3+4], %w0;
  ret;
}
)",
           hopper_machine());
  const uint64_t out = r.buffer<uint64_t>(128);
  r.launch("k", {1}, {128}, out);
  return r.download<uint32_t>(out, 256)[254];
}

// An H200 (probe_05_wgmma, "wgmma_beside"): a shift takes 4.4 to 5.1 cycles of a sub-partition beside wgmma, a product
// of integers 4.1 to 5.0; alone two.
TEST(BesideWgmma, OthersTakeTwiceAsLong) {
  for (const char* instruction : {"shf.l.wrap.b32", "mad.lo.u32"}) {
    // Six wgmmas take 768 cycles; the first instructions find the unit idle.
    const uint32_t alone = cycles_of(instruction, 64, 0),
                   beside = cycles_of(instruction, 128, 6) - cycles_of(instruction, 64, 6);
    EXPECT_NEAR(alone, 2 * 64, 20) << instruction;
    EXPECT_GT(beside, 4 * 64 - 20) << instruction;
    EXPECT_LT(beside, 5 * 64 + 20) << instruction;
  }
}

}  // namespace
}  // namespace tinygpu::test
