// Atomics of a warp whose address ptxas knows to be one: it lets one lane's leave the SM. What an H200 took
// (2026-11-24, cycles for each of 32 in a row, one warp): 5.9 for sums of integers, min and and; 46 where the same
// address comes from memory lane by lane, for inc and for 64-bit sums of different values; 111 for f32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::Each;

/// Cycles for each of 32 atomics in a row. %out is uniform; %rd1 is the same address, read by each lane for itself.
double cycles(const std::string& atomic, MachineSpec spec = hopper_machine()) {
  const auto run_of = [&](int n) {
    std::string body = R"(
  add.s64 %rd0, %in, %t64;
  add.s64 %rd0, %rd0, %t64;
  ld.global.u64 %rd2, [%rd0];
  add.s64 %rd1, %out, %rd2;
  cvt.u64.u32 %rd3, %t;
  mov.f32 %f1, 0f3f800000;
  mov.u32 %r9, %ctaid.x;
)";
    for (int i = 0; i < n; ++i) body += "  " + atomic + "\n";
    RunPtx run(ptx_header("sm_90a") + kernel(body), spec);
    return double(run.launch("k", {1}, {32}, run.buffer<uint64_t>(64), run.buffer<uint32_t>(64)).cycles);
  };
  return (run_of(192) - run_of(64)) / 128;
}

TEST(UniformAtomics, OneLaneLeavesTheWarp) {
  for (const char* atomic :
       {"red.global.add.u32 [%out], 1;", "red.global.add.u32 [%out], %r9;", "red.global.add.s32 [%out], %t;",
        "red.global.min.u32 [%out], %t;", "red.global.max.s32 [%out], %t;", "red.global.and.b32 [%out], %t;",
        "red.global.or.b32 [%out], %t;", "red.global.xor.b32 [%out], %t;", "red.global.add.u64 [%out], 1;",
        "atom.global.add.u32 %r1, [%out], %t;"})
    EXPECT_LT(cycles(atomic), 10) << atomic;
}

TEST(UniformAtomics, OthersSendEveryLane) {
  for (const char* atomic :
       {"red.global.add.u32 [%rd1], 1;", "red.global.min.u32 [%rd1], %t;", "red.global.inc.u32 [%out], %t;",
        "red.global.add.u64 [%out], %rd3;", "red.global.or.b64 [%out], %rd3;", "atom.global.exch.b32 %r1, [%out], %t;"})
    EXPECT_GT(cycles(atomic), 40) << atomic;
  EXPECT_GT(cycles("red.global.add.f32 [%out], %f1;"), 80);
}

/// Cycles for each of 32 atomics whose results are read.
double with_results(const std::string& atomic, const std::string& operands) {
  const auto run_of = [&](int n) {
    std::string body = "  mov.u32 %r0, 0;\n  mov.u32 %r9, %ctaid.x;\n";
    for (int i = 0; i < n; ++i) body += "  " + atomic + " %r" + std::to_string(10 + i) + ", " + operands + ";\n";
    for (int i = 0; i < n; ++i) body += "  add.u32 %r0, %r0, %r" + std::to_string(10 + i) + ";\n";
    RunPtx run(ptx_header("sm_90a") + kernel(body + "  st.global.u32 [%dst+64], %r0;\n"), hopper_machine());
    return double(run.launch("k", {1}, {32}, run.buffer<uint64_t>(64), run.buffer<uint32_t>(64)).cycles);
  };
  return (run_of(48) - run_of(16)) / 32;
}

// A result that is read is the old value plus what lower lanes add: only sums can do that. Where lanes add different
// values they scan first, and wait. On an H200: 38.7 and 34.3, 523, 67; in shared memory 8.6 and 276.
TEST(UniformAtomics, ResultsThatAreRead) {
  EXPECT_NEAR(with_results("atom.global.add.u32", "[%out], 1"), 38.7, 4);
  EXPECT_NEAR(with_results("atom.global.add.u32", "[%out], %r9"), 34.3, 5);
  EXPECT_NEAR(with_results("atom.global.add.u32", "[%out], %t"), 523, 26);
  EXPECT_GT(with_results("atom.global.min.u32", "[%out], %t"), 40);
  EXPECT_LT(with_results("atom.shared.add.u32", "[smem], 1"), 20);  // 16.8 here: open
  EXPECT_NEAR(with_results("atom.shared.add.u32", "[smem], %t"), 276, 14);
}

TEST(UniformAtomics, ValuesAreTheSame) {
  RunPtx run(kernel(R"(
  atom.global.add.u32 %r1, [%out], %t;
  st.global.u32 [%dst+64], %r1;
  red.global.max.u32 [%out+4], %t;
  setp.gt.u32 %p0, %t, 20;
  @%p0 red.global.add.u32 [%out+8], 3;
)"));
  const auto out = run_kernel(run, 32, 48);
  EXPECT_EQ(out[0], 496u);
  EXPECT_EQ(out[1], 31u);
  EXPECT_EQ(out[2], 33u);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 32; sum += i++) EXPECT_EQ(out[16 + i], sum) << i;
}

/// A register that a divergent branch gives one of two addresses is not uniform; one that a loop counts up is.
TEST(UniformAtomics, WhatBranchesDo) {
  const auto loop = [](const std::string& atomic) {
    RunPtx run(ptx_header("sm_90a") + kernel(R"(
  setp.gt.u32 %p1, %t, 31;
  mov.u64 %rd5, %out;
  mov.u64 %rd6, %out;
  @%p1 bra OTHER;
  bra SAME;
OTHER:
  add.s64 %rd6, %rd6, 64;
SAME:
  mov.u32 %r4, 0;
LOOP:
)" + atomic + R"(
  add.s64 %rd5, %rd5, 4;
  add.u32 %r4, %r4, 1;
  setp.lt.u32 %p0, %r4, 64;
  @%p0 bra LOOP;
)"),
               hopper_machine());
    return double(run.launch("k", {1}, {32}, run.buffer<uint64_t>(64), run.buffer<uint32_t>(256)).cycles) / 64;
  };
  const double empty = loop("");
  EXPECT_LT(loop("  red.global.add.u32 [%rd5], 1;") - empty, 6);
  EXPECT_GT(loop("  red.global.add.u32 [%rd6], 1;") - empty, 15);
}

// 4.0 cycles on an H200, whatever is added; a sum of floats is a loop, once round for each lane: 3,004.
TEST(UniformAtomics, InSharedMemory) {
  for (const char* atomic :
       {"red.shared.add.u32 [smem], 1;", "red.shared.add.u32 [smem], %t;", "red.shared.max.u32 [smem], %t;"})
    EXPECT_LT(cycles(atomic), 6) << atomic;
  EXPECT_GT(cycles("red.shared.inc.u32 [smem], %t;"), 30);
  EXPECT_NEAR(cycles("red.shared.add.f32 [smem], %f1;"), 3004, 60);
}

}  // namespace
}  // namespace tinygpu::test
