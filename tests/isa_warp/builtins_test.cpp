// Device printf, assert, malloc and free through the calls that nvcc makes of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

std::string bytes(const std::string& name, const std::string& text) {
  std::string s = ".global .align 1 .b8 " + name + "[" + std::to_string(text.size() + 1) + "] = {";
  for (unsigned char c : text) s += std::to_string(c) + ",";
  return s + "0};\n";
}

constexpr const char* kExtern = R"(
.extern .func (.param .b32 r) vprintf (.param .b64 a, .param .b64 b);
.extern .func (.param .b64 r) malloc (.param .b64 a);
.extern .func free (.param .b64 a);
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
)";

/// A call of vprintf; the arguments stand in `args` as the store instructions nvcc would make, into [%rd20].
std::string print(const std::string& args) {
  return R"(
  .local .align 8 .b8 depot[64];
  mov.u64 %rd20, depot;
  cvta.local.u64 %rd21, %rd20;
)" + args +
         R"(
  mov.u64 %rd22, format;
  cvta.global.u64 %rd23, %rd22;
  { .param .b64 a0; st.param.b64 [a0], %rd23;
    .param .b64 a1; st.param.b64 [a1], %rd21;
    .param .b32 r0;
    call.uni (r0), vprintf, (a0, a1);
    ld.param.b32 %r40, [r0]; }
  st.global.u32 [%dst], %r40;
)";
}

TEST(Printf, EveryConversion) {
  RunPtx run(kernel(print(R"(
  st.local.u32 [%rd20], -5; st.local.u32 [%rd20+4], 255;
  mov.b64 %rd1, -1234567890123; st.local.u64 [%rd20+8], %rd1;
  mov.f64 %fd0, 0d3FF8000000000000; st.local.f64 [%rd20+16], %fd0;
  mov.u64 %rd2, word; cvta.global.u64 %rd3, %rd2; st.local.u64 [%rd20+24], %rd3;
  st.local.u32 [%rd20+32], 65; st.local.u32 [%rd20+36], 7; st.local.u32 [%rd20+40], 42;
)"),
                    0, kExtern + bytes("format", "[%d|%#x|%lld|%8.3f|%s|%c|%*d|100%%]\n") + bytes("word", "abc")));
  const auto out = run_kernel(run, 1, 1);
  EXPECT_EQ(run.output, "[-5|0xff|-1234567890123|   1.500|abc|A|     42|100%]\n");
  EXPECT_EQ(out[0], 8u) << "CUDA returns the number of arguments";
}

// What an H100 prints (CUDA 13.0, 2026-11-22): a width may come from an argument, a precision may not.
TEST(Printf, WhatCudaDoesNotTakePrintsAsItStands) {
  RunPtx run(kernel(print("  st.local.u32 [%rd20], 7; st.local.u32 [%rd20+4], 8; st.local.u32 [%rd20+8], 9;\n"), 0,
                    kExtern + bytes("format", "[%*d|%.*d|%5$d|%n|%q|%Lf|%hd|%")));
  run_kernel(run, 1, 1);
  EXPECT_EQ(run.output, "[      8|%.*d|%5$d|%n|%q|%Lf|9|%");
}

TEST(Printf, NoWidthTakesTheHostsMemory) {
  for (const char* format : {"%2147483647d,", "%99999999999999999999d,", "%.2000000000d,", "%-1048577d,"}) {
    RunPtx run(kernel(print("  st.local.u32 [%rd20], 7;\n"), 0, kExtern + bytes("format", format)));
    run_kernel(run, 1, 1);
    EXPECT_EQ(run.output, "7,") << format;
    ASSERT_EQ(run.reports.size(), 1u) << format;
    EXPECT_EQ(run.reports[0].code, "printf-too-long");
  }
  RunPtx run(kernel(print("  st.local.u32 [%rd20], -2147483648; st.local.u32 [%rd20+4], 7;\n"), 0,
                    kExtern + bytes("format", "%*d,")));
  run_kernel(run, 1, 1);
  EXPECT_EQ(run.output, "7,");
  RunPtx wide(kernel(print("  st.local.u32 [%rd20], 7;\n"), 0, kExtern + bytes("format", "%100000d")));
  run_kernel(wide, 1, 1);
  EXPECT_EQ(wide.output, std::string(99999, ' ') + "7");
}

TEST(Printf, EveryThreadPrintsInOrderOfLanes) {
  RunPtx run(kernel(print("  st.local.u32 [%rd20], %t;\n"), 0, kExtern + bytes("format", "%u,")));
  run_kernel(run, 5, 8);
  EXPECT_EQ(run.output, "0,1,2,3,4,");
}

TEST(Printf, ADanglingStringIsAFault) {
  RunPtx run(kernel(print("  st.local.u64 [%rd20], 4660;\n"), 0, kExtern + bytes("format", "%s")));
  EXPECT_EQ(run.fault_of("k", {1}, {1}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).kind,
            FaultKind::illegal_address);
}

TEST(Assert, SaysWhatCudaSays) {
  RunPtx run(kernel(R"(
  setp.ne.u32 %p0, %t, 35;
  @%p0 bra FINE;
  mov.u64 %rd1, message; cvta.global.u64 %rd2, %rd1;
  mov.u64 %rd3, file; cvta.global.u64 %rd4, %rd3;
  mov.u64 %rd5, function; cvta.global.u64 %rd6, %rd5;
  { .param .b64 a0; st.param.b64 [a0], %rd2;
    .param .b64 a1; st.param.b64 [a1], %rd4;
    .param .b32 a2; st.param.b32 [a2], 19;
    .param .b64 a3; st.param.b64 [a3], %rd6;
    .param .b64 a4; st.param.b64 [a4], 1;
    call.uni __assertfail, (a0, a1, a2, a3, a4); }
FINE:
)",
                    0, kExtern + bytes("message", "n > 3") + bytes("file", "t.cu") + bytes("function", "void k(int)")));
  const Diagnosis d = run.fault_of("k", {1}, {64}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1));
  EXPECT_EQ(d.kind, FaultKind::device_assert);
  EXPECT_EQ(d.message, "t.cu:19: void k(int): block: [0,0,0], thread: [35,0,0] Assertion `n > 3` failed.");
  EXPECT_EQ(d.where.thread, 35);
}

TEST(Heap, MallocGivesMemoryUntilTheHeapIsFull) {
  const std::string allocate = R"(
  { .param .b64 a0; st.param.b64 [a0], %rd1;
    .param .b64 r0;
    call.uni (r0), malloc, (a0);
    ld.param.b64 %rd2, [r0]; }
)";
  RunPtx run(kernel("  mov.u64 %rd1, 64;\n" + allocate + R"(
  st.u32 [%rd2], %t;
  mov.u64 %rd3, %rd2;
  mov.u64 %rd1, 16777216;
)" + allocate + R"(
  setp.eq.u64 %p0, %rd2, 0;
  selp.u32 %r1, 100, 0, %p0;
  ld.u32 %r2, [%rd3];
  add.u32 %r3, %r1, %r2;
  st.global.u32 [%dst], %r3;
  { .param .b64 a0; st.param.b64 [a0], %rd3; call.uni free, (a0); }
)",
                    0, kExtern));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 100 + t) << "16 MiB do not fit in a heap of 8 MiB";
  EXPECT_EQ(run.gpu.heap_used, 0u);
}

// As on an H200: an allocation of another kind is let be, a pointer into its middle is an illegal address, what is no
// allocation is a launch failure.
TEST(Heap, FreeOfOtherMemory) {
  const auto text = [](const char* pointer) {
    return kernel(std::string("  { .param .b64 a0; st.param.b64 [a0], ") + pointer + "; call.uni free, (a0); }\n", 0,
                  kExtern);
  };
  RunPtx other(text("%in"));
  other.launch("k", {1}, {1}, other.buffer<uint32_t>(1), other.buffer<uint32_t>(1));
  ASSERT_EQ(other.reports.size(), 1u);
  EXPECT_EQ(other.reports[0].code, "heap-free-invalid");
  RunPtx inside(kernel("  add.u64 %rd1, %in, 4;\n  { .param .b64 a0; st.param.b64 [a0], %rd1; call.uni free, (a0); }\n",
                       0, kExtern));
  EXPECT_EQ(inside.fault_of("k", {1}, {1}, inside.buffer<uint32_t>(2), inside.buffer<uint32_t>(1)).kind,
            FaultKind::illegal_address);
  RunPtx none(text("4096"));
  const Diagnosis d = none.fault_of("k", {1}, {1}, none.buffer<uint32_t>(1), none.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "heap-free-invalid");
  EXPECT_EQ(d.kind, FaultKind::launch_failure);
}

}  // namespace
}  // namespace tinygpu::test
