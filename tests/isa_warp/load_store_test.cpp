// ld and st: spaces, widths, vectors, extension, generic addresses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::ElementsAre;

TEST(LoadStore, ExtensionIntoWiderRegisters) {
  RunPtx run(kernel(R"(
  ld.global.u8 %r0, [%in];    st.global.u32 [%out], %r0;
  ld.global.s8 %r0, [%in];    st.global.u32 [%out+4], %r0;
  ld.global.u16 %r0, [%in+2]; st.global.u32 [%out+8], %r0;
  ld.global.s16 %r0, [%in+2]; st.global.u32 [%out+12], %r0;
  ld.global.s32 %rd0, [%in];  st.global.u64 [%out+16], %rd0;
  ld.global.u32 %rd0, [%in];  st.global.u64 [%out+24], %rd0;
  ld.global.s8 %h0, [%in];    st.global.u16 [%out+32], %h0;
  ld.global.b8 %rd0, [%in];   st.global.u64 [%out+40], %rd0;
)"));
  EXPECT_THAT(run_kernel(run, 1, 12, {0x8765'43fe}), ElementsAre(0xfe, 0xffff'fffe, 0x8765, 0xffff'8765, 0x8765'43fe,
                                                                 0xffff'ffff, 0x8765'43fe, 0, 0xfffe, 0, 0xfe, 0));
}

TEST(LoadStore, StoresTakeTheLowBytesOfWiderRegisters) {
  RunPtx run(kernel(R"(
  mov.b64 %rd0, 0x1122334455667788;
  mov.b32 %r0, 0xaabbccdd;
  st.global.u8 [%out], %rd0;
  st.global.u8 [%out+1], %r0;
  st.global.u16 [%out+2], %rd0;
  st.global.u32 [%out+4], %rd0;
  st.global.v2.u8 [%out+8], {%r0, 7};
  st.global.v2.u16 [%out+12], {%r0, 9};
  st.global.v4.u32 [%out+16], {%r0, 1, %r0, 2};
)"));
  EXPECT_THAT(run_kernel(run, 1, 8),
              ElementsAre(0x7788dd88, 0x55667788, 0x07dd, 0x0009ccdd, 0xaabbccdd, 1, 0xaabbccdd, 2));
}

TEST(LoadStore, VectorsOfEveryWidth) {
  RunPtx run(kernel(R"(
  mul.wide.u32 %rd0, %t, 32;
  add.s64 %rd1, %in, %rd0;
  add.s64 %rd2, %out, %rd0;
  ld.global.v8.b32 {%r0,%r1,%r2,%r3,%r4,%r5,%r6,%r7}, [%rd1];
  st.global.v8.b32 [%rd2], {%r7,%r6,%r5,%r4,%r3,%r2,%r1,%r0};
  ld.global.v4.b64 {%rd4,%rd5,%rd6,%rd7}, [%rd1];
  st.global.v4.b64 [%rd2+4096], {%rd7,%rd6,%rd5,%rd4};
  ld.global.v4.u32 {%r0,_,%r2,_}, [%rd1+16];
  st.global.v2.u32 [%rd2+8192], {%r0,%r2};
  ld.global.v2.u64 {%rd4,%rd5}, [%rd1];
  st.global.v2.u64 [%rd2+8208], {%rd5,%rd4};
)"));
  const auto in = iota(32 * 8, 1000);
  const auto out = run_kernel(run, 32, 4096, in);
  for (uint32_t t = 0; t < 32; ++t) {
    for (uint32_t e = 0; e < 8; ++e) EXPECT_EQ(out[8 * t + e], in[8 * t + 7 - e]);
    for (uint32_t e = 0; e < 8; ++e) EXPECT_EQ(out[1024 + 8 * t + e], in[8 * t + (3 - e / 2) * 2 + e % 2]);
    EXPECT_EQ(out[2048 + 8 * t], in[8 * t + 4]);
    EXPECT_EQ(out[2048 + 8 * t + 1], in[8 * t + 6]);
    for (uint32_t e = 0; e < 4; ++e) EXPECT_EQ(out[2052 + 8 * t + e], in[8 * t + (1 - e / 2) * 2 + e % 2]);
  }
}

TEST(LoadStore, SharedLocalAndGenericReachTheSameBytes) {
  RunPtx run(kernel(R"(
  .local .align 8 .b8 mine[16];
  mov.u32 %r1, smem;
  shl.b32 %r2, %t, 2;
  add.u32 %r3, %r1, %r2;
  add.u32 %r4, %t, 100;
  st.shared.u32 [%r3], %r4;
  bar.sync 0;
  xor.b32 %r5, %r2, 124;                 // thread 31 - t
  add.u32 %r6, %r1, %r5;
  cvt.u64.u32 %rd1, %r6;
  cvta.shared.u64 %rd2, %rd1;
  ld.u32 %r7, [%rd2];                    // generic
  mov.u64 %rd3, mine;
  st.local.u32 [%rd3+4], %r7;
  cvta.local.u64 %rd4, %rd3;
  ld.u32 %r8, [%rd4+4];
  cvta.global.u64 %rd5, %dst;
  st.u32 [%rd5], %r8;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 131 - t);
}

TEST(LoadStore, SixteenByteScalars) {
  RunPtx run(kernel(R"(
  ld.global.b128 %q0, [%in];
  mov.u32 %r1, smem;
  st.shared.b128 [%r1+16], %q0;
  ld.shared.b128 %q1, [%r1+16];
  st.global.b128 [%out], %q1;
)"));
  EXPECT_THAT(run_kernel(run, 1, 4, {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
}

TEST(LoadStore, ParametersConstantsAndInitialisedVariables) {
  RunPtx run(R"(
.const .align 4 .u32 table[3] = {7, 8, 9};
.global .align 4 .u32 counter = 41;
.visible .entry k(.param .u64 pin, .param .align 16 .b8 blob[24], .param .u8 small)
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>;
  ld.param.u64 %rd0, [pin];
  ld.param.v2.u32 {%r0,%r1}, [blob+8];
  ld.param.s8 %r2, [small];
  mov.u64 %rd1, table;
  ld.const.u32 %r3, [%rd1+8];
  ld.const.u32 %r4, [table+4];
  ld.global.u32 %r5, [counter];
  st.global.v4.u32 [%rd0], {%r0,%r1,%r2,%r3};
  st.global.v2.u32 [%rd0+16], {%r4,%r5};
  mov.b64 %rd3, blob;
  cvta.param.u64 %rd4, %rd3;
  ld.u32 %r6, [%rd4+20];
  st.global.u32 [%rd0+24], %r6;
  ret;
}
)");
  struct Blob {
    uint32_t w[6];
  };
  const uint64_t out = run.buffer<uint32_t>(8);
  run.launch("k", {1}, {32}, out, Blob{{1, 2, 3, 4, 5, 6}}, uint8_t(0x80));
  EXPECT_THAT(run.download<uint32_t>(out, 7), ElementsAre(3, 4, 0xffffff80, 9, 8, 41, 6));
}

TEST(LoadStore, PartialWarpsTouchOnlyTheirLanes) {
  RunPtx run(kernel(R"(
  setp.lt.u32 %p0, %t, 5;
  mov.u32 %r0, 77;
  @%p0 ld.global.u32 %r0, [%src];
  st.global.u32 [%dst], %r0;
  setp.ge.u32 %p1, %t, 30;
  @%p1 st.global.u32 [%dst], 5;
)"));
  const auto out = run_kernel(run, 32, 32, iota(32, 10));
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t < 5 ? 10 + t : t >= 30 ? 5 : 77);
}

TEST(LoadStore, OfLanesThatStoreToOnePlaceTheLowestStays) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  st.shared.u32 [%r1], %t;
  setp.ge.u32 %p0, %t, 11;
  @%p0 st.shared.u32 [%r1+4], %t;
  st.global.u32 [%out], %t;
  ld.shared.v2.u32 {%r2,%r3}, [%r1];
  st.global.v2.u32 [%out+8], {%r2,%r3};
)"));
  EXPECT_THAT(run_kernel(run, 32, 4), ElementsAre(0, 0, 0, 11));
}

TEST(LoadStore, StrongAccessesBetweenSmsSeeEachOther) {
  // CTA 0 hands a value to CTA 1 through a flag; both run at once on different SMs.
  RunPtx run(R"(
.visible .entry k(.param .u64 pflag, .param .u64 pout)
{
  .reg .b32 %r<8>; .reg .b64 %rd<8>; .reg .pred %p<4>;
  ld.param.u64 %rd0, [pflag];
  ld.param.u64 %rd1, [pout];
  mov.u32 %r0, %ctaid.x;
  setp.ne.u32 %p0, %r0, 0;
  @%p0 bra CONSUMER;
  mov.u32 %r1, 1234;
  st.global.u32 [%rd0+4], %r1;
  mov.u32 %r2, 1;
  st.release.gpu.global.u32 [%rd0], %r2;
  ret;
CONSUMER:
  ld.acquire.gpu.global.u32 %r3, [%rd0];
  setp.eq.u32 %p1, %r3, 0;
  @%p1 bra CONSUMER;
  ld.global.u32 %r4, [%rd0+4];
  st.global.u32 [%rd1], %r4;
  ret;
}
)");
  const uint64_t flag = run.buffer<uint32_t>(2), out = run.buffer<uint32_t>(1);
  run.launch("k", {2}, {1}, flag, out);
  EXPECT_EQ(run.download<uint32_t>(out, 1)[0], 1234u);
}

TEST(LoadStore, OrdinaryLoadOfALiveMbarrierWarnsAndGivesTheOldBytes) {
  RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  mov.b64 %rd1, 0x1122334455667788;
  st.shared.u64 [%r1], %rd1;
  mbarrier.init.shared::cta.b64 [%r1], 1;
  ld.shared.u64 %rd2, [%r1];
  st.global.u64 [%out], %rd2;
)"));
  EXPECT_THAT(run_kernel(run, 1, 2), ElementsAre(0x55667788, 0x11223344));
  ASSERT_EQ(run.reports.size(), 1u);
  EXPECT_EQ(run.reports[0].code, "mbarrier-memory-reused");
  EXPECT_EQ(run.reports[0].severity, Severity::warning);
}

/// PTX: `before` and a load from %r3, 64 times, each waiting for the one before. %r4 counts, %r6 is 0.
std::string loop64(const std::string& before = {}) {
  return "  mov.u32 %r4, 0;\nLOOP:\n" + before + R"(
  add.u32 %r7, %r3, %r6;
  ld.shared.u32 %r6, [%r7];
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 64;
  @%p0 bra LOOP;
)";
}

TEST(LoadStore, BankConflictsCostPasses) {
  // 64 dependent loads at stride 1 and at stride 32 words: 32 passes against one.
  const auto cycles = [](int stride) {
    RunPtx run(kernel(R"(
  mov.u32 %r1, smem;
  mul.lo.u32 %r2, %t, )" +
                      std::to_string(stride * 4) + R"(;
  add.u32 %r3, %r1, %r2;
  mov.u32 %r6, 0;
  mov.u32 %r8, 0;
  st.shared.u32 [%r3], %r8;
)" + loop64()));
    return run.launch("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).cycles;
  };
  const double difference = double(cycles(32)) - double(cycles(1));
  EXPECT_NEAR(difference / 64, 31, 1) << "a 32-way conflict takes 31 passes more than none";
}

TEST(LoadStore, PassesAreThoseOfEveryExecution) {
  // One instruction whose lanes lie in 32 banks and in one bank by turns: 31 passes more every other time.
  const auto cycles = [](int even, int odd) {
    RunPtx run(kernel("  mov.u32 %r1, smem;\n  mul.lo.u32 %r2, %t, " + std::to_string(even * 4) +
                      ";\n  mul.lo.u32 %r5, %t, " + std::to_string(odd * 4) + R"(;
  add.u32 %r2, %r1, %r2;
  add.u32 %r5, %r1, %r5;
  mov.u32 %r6, 0;
  st.shared.u32 [%r2], %r6;
  st.shared.u32 [%r5], %r6;
)" + loop64("  and.b32 %r7, %r4, 1; setp.eq.u32 %p1, %r7, 0; selp.b32 %r3, %r2, %r5, %p1;\n")));
    return double(run.launch("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).cycles);
  };
  const double none = cycles(2, 2);  // two passes
  EXPECT_NEAR((cycles(32, 32) - none) / 64, 30, 1);
  EXPECT_NEAR((cycles(32, 2) - none) / 64, 15, 1);
  EXPECT_NEAR((cycles(2, 32) - none) / 64, 15, 1);
}

// Whole warps in shared memory take a way of their own; two halves do not.
TEST(LoadStore, WholeWarpsInSharedMemoryDoWhatTheirHalvesDo) {
  struct Width {
    const char *type, *registers;
    uint32_t bytes;
  };
  const Width widths[] = {{"u8", "%r10", 1},
                          {"u16", "%r10", 2},
                          {"u32", "%r10", 4},
                          {"u64", "%rd10", 8},
                          {"v2.u8", "{%r10,%r11}", 2},
                          {"v2.u32", "{%r10,%r11}", 8},
                          {"v4.u16", "{%r10,%r11,%r12,%r13}", 8},
                          {"v4.u32", "{%r10,%r11,%r12,%r13}", 16},
                          {"v2.u64", "{%rd10,%rd11}", 16}};
  const std::string places[] = {
      "mov.u32 %r1, %t;",                              // one behind the other
      "sub.u32 %r1, 31, %t;",                          // the other way round
      "shl.b32 %r1, %t, 1;",                           // with gaps
      "shr.u32 %r1, %t, 1;",                           // neighbours in one place
      "mov.u32 %r1, 3;",                               // all in one place
      "mul.lo.u32 %r1, %t, 7; and.b32 %r1, %r1, 31;",  // shuffled
  };
  for (const Width& width : widths)
    for (const std::string& place : places)
      for (const bool generic : {false, true}) {
        const auto run_with = [&](bool halves) {
          const std::string space = generic ? "" : ".shared", address = generic ? "[%rd2]" : "[%r2]";
          // Lanes 16 to 31 first: of lanes that store to one place the lowest stays.
          const auto both = [&](const std::string& line) {
            return halves ? "  @!%p0 " + line + "\n  @%p0 " + line + "\n" : "  " + line + "\n";
          };
          std::string body = "  setp.lt.u32 %p0, %t, 16;\n  " + place + "\n  mul.lo.u32 %r1, %r1, " +
                             std::to_string(width.bytes) + ";\n";
          body += "  mov.u32 %r0, smem; add.u32 %r2, %r0, %r1; cvt.u64.u32 %rd1, %r2; cvta.shared.u64 %rd2, %rd1;\n";
          for (int r = 10; r < 18; ++r)
            body +=
                "  mad.lo.u32 %r" + std::to_string(r) + ", %t, 0x01030507, " + std::to_string(r * 0x11111111u) + ";\n";
          for (int r = 10; r < 14; ++r)
            body += "  mul.wide.u32 %rd" + std::to_string(r) + ", %r" + std::to_string(r) + ", 0x89abcdef;\n";
          for (int i = 0; i < 16; ++i)
            body += "  mad.lo.u32 %r4, %t, 4, %r0; st.shared.u32 [%r4+" + std::to_string(128 * i) + "], 0;\n";
          const std::string registers = width.registers;
          body += both("st" + space + "." + width.type + " " + address + ", " + registers + ";");
          body += both("ld" + space + "." + width.type + " " + registers + ", " + address + ";");
          // What was loaded, then all of shared memory, a half-warp at a time.
          body += "  mul.lo.u32 %r3, %t, 64; cvt.u64.u32 %rd3, %r3; add.s64 %rd3, %rd3, %out;\n";
          body += registers.find("rd") != std::string::npos
                      ? "  st.global.v2.u64 [%rd3], {%rd10,%rd11}; st.global.v2.u64 [%rd3+16], {%rd12,%rd13};\n"
                      : "  st.global.v8.u32 [%rd3], {%r10,%r11,%r12,%r13,%r14,%r15,%r16,%r17};\n";
          body += "  mad.lo.u32 %r4, %t, 4, %r0;\n";
          for (int i = 0; i < 16; ++i)
            body += "  @%p0 ld.shared.u32 %r5, [%r4+" + std::to_string(128 * i) +
                    "];\n  @!%p0 ld.shared.u32 %r5, [%r4+" + std::to_string(128 * i) + "];\n  st.global.u32 [%dst+" +
                    std::to_string(2048 + 128 * i) + "], %r5;\n";
          RunPtx run(kernel(body));
          return run_kernel(run, 32, 1024);
        };
        EXPECT_EQ(run_with(false), run_with(true)) << width.type << ' ' << place << (generic ? " generic" : "");
      }
}

}  // namespace
}  // namespace tinygpu::test
