// Special registers as instructions read them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

// An H200 says 1024 for 1000 bytes of dynamic shared memory.
TEST(Special, SharedMemoryIsCountedInUnitsOfItsAllocation) {
  RunPtx run(R"(
.visible .entry k(.param .u64 pout)
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .extern .shared .b8 dynamic[];
  ld.param.u64 %rd0, [pout];
  mov.u32 %r0, %total_smem_size; mov.u32 %r1, %dynamic_smem_size;
  st.global.v2.u32 [%rd0], {%r0,%r1};
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(2);
  run.dynamic_shared = 1000;
  run.launch("k", {1}, {1}, out);
  EXPECT_EQ(run.download<uint32_t>(out, 2), (std::vector<uint32_t>{1024, 1000}));
}

// PTX of CUDA 1 reads 16 bits of %tid and %ctaid; ptxas 13 takes any special register in a cvt between integers.
TEST(Special, ConversionsReadThem) {
  RunPtx run(R"(
.visible .entry k(.param .u64 pout)
{
  .reg .b16 %h; .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [pout];
  cvt.u32.u16 %r0, %tid.x; cvt.u32.u32 %r1, %ntid.x; cvt.s32.s16 %r2, %tid.x; cvt.u64.u32 %rd2, %tid.x;
  cvt.u32.u8 %r3, %tid.x; cvt.u16.u32 %h, %tid.x; cvt.u32.u16 %r4, %h; cvt.u32.u64 %r5, %globaltimer;
  cvt.u32.u16 %r6, %globaltimer; and.b32 %r7, %r5, 0xffff; sub.u32 %r6, %r6, %r7;
  cvt.u32.u64 %r7, %rd2;
  mul.wide.u32 %rd1, %r0, 32; add.s64 %rd0, %rd0, %rd1;
  st.global.v4.u32 [%rd0], {%r0,%r1,%r2,%r3};
  st.global.v4.u32 [%rd0+16], {%r4,%r6,%r7,%r5};
  ret;
}
)");
  const uint64_t out = run.buffer<uint32_t>(300 * 8);
  run.launch("k", {1}, {300}, out);
  const auto v = run.download<uint32_t>(out, 300 * 8);
  for (uint32_t t = 0; t < 300; ++t) {
    EXPECT_EQ(v[8 * t], t);
    EXPECT_EQ(v[8 * t + 1], 300u);
    EXPECT_EQ(v[8 * t + 2], t);
    EXPECT_EQ(v[8 * t + 3], t & 255);
    EXPECT_EQ(v[8 * t + 4], t);
    EXPECT_LT(v[8 * t + 5], 1000u) << "the low half of a 64-bit register, read a little later";
    EXPECT_EQ(v[8 * t + 6], t);
  }
}

TEST(Special, ThreadAndGridCoordinates) {
  RunPtx run(R"(
.visible .entry k(.param .u64 pout)
{
  .reg .b32 %r<32>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [pout];
  mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;
  mov.u32 %r3, %ntid.x; mov.u32 %r4, %ntid.y; mov.u32 %r5, %ntid.z;
  mov.u32 %r6, %ctaid.x; mov.u32 %r7, %ctaid.y; mov.u32 %r8, %ctaid.z;
  mov.u32 %r9, %nctaid.x; mov.u32 %r10, %nctaid.y; mov.u32 %r11, %nctaid.z;
  mov.u32 %r12, %laneid; mov.u32 %r13, %lanemask_lt; mov.u32 %r14, %lanemask_ge; mov.u32 %r15, %warpid;
  mad.lo.u32 %r20, %r2, %r4, %r1;
  mad.lo.u32 %r20, %r20, %r3, %r0;
  mad.lo.u32 %r21, %r7, %r9, %r6;
  mad.lo.u32 %r22, %r21, 60, %r20;
  mul.wide.u32 %rd1, %r22, 64;
  add.s64 %rd2, %rd0, %rd1;
  st.global.v4.u32 [%rd2], {%r0,%r1,%r2,%r3};
  st.global.v4.u32 [%rd2+16], {%r4,%r5,%r6,%r7};
  st.global.v4.u32 [%rd2+32], {%r8,%r9,%r10,%r11};
  st.global.v4.u32 [%rd2+48], {%r12,%r13,%r14,%r15};
  ret;
}
)");
  const Dim3 grid{3, 2, 1}, block{5, 4, 3};
  const uint64_t out = run.buffer<uint32_t>(6 * 60 * 16);
  run.launch("k", grid, block, out);
  const auto v = run.download<uint32_t>(out, 6 * 60 * 16);
  for (uint32_t cta = 0; cta < 6; ++cta)
    for (uint32_t t = 0; t < 60; ++t) {
      const uint32_t* r = &v[(cta * 60 + t) * 16];
      const uint32_t lane = t % 32;
      const uint32_t expected[16] = {t % 5,
                                     t / 5 % 4,
                                     t / 20,
                                     5,
                                     4,
                                     3,
                                     cta % 3,
                                     cta / 3,
                                     0,
                                     3,
                                     2,
                                     1,
                                     lane,
                                     uint32_t((uint64_t(1) << lane) - 1),
                                     uint32_t(~((uint64_t(1) << lane) - 1)),
                                     t / 32};
      for (int i = 0; i < 16; ++i) EXPECT_EQ(r[i], expected[i]) << "cta " << cta << " thread " << t << " word " << i;
    }
}

TEST(Special, ClocksAdvance) {
  RunPtx run(kernel(R"(
  mov.u64 %rd1, %clock64; mov.u64 %rd2, %globaltimer; mov.u32 %r1, %clock;
  nanosleep.u32 3000;
  mov.u64 %rd3, %clock64; mov.u64 %rd4, %globaltimer; mov.u32 %r2, %clock;
  sub.s64 %rd3, %rd3, %rd1; sub.s64 %rd4, %rd4, %rd2; sub.u32 %r2, %r2, %r1;
  cvt.u32.u64 %r3, %rd3; cvt.u32.u64 %r4, %rd4;
  st.global.v2.u32 [%out], {%r3,%r4};
  st.global.u32 [%out+8], %r2;
)"),
             [] {
               MachineSpec s = plain_machine();
               s.clock_ghz = 2.0;
               return s;
             }());
  const auto out = run_kernel(run, 1, 4);
  EXPECT_NEAR(out[0], 6000, 150) << "cycles at 2 GHz";
  EXPECT_NEAR(out[1], 3000, 75) << "nanoseconds";
  EXPECT_NEAR(out[2], 6000, 150);
}

TEST(Special, ClusterRegisters) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %cluster_nctarank; mov.u32 %r3, %clusterid.x; mov.u32 %r4, %cluster_ctaid.x;
  mov.pred %p0, %is_explicit_cluster;
  selp.u32 %r5, 1, 0, %p0;
  mov.u32 %r6, smem;
  shr.u32 %r7, %r6, 24;                    // the own rank in the top byte
  mov.u32 %r8, %ctaid.x;
  mul.wide.u32 %rd1, %r8, 32;
  add.s64 %rd2, %out, %rd1;
  st.global.v4.u32 [%rd2], {%r1,%r2,%r3,%r4};
  st.global.v2.u32 [%rd2+16], {%r5,%r7};
)"));
  run.cluster = {4};
  const uint64_t out = run.buffer<uint32_t>(64);
  run.launch("k", {8}, {1}, run.buffer<uint32_t>(1), out);
  const auto v = run.download<uint32_t>(out, 64);
  for (uint32_t c = 0; c < 8; ++c)
    EXPECT_THAT(std::vector<uint32_t>(v.begin() + 8 * c, v.begin() + 8 * c + 6),
                ::testing::ElementsAre(c % 4, 4, c / 4, c % 4, 1, c % 4));
}

}  // namespace
}  // namespace tinygpu::test
