// Calls (direct, recursive, indirect), brx.idx, exit, trap, nanosleep, setmaxnreg, alloca.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/isa_warp/kernel.h"

namespace tinygpu::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kFactorial = R"(
.func (.param .b32 result) factorial (.param .b32 n)
{
  .reg .b32 %r<8>; .reg .pred %p<2>;
  ld.param.u32 %r1, [n];
  setp.gt.u32 %p1, %r1, 1;
  @%p1 bra MORE;
  st.param.b32 [result], 1;
  ret;
MORE:
  sub.u32 %r2, %r1, 1;
  { .param .b32 a0; st.param.b32 [a0], %r2;
    .param .b32 r0;
    call (r0), factorial, (a0);
    ld.param.b32 %r3, [r0]; }
  mul.lo.u32 %r4, %r3, %r1;
  st.param.b32 [result], %r4;
  ret;
}
)";

TEST(Call, RecursionWithADifferentDepthInEachLane) {
  RunPtx run(kernel(R"(
  rem.u32 %r1, %t, 9;
  { .param .b32 a0; st.param.b32 [a0], %r1;
    .param .b32 r0;
    call (r0), factorial, (a0);
    ld.param.b32 %r2, [r0]; }
  activemask.b32 %r3;
  st.global.u32 [%dst], %r2;
  st.global.u32 [%dst+128], %r3;
)",
                    0, kFactorial));
  const auto out = run_kernel(run, 32, 64);
  const uint32_t expected[] = {1, 1, 2, 6, 24, 120, 720, 5040, 40320};
  for (uint32_t t = 0; t < 32; ++t) {
    EXPECT_EQ(out[t], expected[t % 9]);
    EXPECT_EQ(out[32 + t], 0xffffffffu) << "lanes do not meet behind the call";
  }
}

TEST(Call, RecursionWithoutEndOverflowsTheStack) {
  RunPtx run(kernel("  { call forever; }\n", 0, R"(
.func forever ()
{
  .local .align 4 .b8 frame[1024];
  .reg .b64 %rd<2>;
  mov.u64 %rd0, frame;
  st.local.u32 [%rd0], 1;
  call forever;
  ret;
}
)"));
  EXPECT_EQ(run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).kind,
            FaultKind::stack_overflow);
}

/// What stops kernel() with that many threads and that word of %in; empty if nothing does.
Diagnosis diagnosis_of(RunPtx& run, uint32_t threads, uint32_t word = 0) {
  const uint64_t memory = run.upload<uint32_t>({word});
  try {
    run.launch("k", {1}, {threads}, memory, memory);
  } catch (const KernelFault& f) {
    return f.diagnosis;
  }
  return {};
}

// As many calls below the kernel as %in says, a frame of 256 bytes each.
const std::string& deep_recursion() {
  static const std::string text = kernel(R"(
  ld.global.u32 %r1, [%in];
  { .param .b32 a0; st.param.b32 [a0], %r1; call deep, (a0); }
)",
                                         0, R"(
.func deep (.param .b32 n)
{
  .local .align 4 .b8 frame[256];
  .reg .b32 %r<2>; .reg .b64 %rd<2>; .reg .pred %p;
  mov.u64 %rd0, frame;
  ld.param.u32 %r0, [n];
  st.local.u32 [%rd0], %r0;
  sub.u32 %r0, %r0, 1;
  setp.eq.u32 %p, %r0, 0;
  @%p ret;
  { .param .b32 a0; st.param.b32 [a0], %r0; call deep, (a0); }
  ret;
}
)");
  return text;
}

TEST(Call, RecursionEndsAtTheStackLimit) {
  const auto run = [](uint32_t depth, uint32_t limit) {
    RunPtx run(deep_recursion());
    run.gpu.stack_limit = limit;
    return diagnosis_of(run, 32, depth);
  };
  EXPECT_EQ(run(3, 1024).code, "");
  const Diagnosis past = run(4, 1024);  // four frames of 256 bytes, and of a return address
  EXPECT_EQ(past.code, "stack-overflow");
  EXPECT_EQ(past.kind, FaultKind::stack_overflow);
  EXPECT_THAT(past.message,
              HasSubstr("4 calls deep, a thread needs at least 1088 bytes of stack; cudaLimitStackSize is 1024"));
  EXPECT_EQ(run(100, 64 * 1024).code, "");
}

// What calls need without recursion is there, whatever the limit is.
TEST(Call, AFrameLargerThanTheStackLimitIsNoFault) {
  RunPtx run(deep_recursion());
  run.gpu.stack_limit = 64;
  EXPECT_EQ(diagnosis_of(run, 32, 1).code, "");
}

// Two functions with different register layouts, one of which diverges inside: lanes of both are in flight together.
constexpr const char* kTwoFunctions = R"(
.func (.param .b32 result) triple (.param .b32 n)
{
  .reg .b64 %rd<4>; .reg .b32 %r<2>;
  ld.param.u32 %r1, [n];
  cvt.u64.u32 %rd1, %r1;
  add.s64 %rd2, %rd1, %rd1;
  bar.warp.sync 0xffffffff;
  add.s64 %rd3, %rd2, %rd1;
  st.param.b32 [result], %rd3;
  ret;
}
.func (.param .b32 result) next (.param .b32 n)
{
  .reg .b32 %r<4>; .reg .b16 %h<2>;
  ld.param.u32 %r1, [n];
  cvt.u16.u32 %h1, %r1;
  bar.warp.sync 0xffffffff;
  cvt.u32.u16 %r2, %h1;
  add.u32 %r3, %r2, 1;
  st.param.b32 [result], %r3;
  ret;
}
.global .align 8 .u64 table[2] = {triple, next};
)";

constexpr const char* kIndirectCall = R"(
  { .param .b32 a0; st.param.b32 [a0], %t;
    .param .b32 r0;
    proto : .callprototype (.param .b32 _) _ (.param .b32 _);
    call (r0), %rd4, (a0), proto;
    ld.param.b32 %r2, [r0]; }
)";

TEST(Call, IndirectToADifferentFunctionInEachLane) {
  RunPtx run(kernel(std::string(R"(
  and.b32 %r1, %t, 1;
  mul.wide.u32 %rd1, %r1, 8;
  mov.u64 %rd2, table;
  add.s64 %rd3, %rd2, %rd1;
  ld.global.u64 %rd4, [%rd3];
)") + kIndirectCall + "  st.global.u32 [%dst], %r2;\n",
                    0, kTwoFunctions));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t % 2 ? t + 1 : 3 * t);
}

TEST(Call, IndirectThroughAWildPointer) {
  RunPtx run(kernel(std::string("  mov.u64 %rd4, 4096;\n") + kIndirectCall, 0, kTwoFunctions));
  EXPECT_EQ(run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).code, "call-target");
}

TEST(Call, AFunctionWithoutABodyIsNamed) {
  RunPtx run(kernel("  { .param .b32 r0; call.uni (r0), cudaDeviceSynchronize; }\n", 0,
                    ".extern .func (.param .b32 r) cudaDeviceSynchronize ();\n"));
  const Diagnosis d = run.fault_of("k", {1}, {1}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1));
  EXPECT_EQ(d.kind, FaultKind::not_modelled);
  EXPECT_THAT(d.message, HasSubstr("cudaDeviceSynchronize"));
}

TEST(Branch, IndexedBranchSendsEachLaneItsWay) {
  RunPtx run(kernel(R"(
  rem.u32 %r1, %t, 3;
  ts: .branchtargets A, B, C;
  brx.idx %r1, ts;
A: mov.u32 %r2, 10; bra DONE;
B: mov.u32 %r2, 20; bra DONE;
C: mov.u32 %r2, 30;
DONE:
  st.global.u32 [%dst], %r2;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], 10 * (t % 3 + 1));
}

TEST(Branch, IndexedBranchChecksItsIndex) {
  RunPtx run(kernel("  ts: .branchtargets A;\n  mov.u32 %r1, 1;\n  brx.idx %r1, ts;\nA:\n"));
  EXPECT_EQ(run.fault_of("k", {1}, {1}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1)).code, "branch-index");
}

TEST(Control, TrapAndBrkptStopTheKernel) {
  RunPtx trap(kernel("  setp.eq.u32 %p0, %t, 3;\n  @%p0 trap;\n"));
  const Diagnosis d = trap.fault_of("k", {1}, {32}, trap.buffer<uint32_t>(1), trap.buffer<uint32_t>(1));
  EXPECT_EQ(d.kind, FaultKind::trap);
  EXPECT_EQ(d.where.thread, 3);
  RunPtx brkpt(kernel("  brkpt;\n"));
  EXPECT_EQ(brkpt.fault_of("k", {1}, {1}, brkpt.buffer<uint32_t>(1), brkpt.buffer<uint32_t>(1)).code, "brkpt");
}

TEST(Control, NanosleepPassesTimeForItsLanesOnly) {
  // plain_machine runs at 1 GHz: a cycle is a nanosecond.
  RunPtx run(kernel(R"(
  mov.u64 %rd1, %clock64;
  setp.lt.u32 %p0, %t, 16;
  @%p0 nanosleep.u32 5000;
  mov.u64 %rd2, %clock64;
  sub.s64 %rd3, %rd2, %rd1;
  cvt.u32.u64 %r1, %rd3;
  st.global.u32 [%dst], %r1;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 16; ++t) EXPECT_NEAR(out[t], 5000, 100);
}

/// kernel() with performance directives.
std::string bounded(const std::string& directives, const std::string& body) {
  std::string text = kernel(body);
  const std::string parameters = ".param .u64 pout)\n";
  return text.insert(text.find(parameters) + parameters.size(), directives + "\n");
}
const char* const kBounds = ".maxntid 128, 1, 1\n.minnctapersm 1";

TEST(Control, SetmaxnregChecksItsDirection) {
  const auto code = [](const std::string& directives, const char* second) {
    RunPtx run(bounded(directives, std::string("  setmaxnreg.dec.sync.aligned.u32 40;\n  setmaxnreg.") + second +
                                       ".sync.aligned.u32 64;\n"));
    run.program->set_registers(*run.program->find("k"), 64);
    return diagnosis_of(run, 128).code;
  };
  EXPECT_EQ(code(kBounds, "inc"), "");
  EXPECT_EQ(code(kBounds, "dec"), "setmaxnreg-direction");
  EXPECT_EQ(code("", "dec"), "") << "ptxas leaves both out";
}

TEST(Control, AnAlignedInstructionInAConditionIsNamed) {
  RunPtx run(
      kernel("  setp.lt.u32 %p1, %t, 16;\n  @%p1 bra FIRST;\n  barrier.cluster.wait.aligned;\n  bra DONE;\nFIRST:\n"
             "  barrier.cluster.arrive.aligned;\nDONE:\n"));
  const Diagnosis d = run.fault_of("k", {1}, {32}, run.buffer<uint32_t>(1), run.buffer<uint32_t>(1));
  EXPECT_EQ(d.code, "deadlock");
  EXPECT_THAT(d.help, HasSubstr("all lanes of the warp come to barrier.cluster."));
  EXPECT_THAT(d.rule, HasSubstr(".sync.aligned"));
}

/// Two warps with 64 registers a thread: warp 0 wants 96, warp 1 does `other` when warp 0 has asked.
Diagnosis of_two_warps(const std::string& directives, const std::string& other) {
  RunPtx run(bounded(
      directives,
      "  shr.u32 %r1, %t, 5;\n  setp.ne.u32 %p1, %r1, 0;\n  @%p1 bra OTHER;\n  setmaxnreg.inc.sync.aligned.u32 96;\n"
      "  bra DONE;\nOTHER:\n  nanosleep.u32 1000;\n  " +
          other + "\nDONE:\n  bar.sync 0;\n"));
  run.program->set_registers(*run.program->find("k"), 64);
  return diagnosis_of(run, 64);
}

TEST(Control, SetmaxnregTakesWhatOtherWarpsHaveGivenBack) {
  EXPECT_EQ(of_two_warps(kBounds, "setmaxnreg.dec.sync.aligned.u32 32;").code, "");
  for (const char* other : {"", "setmaxnreg.dec.sync.aligned.u32 40;"}) {
    const Diagnosis d = of_two_warps(kBounds, other);
    EXPECT_EQ(d.code, "deadlock") << other;
    EXPECT_THAT(d.label, HasSubstr("for the registers of setmaxnreg.inc")) << other;
  }
}

TEST(Control, SetmaxnregTakesTime) {
  // Warp 0 takes registers: those that are free, or those that warp 1 gives 3,000 cycles later.
  const auto took = [](const char* body, uint32_t thread) {
    RunPtx run(bounded(kBounds, body));
    run.program->set_registers(*run.program->find("k"), 64);
    return run_kernel(run, 64, 64)[thread];
  };
  const std::string timed = "  .reg .b32 %c0, %c1;\n  mov.u32 %c0, %clock;\n  ", until = R"(
  mov.u32 %c1, %clock;
  sub.u32 %r1, %c1, %c0;
  st.global.u32 [%dst], %r1;
)";
  const double change = plain_machine().number("setmaxnreg"), given = plain_machine().number("setmaxnreg.given");
  EXPECT_NEAR(took((timed + "setmaxnreg.dec.sync.aligned.u32 40;" + until).c_str(), 0), change, 6);
  const std::string waits = R"(
  .reg .b32 %c0, %c1;
  mov.u32 %c0, %clock;
  shr.u32 %r1, %t, 5;
  setp.ne.u32 %p1, %r1, 0;
  @%p1 bra OTHER;
  setmaxnreg.inc.sync.aligned.u32 96;
  bra DONE;
OTHER:
  nanosleep.u32 2000;
  mov.u32 %c0, %clock;
  setmaxnreg.dec.sync.aligned.u32 32;
DONE:)" + until;
  const double later = took(waits.c_str(), 0), gives = took(waits.c_str(), 32);
  EXPECT_NEAR(gives, change, 6);
  EXPECT_GT(later, 1900 + change + given);
}

// What ptxas 13.0 keeps for sm_90a and sm_100a; of the others it says C7508 ("unable to determine register count at
// entry"), and no warp waits for registers.
TEST(Control, SetmaxnregIsLeftOutWherePtxasDoesNotKnowHowManyRegistersThereAre) {
  for (const char* kept : {".maxnreg 64", ".maxnreg 64\n.maxntid 64, 1, 1", ".maxntid 64, 1, 1\n.minnctapersm 1",
                           ".reqntid 64, 1, 1\n.minnctapersm 2"})
    EXPECT_EQ(of_two_warps(kept, "").code, "deadlock") << kept;
  for (const char* left_out : {"", ".maxntid 64, 1, 1", ".reqntid 64, 1, 1"})
    EXPECT_EQ(of_two_warps(left_out, "").code, "") << left_out;
}

TEST(Control, AllocaGivesEachLaneItsOwnMemory) {
  RunPtx run(kernel(R"(
  stacksave.u64 %rd9;
  alloca.u64 %rd1, 64, 16;
  alloca.u64 %rd2, 64, 16;
  st.local.u32 [%rd1], %t;
  st.local.u32 [%rd2], 1000;
  ld.local.u32 %r1, [%rd1];
  sub.s64 %rd3, %rd2, %rd1;
  cvt.u32.u64 %r2, %rd3;
  add.u32 %r3, %r1, %r2;
  stackrestore.u64 %rd9;
  st.global.u32 [%dst], %r3;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t + 64);
}

TEST(BranchTable, ListsOfTheSameNameInTwoBlocks) {
  // As two inline-asm statements have them: every name comes back.
  RunPtx run(kernel(R"(
  and.b32 %r1, %t, 3;
  mov.u32 %r2, 0;
  { T: .branchtargets A0, A1, E; min.u32 %r3, %r1, 2; brx.idx %r3, T;
    A0: add.u32 %r2, %r2, 1; bra E;
    A1: add.u32 %r2, %r2, 2; bra E;
    E: }
  { T: .branchtargets A1, E, A0, A2; brx.idx %r1, T;
    A0: add.u32 %r2, %r2, 16; bra E;
    A1: add.u32 %r2, %r2, 32; bra E;
    A2: add.u32 %r2, %r2, 64; bra E;
    E: }
  st.global.u32 [%dst], %r2;
)"));
  const auto out = run_kernel(run, 32, 32);
  const uint32_t expected[] = {1 + 32, 2, 16, 64};
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], expected[t % 4]) << t;
}

TEST(BranchTable, OfMoreThan65535Targets) {
  constexpr uint32_t kTargets = 70000;
  std::string list = "  T: .branchtargets ", blocks;
  for (uint32_t i = 0; i < kTargets; ++i) {
    const bool far = i == 3 || i == 65535 || i == 65536 + 3 || i == kTargets - 1;
    const std::string label = far ? "F" + std::to_string(i) : "NEAR";
    list += (i ? ", " : "") + label;
    if (far) blocks += label + ": mov.u32 %r2, " + std::to_string(i) + "; bra E;\n";
  }
  RunPtx run(kernel(
      "  and.b32 %r1, %t, 3;\n  setp.eq.u32 %p0, %r1, 0; setp.eq.u32 %p1, %r1, 1; setp.eq.u32 %p2, %r1, 2;\n"
      "  mov.u32 %r3, 69999;\n@%p0 mov.u32 %r3, 3;\n@%p1 mov.u32 %r3, 65535;\n@%p2 mov.u32 %r3, 65539;\n" +
      list + ";\n  brx.idx %r3, T;\nNEAR: mov.u32 %r2, 0; bra E;\n" + blocks + "E:\n  st.global.u32 [%dst], %r2;\n"));
  const auto out = run_kernel(run, 32, 32);
  const uint32_t expected[] = {3, 65535, 65539, 69999};
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], expected[t % 4]) << t;
}

// .reg parameters: values, not .param variables. Even lanes call the one, odd lanes the other.
TEST(Call, RegistersAsParameters) {
  RunPtx run(kernel(R"(
  and.b32 %r1, %t, 1;
  setp.eq.u32 %p0, %r1, 1;
  mov.u32 %r4, 0;
  mov.f32 %f1, 0f40400000;
  @%p0 call (%r4, %f2), two, (%t, 5, %f1);
  @!%p0 call (%r4), one, (%t);
  @%p0 cvt.rzi.u32.f32 %r5, %f2;
  @!%p0 mov.u32 %r5, 100;
  mad.lo.u32 %r4, %r4, 1000, %r5;
  st.global.u32 [%dst], %r4;
)",
                    16,
                    R"(
.func (.reg .b32 r) one(.reg .b32 a) { .reg .pred p; setp.gt.u32 p, a, 9; add.u32 r, a, 1; @p ret; add.u32 r, a, 2; }
.func (.reg .b32 r, .reg .f32 f) two(.reg .b32 a, .reg .b32 b, .reg .f32 c) { mul.lo.u32 r, a, b; add.f32 f, c, c; ret; }
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t)
    EXPECT_EQ(out[t], t % 2 ? t * 5 * 1000 + 6 : (t > 9 ? t + 1 : t + 2) * 1000 + 100) << t;
}

TEST(BranchTable, OneListMayServeManyBranches) {
  RunPtx run(kernel(R"(
  and.b32 %r1, %t, 1;
  mov.u32 %r2, 0;
  mov.u32 %r4, 0;
  T: .branchtargets A, B;
  A: add.u32 %r2, %r2, 1;
  setp.gt.u32 %p0, %r2, 5;
  @%p0 bra E;
  brx.idx %r1, T;
  B: add.u32 %r4, %r4, 1;
  setp.gt.u32 %p0, %r4, 3;
  @%p0 bra E;
  brx.idx %r1, T;
  E: shl.b32 %r4, %r4, 8; or.b32 %r2, %r2, %r4;
  st.global.u32 [%dst], %r2;
)"));
  const auto out = run_kernel(run, 32, 32);
  for (uint32_t t = 0; t < 32; ++t) EXPECT_EQ(out[t], t & 1 ? 0x401u : 0x6u) << t;
}

}  // namespace
}  // namespace tinygpu::test
