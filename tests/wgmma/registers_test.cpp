// Registers of wgmma.mma_async that are still read or written after the instruction has issued: whose slots they are
// until the wait, in straight lines, loops, other blocks and functions that return.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test::registers_test {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;

/// A kernel of 128 threads with B = ones (16 x 8, bf16) at descriptor %b. Every thread stores %result, a .f32.
/// `before` stands in front of the kernel: functions.
std::string kernel(const std::string& body, const std::string& before = "") {
  return R"(.version 8.6
.target sm_90a
.address_size 64
)" + before +
         R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %on, %p<4>; .reg .b32 %r<8>, %i; .reg .b64 %rd<4>, %b; .reg .f32 %result;
  .shared .align 1024 .b8 smem[1024];
  ld.param.u64 %rd0, [out];
  mov.u32 %r0, %tid.x; mov.u32 %r1, smem; mov.u32 %r2, 0x3f803f80;
  shl.b32 %r3, %r0, 2; add.u32 %r4, %r1, %r3;
  st.shared.u32 [%r4], %r2; st.shared.u32 [%r4+512], %r2;
  fence.proxy.async.shared::cta;
  bar.sync 0;
  and.b32 %r5, %r1, 262143; shr.u32 %r5, %r5, 4; cvt.u64.u32 %b, %r5;
  mov.b64 %rd1, 0x0000000800080000;
  add.s64 %b, %b, %rd1;
  setp.eq.u32 %on, %r0, %r0;
  mov.u32 %i, 0;
)" + body +
         R"(
  shl.b32 %r6, %r0, 2; cvt.u64.u32 %rd2, %r6; add.s64 %rd3, %rd0, %rd2;
  st.global.f32 [%rd3], %result;
  ret;
}
)";
}

/// Registers `name`0 to 3 become A fragments whose elements are all the bf16 number `bits`.
std::string fragment(const std::string& name, const std::string& bits) {
  std::string s;
  for (char n : {'0', '1', '2', '3'}) s += "  mov.b32 " + name + n + ", " + bits + ";\n";
  return s;
}

std::string four(const std::string& name) { return "{" + name + "0, " + name + "1, " + name + "2, " + name + "3}"; }

/// D += A · ones: every element of D grows by 16 times A's element.
std::string mma(const std::string& d, const std::string& a, const std::string& b = "%b") {
  return "  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 " + four(d) + ", " + four(a) + ", " + b +
         ", %on, 1, 1, 0;\n";
}

std::string zero(const std::string& d) {
  std::string s;
  for (char n : {'0', '1', '2', '3'}) s += "  mov.f32 " + d + n + ", 0f00000000;\n";
  return s;
}

const char* kFence = "  wgmma.fence.sync.aligned;\n";
const char* kCommit = "  wgmma.commit_group.sync.aligned;\n";
std::string wait(int left = 0) { return "  wgmma.wait_group.sync.aligned " + std::to_string(left) + ";\n"; }

const CompletionOrder kOrders[] = {{CompletionOrder::Mode::timed, 0},
                                   {CompletionOrder::Mode::late, 0},
                                   {CompletionOrder::Mode::seeded, 1},
                                   {CompletionOrder::Mode::seeded, 2},
                                   {CompletionOrder::Mode::seeded, 3}};

struct Result {
  std::vector<float> values;
  std::vector<Diagnosis> reports;
};

Result run(const std::string& text, CompletionOrder order) {
  RunPtx r(text, hopper_machine());
  r.gpu.options.order = order;
  const uint64_t out = r.buffer<float>(128);
  r.launch("k", {1}, {128}, out);
  return {r.download<float>(out, 128), r.reports};
}

void expect_everywhere(const std::string& text, float value) {
  for (const CompletionOrder& order : kOrders) {
    const Result r = run(text, order);
    EXPECT_THAT(r.values, Each(value)) << "order " << int(order.mode) << " seed " << order.seed;
    EXPECT_TRUE(r.reports.empty());
  }
}

uint32_t registers_of(const std::string& text) {
  RunPtx r(text, hopper_machine());
  return r.program->find("k")->registers_per_thread;
}

// bf16 1, 2, 3, 4, twice in a word.
const char *kOne = "0x3f803f80", *kTwo = "0x40004000", *kThree = "0x40404040", *kFour = "0x40804080";

TEST(WgmmaRegisters, LaterValuesDoNotTakeTheSlotsOfA) {
  // %x live only while the operation runs; with A's slots they would be its A.
  expect_everywhere(
      kernel("  .reg .b32 %a<4>, %x<4>; .reg .f32 %d<4>;\n" + zero("%d") + fragment("%a", kThree) + kFence +
             mma("%d", "%a") + kCommit + fragment("%x", kFour) +
             "  xor.b32 %x0, %x0, %x1; xor.b32 %x2, %x2, %x3; or.b32 %x0, %x0, %x2; add.u32 %i, %i, %x0;\n" + wait() +
             "  cvt.rn.f32.u32 %result, %i; add.f32 %result, %result, %d0;\n"),
      48);
}

TEST(WgmmaRegisters, OperationsOfAChainKeepTheirOwnA) {
  // Three of a kind in one group; each A is written just before it issues and never again.
  expect_everywhere(kernel("  .reg .b32 %a<4>, %e<4>, %c<4>; .reg .f32 %d<4>;\n" + zero("%d") + kFence +
                           fragment("%a", kOne) + mma("%d", "%a") + fragment("%e", kTwo) + mma("%d", "%e") +
                           fragment("%c", kFour) + mma("%d", "%c") + kCommit + wait() + "  mov.f32 %result, %d2;\n"),
                    16 * 7);
}

TEST(WgmmaRegisters, TheAccumulatorMayBecomeTheNextA) {
  // As in attention: D of the first product, made bf16, is A of the second; its registers are dead after the issue.
  const std::string second = "  .reg .b32 %q<4>; .reg .f32 %o<4>;\n" + zero("%o") +
                             "  cvt.rn.bf16x2.f32 %q0, %d1, %d0; cvt.rn.bf16x2.f32 %q1, %d3, %d2;\n"
                             "  mov.b32 %q2, %q0; mov.b32 %q3, %q1;\n";
  expect_everywhere(
      kernel("  .reg .b32 %a<4>, %x<4>; .reg .f32 %d<4>;\n" + zero("%d") + fragment("%a", kOne) + kFence +
             mma("%d", "%a") + kCommit + wait() + second + kFence + mma("%o", "%q") + kCommit + fragment("%x", kFour) +
             "  add.u32 %x0, %x0, %x1; add.u32 %x2, %x2, %x3; sub.u32 %i, %x0, %x2;\n" + wait() +
             "  cvt.rn.f32.u32 %result, %i; add.f32 %result, %result, %o3;\n"),
      256);
}

/// Two fragments take turns in a loop; a group may run while the next one is prepared, and values live between.
std::string pipelined(const std::string& between) {
  return kernel("  .reg .b32 %a<4>, %e<4>, %x<4>, %y<4>, %sum; .reg .f32 %d<4>;\n  mov.u32 %sum, 0;\n" + zero("%d") +
                "LOOP:\n" + fragment("%a", kOne) + kFence + mma("%d", "%a") + kCommit + between +
                fragment("%x", kThree) + "  xor.b32 %x0, %x0, %x1; xor.b32 %x2, %x2, %x3; add.u32 %sum, %sum, %x0;\n" +
                "  add.u32 %sum, %sum, %x2;\n" + fragment("%e", kTwo) + kFence + mma("%d", "%e") + kCommit + between +
                fragment("%y", kFour) + "  xor.b32 %y0, %y0, %y1; xor.b32 %y2, %y2, %y3; add.u32 %sum, %sum, %y0;\n" +
                "  add.u32 %sum, %sum, %y2; add.u32 %i, %i, 1; setp.lt.u32 %p0, %i, 5;\n  @%p0 bra LOOP;\n" + wait() +
                "  cvt.rn.f32.u32 %result, %sum; add.f32 %result, %result, %d1;\n");
}

TEST(WgmmaRegisters, AGroupMayRunOnWhileTheNextOneIsPrepared) { expect_everywhere(pipelined(wait(1)), 5 * 16 * 3); }

TEST(WgmmaRegisters, TheWaitMayStandInAnotherBlock) {
  const std::string body =
      "  .reg .b32 %a<4>, %x<4>; .reg .f32 %d<4>;\n" + zero("%d") + fragment("%a", kThree) + kFence + mma("%d", "%a") +
      "  setp.gt.u32 %p0, %i, 7;\n  @%p0 bra OTHER;\n" + std::string(kCommit) + fragment("%x", kFour) +
      "  xor.b32 %x0, %x0, %x1; xor.b32 %x2, %x2, %x3; add.u32 %i, %x0, %x2;\n  bra JOIN;\n"
      "OTHER:\n" +
      kCommit + "JOIN:\n" + wait() + "  cvt.rn.f32.u32 %result, %i; add.f32 %result, %result, %d0;\n";
  expect_everywhere(kernel(body), 48);
}

TEST(WgmmaRegisters, AWaitThatItsGuardSwitchesOffEndsNothing) {
  expect_everywhere(
      kernel("  .reg .b32 %a<4>, %x<4>; .reg .f32 %d<4>;\n" + zero("%d") + fragment("%a", kThree) + kFence +
             mma("%d", "%a") + kCommit + "  setp.gt.u32 %p0, %i, 7;\n@%p0" + wait() + fragment("%x", kFour) +
             "  xor.b32 %x0, %x0, %x1; xor.b32 %x2, %x2, %x3; add.u32 %i, %x0, %x2;\n" + wait() +
             "  cvt.rn.f32.u32 %result, %i; add.f32 %result, %result, %d0;\n"),
      48);
}

TEST(WgmmaRegisters, WaitingForAllButOneGroupFreesTheOlderOnesA) {
  // Eight fragments one after the other. With a wait for all but the latest group two of them live at once, without
  // one all eight.
  const auto chain = [](const std::string& between) {
    std::string s = "  .reg .f32 %d<4>;\n" + zero("%d") + kFence;
    for (char n : {'0', '1', '2', '3', '4', '5', '6', '7'}) {
      const std::string a = std::string("%a") + n + "_";
      s += "  .reg .b32 " + a + "<4>;\n" + fragment(a, kOne) + mma("%d", a) + kCommit + between;
    }
    return kernel(s + wait() + "  mov.f32 %result, %d0;\n");
  };
  expect_everywhere(chain(wait(1)), 128);
  expect_everywhere(chain(wait(2)), 128);
  EXPECT_EQ(registers_of(chain(wait(2))), registers_of(chain(wait(1))) + 4);
  EXPECT_EQ(registers_of(chain("")), registers_of(chain(wait(1))) + 6 * 4);
}

TEST(WgmmaRegisters, AnOperationWithoutACommitIsNotWaitedFor) {
  // wait_group waits for groups; what belongs to none keeps its registers, and reading them is told.
  const std::string text = kernel("  .reg .b32 %a<4>; .reg .f32 %d<4>;\n" + zero("%d") + fragment("%a", kOne) + kFence +
                                  mma("%d", "%a") + wait() + "  mov.f32 %result, %d0;\n");
  const Result timed = run(text, {CompletionOrder::Mode::timed});
  EXPECT_THAT(timed.values, Each(16));
  ASSERT_EQ(timed.reports.size(), 1u);
  EXPECT_EQ(timed.reports[0].code, "wgmma-not-waited");
}

TEST(WgmmaRegisters, OverwritingAInFlightIsReported) {
  const std::string text =
      kernel("  .reg .b32 %a<4>; .reg .f32 %d<4>;\n" + zero("%d") + fragment("%a", kOne) + kFence + mma("%d", "%a") +
             kCommit + fragment("%a", kTwo) + wait() + "  mov.f32 %result, %d0;\n");
  const Result timed = run(text, {CompletionOrder::Mode::timed});
  EXPECT_THAT(timed.values, Each(16)) << "the write waits, as for an accumulator";
  ASSERT_GE(timed.reports.size(), 1u);
  EXPECT_EQ(timed.reports[0].code, "wgmma-not-waited");
  EXPECT_EQ(timed.reports[0].severity, Severity::warning);
  EXPECT_EQ(timed.reports[0].message,
            "this instruction overwrites a register of A that a wgmma.mma_async has yet to read");
  EXPECT_THAT(timed.reports[0].where.ptx_text, HasSubstr("mov.b32 %a0, 0x40004000"));
  EXPECT_THAT(run(text, {CompletionOrder::Mode::late}).values, Each(16)) << "as on an H200, where ptxas renames it";
}

TEST(WgmmaRegisters, ReadingAInFlightIsLegal) {
  expect_everywhere(kernel("  .reg .b32 %a<4>; .reg .f32 %d<4>;\n" + zero("%d") + fragment("%a", kOne) + kFence +
                           mma("%d", "%a") + kCommit + "  shr.u32 %i, %a3, 31;\n" + wait() +
                           "  cvt.rn.f32.u32 %result, %i; add.f32 %result, %result, %d0;\n"),
                    16);
}

TEST(WgmmaRegisters, AMovInFrontOfTheWaitTakesTheValue) {
  expect_everywhere(
      kernel("  .reg .b32 %a<4>; .reg .f32 %d<4>, %x;\n" + zero("%d") + fragment("%a", kThree) + kFence +
             mma("%d", "%a") + "  mov.f32 %x, %d0;\n" + kCommit + wait() + "  add.f32 %result, %x, %d1;\n"),
      96);
  // As Triton 3.9 unpacks accumulators of 16 bits.
  expect_everywhere(
      kernel(
          "  .reg .b32 %a<4>, %h<2>; .reg .b16 %l<4>;\n  mov.b32 %h0, 0; mov.b32 %h1, 0;\n" +
          fragment("%a", "0x40004000") + kFence +
          "  wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%h0, %h1}, {%a0, %a1, %a2, %a3}, %b, %on, 1, 1, 0;\n" +
          kCommit + "  mov.b32 {%l0, %l1}, %h0; mov.b32 {%l2, %l3}, %h1;\n" + wait() +
          "  add.rn.f16 %l0, %l0, %l3; cvt.f32.f16 %result, %l0;\n"),
      2 * 16 * 2 * 1.875);  // the words of B are 1.875 in f16
}

TEST(WgmmaRegisters, WhatAMovTakesHasToBeWaitedForBeforeItIsUsed) {
  const std::string begin = "  .reg .b32 %a<4>; .reg .f32 %d<4>, %o<4>, %x, %y;\n" + zero("%d") + zero("%o") +
                            fragment("%a", kThree) + kFence + mma("%d", "%a") + kCommit;
  const auto told = [&](const std::string& body, const CompletionOrder& order, float value) {
    const Result r = run(kernel(begin + body), order);
    EXPECT_THAT(r.values, Each(value));
    std::vector<std::string> out;
    for (const Diagnosis& d : r.reports) out.push_back(d.code + ": " + d.where.ptx_text);
    return out;
  };
  const auto sum =
      ::testing::ElementsAre(::testing::AllOf(HasSubstr("wgmma-not-waited"), HasSubstr("add.f32 %result, %y, %y")));
  for (const CompletionOrder& order : kOrders) {
    const std::string moves = "  mov.f32 %x, %d0; mov.f32 %y, %x;\n", add = "  add.f32 %result, %y, %y;\n";
    EXPECT_THAT(told(moves + add + wait(), order, 96), sum);
    // A wait for the first group alone, and none for it.
    const std::string second = mma("%o", "%a") + kCommit;
    EXPECT_THAT(told(moves + second + wait(1) + add + wait(), order, 96), ::testing::IsEmpty());
    EXPECT_THAT(told(second + moves + wait(1) + add + wait(), order, 96), ::testing::IsEmpty());
    EXPECT_THAT(told(second + moves + wait(2) + add + wait(), order, 96), sum);
  }
}

TEST(WgmmaRegisters, AnAccumulatorInFlightIsNoA) {
  const std::string text = kernel(
      "  .reg .b32 %a<4>, %h<2>; .reg .f32 %o<4>;\n  mov.b32 %h0, 0; mov.b32 %h1, 0;\n" + zero("%o") +
      fragment("%a", "0x3c003c00") + kFence +
      "  wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%h0, %h1}, {%a0, %a1, %a2, %a3}, %b, %on, 1, 1, 0;\n" +
      "  wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%o0, %o1, %o2, %o3}, {%h0, %h1, %h0, %h1}, %b, %on, 1, 1, "
      "0;\n" +
      kCommit + wait() + "  mov.f32 %result, %o0;\n");
  const Result timed = run(text, {CompletionOrder::Mode::timed});
  ASSERT_GE(timed.reports.size(), 1u);
  EXPECT_EQ(timed.reports[0].code, "wgmma-not-waited");
  EXPECT_THAT(timed.reports[0].where.ptx_text, HasSubstr(".f32.f16.f16"));
}

const char* kFunctions = R"(
.func multiply(.param .b64 b)
{
  .reg .b32 %a<4>; .reg .f32 %d<4>; .reg .b64 %b; .reg .pred %on; .reg .b32 %r;
  ld.param.b64 %b, [b];
  mov.u32 %r, 0; setp.eq.u32 %on, %r, 0;
  mov.f32 %d0, 0f00000000; mov.f32 %d1, 0f00000000; mov.f32 %d2, 0f00000000; mov.f32 %d3, 0f00000000;
  mov.b32 %a0, 0x3f803f80; mov.b32 %a1, 0x3f803f80; mov.b32 %a2, 0x3f803f80; mov.b32 %a3, 0x3f803f80;
  wgmma.fence.sync.aligned;
  wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%d0, %d1, %d2, %d3}, {%a0, %a1, %a2, %a3}, %b, %on, 1, 1, 0;
  wgmma.commit_group.sync.aligned;
  ret;
}
.func (.param .b32 sum) wait_and_add(.param .b64 unused)
{
  .reg .b32 %a<12>;
  mov.b32 %a0, 1; mov.b32 %a1, 2; mov.b32 %a2, 3; mov.b32 %a3, 4; mov.b32 %a4, 5; mov.b32 %a5, 6;
  mov.b32 %a6, 7; mov.b32 %a7, 8; mov.b32 %a8, 9; mov.b32 %a9, 10; mov.b32 %a10, 11; mov.b32 %a11, 12;
  wgmma.wait_group.sync.aligned 0;
  add.u32 %a0, %a0, %a1; add.u32 %a0, %a0, %a2; add.u32 %a0, %a0, %a3; add.u32 %a0, %a0, %a4;
  add.u32 %a0, %a0, %a5; add.u32 %a0, %a0, %a6; add.u32 %a0, %a0, %a7; add.u32 %a0, %a0, %a8;
  add.u32 %a0, %a0, %a9; add.u32 %a0, %a0, %a10; add.u32 %a0, %a0, %a11;
  st.param.b32 [sum], %a0;
  ret;
}
)";

TEST(WgmmaRegisters, WhatAFunctionLeavesInFlightDoesNotReachTheNextFrame) {
  expect_everywhere(kernel(R"(
  { .param .b64 p; st.param.b64 [p], %b; call multiply, (p); }
  { .param .b64 p; st.param.b64 [p], %b; call multiply, (p); }
  { .param .b64 p; .param .b32 s; st.param.b64 [p], %b; call (s), wait_and_add, (p); ld.param.b32 %i, [s]; }
  cvt.rn.f32.u32 %result, %i;
)",
                           kFunctions),
                    78);
}

TEST(WgmmaRegisters, TheSameFrameTwiceIsTwoAccumulators) {
  // The second call's accumulators lie where the first call's did, and no wait lies between.
  std::string returning = kFunctions;
  returning.replace(returning.find(".func multiply"), 14, ".func (.param .f32 d) multiply");
  const size_t ret = returning.find("  ret;");
  returning.insert(ret, "  @%p wgmma.wait_group.sync.aligned 0;\n  @%p st.param.f32 [d], %d0;\n");
  returning.insert(returning.find("  ld.param.b64 %b, [b];"),
                   "  .reg .pred %p; .reg .b32 %which;\n  ld.param.b32 %which, [which]; setp.ne.u32 %p, %which, 0;\n");
  returning.replace(returning.find("(.param .b64 b)"), 15, "(.param .b64 b, .param .b32 which)");
  const auto call = [](const char* which) {
    return std::string("  { .param .b64 p; .param .b32 q; .param .f32 s; st.param.b64 [p], %b; st.param.b32 [q], ") +
           which + "; call (s), multiply, (p, q); ld.param.f32 %result, [s]; }\n";
  };
  for (const CompletionOrder& order : kOrders)
    EXPECT_THAT(run(kernel(call("0") + call("1"), returning), order).values, Each(16));
}

}  // namespace
}  // namespace tinygpu::test::registers_test
