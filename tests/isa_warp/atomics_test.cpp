// atom and red: every operation against values worked out by hand, serialisation of a warp's lanes, remote shared
// memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::ElementsAre;

/// Old value and memory after one atom on a 32-bit word.
std::vector<uint32_t> once(const std::string& op, uint32_t memory, const std::string& operands, bool shared = false) {
  const std::string space = shared ? "shared" : "global";
  const bool packed = op.find("x2") != std::string::npos;  // a packed operand must be a register
  RunPtx run(
      kernel("  mov.b32 %r5, " + (packed ? operands : "0") + ";\n" +
             (shared ? "  mov.u32 %r9, smem;\n  cvt.u64.u32 %rd9, %r9;\n" : std::string("  mov.u64 %rd9, %in;\n")) +
             "  ld.global.u32 %r1, [%in];\n  st." + space + ".u32 [%rd9], %r1;\n  atom." + space + "." + op +
             " %r0, [%rd9], " + (packed ? "%r5" : operands) + ";\n  st.global.u32 [%out], %r0;\n  ld." + space +
             ".u32 %r2, [%rd9];\n  st.global.u32 [%out+4], %r2;\n"));
  return run_kernel(run, 1, 2, {memory});
}

TEST(Atomics, EveryIntegerOperation) {
  EXPECT_THAT(once("add.u32", 0xffffffff, "2"), ElementsAre(0xffffffff, 1));
  EXPECT_THAT(once("min.s32", 5, "-3"), ElementsAre(5, 0xfffffffd));
  EXPECT_THAT(once("min.u32", 5, "0xfffffffd"), ElementsAre(5, 5));
  EXPECT_THAT(once("max.s32", 5, "-3"), ElementsAre(5, 5));
  EXPECT_THAT(once("max.u32", 5, "0xfffffffd"), ElementsAre(5, 0xfffffffd));
  EXPECT_THAT(once("and.b32", 0xff00, "0x0ff0"), ElementsAre(0xff00, 0x0f00));
  EXPECT_THAT(once("or.b32", 0xff00, "0x0ff0"), ElementsAre(0xff00, 0xfff0));
  EXPECT_THAT(once("xor.b32", 0xff00, "0x0ff0"), ElementsAre(0xff00, 0xf0f0));
  EXPECT_THAT(once("exch.b32", 1, "9"), ElementsAre(1, 9));
  EXPECT_THAT(once("cas.b32", 1, "1, 9"), ElementsAre(1, 9));
  EXPECT_THAT(once("cas.b32", 1, "2, 9"), ElementsAre(1, 1));
  EXPECT_THAT(once("inc.u32", 6, "7"), ElementsAre(6, 7));
  EXPECT_THAT(once("inc.u32", 7, "7"), ElementsAre(7, 0));
  EXPECT_THAT(once("dec.u32", 0, "7"), ElementsAre(0, 7));
  EXPECT_THAT(once("dec.u32", 8, "7"), ElementsAre(8, 7));
  EXPECT_THAT(once("dec.u32", 7, "7"), ElementsAre(7, 6));
}

TEST(Atomics, FloatAddFlushesSubnormalsOnlyInGlobalMemory) {
  EXPECT_THAT(once("add.f32", 0x3f800000, "0f40000000"), ElementsAre(0x3f800000, 0x40400000));
  EXPECT_THAT(once("add.f32", 0x00000001, "0f00000001"), ElementsAre(1, 0));
  EXPECT_THAT(once("add.f32", 0x00000001, "0f00000001", true), ElementsAre(1, 2));
  EXPECT_THAT(once("add.f32", 0x80000001, "0f00000000"), ElementsAre(0x80000001, 0));
  EXPECT_THAT(once("add.f32", 0x7f800000, "0fff800000"), ElementsAre(0x7f800000, 0x7fffffff));
}

TEST(Atomics, PackedHalvesRoundEachHalf) {
  // f16: 1 + 2^-11 ties to even 1; 2048 + 1 -> 2048 (tie to even), 2049 would need 12 bits.
  EXPECT_THAT(once("add.noftz.f16x2", 0x68003c00, "0x3c001000"), ElementsAre(0x68003c00, 0x68003c00));
  // bf16: 1 + 2^-8 ties to even 1; 3 + 1 = 4.
  EXPECT_THAT(once("add.noftz.bf16x2", 0x40403f80, "0x3f803b80"), ElementsAre(0x40403f80, 0x40803f80));
}

TEST(Atomics, LanesOfOneInstructionSeeEachOtherLowestFirst) {
  RunPtx run(kernel(R"(
  add.u32 %r1, %t, 1;
  atom.global.add.u32 %r0, [%in], %r1;
  st.global.u32 [%dst], %r0;
  red.global.max.u32 [%in+4], %t;
)"));
  const uint64_t in = run.upload(std::vector<uint32_t>{100, 3}), out = run.buffer<uint32_t>(32);
  run.launch("k", {1}, {32}, in, out);
  const auto old = run.download<uint32_t>(out, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(old[t], 100 + t * (t + 1) / 2);
  EXPECT_THAT(run.download<uint32_t>(in, 2), ElementsAre(100 + 528, 31));
}

TEST(Atomics, ManySmsCountTogetherInAnyNumberOfHostThreads) {
  for (int threads : {1, 2}) {
    RunPtx run(kernel(R"(
  mov.u32 %r1, %ctaid.x;
  mov.u32 %r2, 0;
LOOP:
  atom.add.u32 %r0, [%in], 1;            // generic address
  add.u32 %r2, %r2, 1;
  setp.lt.u32 %p0, %r2, 5;
  @%p0 bra LOOP;
  atom.global.exch.b64 %rd1, [%in+8], 7;
  red.global.gpu.relaxed.add.u64 [%in+16], 4294967296;
)"));
    run.gpu.options.threads = threads;
    const uint64_t in = run.upload(std::vector<uint32_t>(8)), out = run.buffer<uint32_t>(1);
    run.launch("k", {16}, {64}, in, out);
    EXPECT_THAT(run.download<uint32_t>(in, 6), ElementsAre(16 * 64 * 5, 0, 7, 0, 0, 16 * 64));
  }
}

TEST(Atomics, VectorAddsAndWideCompareAndSwap) {
  RunPtx run(kernel(R"(
  mov.f32 %f0, 0f3f800000; mov.f32 %f1, 0f40000000;
  atom.global.v2.f32.add {%f2,%f3}, [%in], {%f0,%f1};
  st.global.v2.f32 [%out], {%f2,%f3};
  red.global.v4.f32.add [%in+16], {%f0,%f1,%f1,%f0};
  ld.global.b128 %q0, [%in+32];
  ld.global.b128 %q1, [%in+16];
  atom.global.b128.cas %q2, [%in+32], %q0, %q1;
  st.global.b128 [%out+16], %q2;
  mov.b16 %h0, 5; mov.b16 %h1, 6;
  atom.global.cas.b16 %h2, [%in+8], %h0, %h1;
  cvt.u32.u16 %r0, %h2;
  st.global.u32 [%out+8], %r0;
)"));
  std::vector<uint32_t> in = {0x3f800000, 0, 5, 0, 0, 0, 0, 0, 11, 12, 13, 14};
  const uint64_t from = run.upload(in), to = run.buffer<uint32_t>(8);
  run.launch("k", {1}, {1}, from, to);
  EXPECT_THAT(run.download<uint32_t>(to, 8), ElementsAre(0x3f800000, 0, 5, 0, 11, 12, 13, 14));
  EXPECT_THAT(run.download<uint32_t>(from, 12),
              ElementsAre(0x40000000, 0x40000000, 6, 0, 0x3f800000, 0x40000000, 0x40000000, 0x3f800000, 0x3f800000,
                          0x40000000, 0x40000000, 0x3f800000));
}

TEST(Atomics, ReachAnotherCtasSharedMemory) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  st.shared.u32 [%r1], 0;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  and.b32 %r2, %r1, 0xffffff;            // the same offset in rank 0
  add.u32 %r3, %t, 1;
  red.shared::cluster.add.u32 [%r2], %r3;
  barrier.cluster.arrive.aligned;
  barrier.cluster.wait.aligned;
  ld.shared.u32 %r4, [%r1];
  mov.u32 %r5, %cluster_ctarank;
  mul.wide.u32 %rd1, %r5, 4;
  add.s64 %rd2, %out, %rd1;
  st.global.u32 [%rd2], %r4;
)"));
  run.cluster = {4};
  const uint64_t in = run.buffer<uint32_t>(1), out = run.buffer<uint32_t>(4);
  run.launch("k", {4}, {32}, in, out);
  EXPECT_THAT(run.download<uint32_t>(out, 4), ElementsAre(4 * 528, 0, 0, 0));
}

}  // namespace
}  // namespace tinygpu::test
