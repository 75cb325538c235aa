// Who waits for what: registers that a load has yet to bring, and reads of the clock.
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test::waits_test {
namespace {

/// Cycles that lane 0 sees between two reads of the clock around `body`, and the word %r1 of each lane.
struct Timed {
  uint64_t cycles;
  std::vector<uint32_t> words;
};

Timed timed(const std::string& body) {
  RunPtx run(ptx_header("sm_90a") + R"(
.visible .entry k(.param .u64 out)
{
  .reg .pred %p;
  .reg .b32 %r<8>;
  .reg .b64 %rd<8>;
  .shared .align 8 .b32 word;
  mov.u32 %r3, %laneid;
  setp.lt.u32 %p, %r3, 16;
  mov.u32 %r0, word;
  mov.u32 %r2, 7;
  st.shared.u32 [%r0], %r2;
  bar.warp.sync 0xffffffff;
  mov.u64 %rd1, %clock64;
)" + body + R"(
  mov.u64 %rd2, %clock64;
  sub.u64 %rd3, %rd2, %rd1;
  ld.param.u64 %rd4, [out];
  mul.wide.u32 %rd5, %r3, 4;
  add.u64 %rd5, %rd4, %rd5;
  st.global.u32 [%rd5+8], %r1;
  st.global.u64 [%rd4], %rd3;
  ret;
}
)",
             hopper_machine());
  const uint64_t out = run.buffer<uint64_t>(17);
  run.launch("k", {1}, {32}, out);
  const auto words = run.download<uint32_t>(out, 34);
  return {run.download<uint64_t>(out, 1)[0], {words.begin() + 2, words.end()}};
}

constexpr uint64_t kLoad = 23;  // an H200's load from shared memory, probes/results/h200/00_shared_memory.json

TEST(Waits, AReaderWaitsForALoad) {
  const Timed t = timed("ld.shared.u32 %r1, [%r0]; add.u32 %r1, %r1, 1;");
  EXPECT_GE(t.cycles, kLoad);
  EXPECT_EQ(t.words, std::vector<uint32_t>(32, 8));
}

// ptxas gives the second value another register.
TEST(Waits, AWriterDoesNot) {
  const Timed t = timed("ld.shared.u32 %r1, [%r0]; mov.u32 %r1, 5; add.u32 %r1, %r1, 1;");
  EXPECT_LT(t.cycles, kLoad);
  EXPECT_EQ(t.words, std::vector<uint32_t>(32, 6));
}

// Lanes that a guard switches off still want what the load brings.
TEST(Waits, AReaderBehindAGuardedWriterDoes) {
  const Timed t = timed("ld.shared.u32 %r1, [%r0]; @%p mov.u32 %r1, 5; add.u32 %r1, %r1, 1;");
  EXPECT_GE(t.cycles, kLoad);
  for (int lane = 0; lane < 32; ++lane) EXPECT_EQ(t.words[size_t(lane)], lane < 16 ? 6u : 8u) << lane;
}

// An H200's clock, read twice: 2 cycles.
TEST(Waits, AReadOfTheClockIsOneInstruction) { EXPECT_EQ(timed("").cycles, 2u); }

TEST(Waits, AGuardedReadOfASpecialRegisterLeavesOtherLanesAlone) {
  const Timed t = timed("mov.u32 %r1, 100; @%p mov.u32 %r1, %laneid;");
  for (uint32_t lane = 0; lane < 32; ++lane) EXPECT_EQ(t.words[lane], lane < 16 ? lane : 100u) << lane;
}

}  // namespace
}  // namespace tinygpu::test::waits_test
