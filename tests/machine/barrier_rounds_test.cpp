// How long a CTA's warps wait for each other at a barrier, by when they come.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Cycles of a round of 32 warps: `body`, and a barrier.
double round_of(const std::string& body) {
  const auto cycles = [&](int rounds) {
    std::string all;
    for (int i = 0; i < rounds; ++i) {
      std::string with = body;
      // Two buffers in turn, so that one barrier a round is enough.
      for (size_t at; (at = with.find('@')) != std::string::npos;) with.replace(at, 1, i % 2 ? "+4096" : "");
      all += with;
    }
    RunPtx run(R"(
.shared .align 4 .b8 words[8192];
.visible .entry k(.param .u64 o) {
  .reg .b64 %out;
  .reg .b32 %mine, %other, %t, %v, %next;
  ld.param.u64 %out, [o];
  mov.u32 %t, %tid.x;
  mov.u32 %v, %t;
  mov.u32 %other, words;
  shl.b32 %mine, %t, 2;
  add.u32 %next, %mine, 128;
  and.b32 %next, %next, 4095;
  add.u32 %mine, %other, %mine;
  add.u32 %other, %other, %next;
)" + all + R"(
  mad.wide.u32 %out, %t, 4, %out;
  st.global.u32 [%out], %v;
})",
               hopper_machine());
    const uint64_t out = run.buffer<uint32_t>(1024);
    return run.launch("k", {1}, {1024}, out).cycles;
  };
  return double(cycles(42) - cycles(10)) / 32;
}

// An H200, driver 580.159.04, 22 November 2026 (probe_12_launch): 76 cycles from one barrier to the next.
TEST(BarrierRounds, WarpsThatComeTogetherWaitForEachOtherInTurn) { EXPECT_NEAR(round_of("  bar.sync 0;\n"), 76, 8); }

// The same H200 (ncu, cta_rounds of 1,024 threads): 25,649 cycles for 200 rounds and a start.
TEST(BarrierRounds, WarpsThatComeOneByOneDoNotWaitAgain) {
  EXPECT_NEAR(round_of("  st.shared.u32 [%mine@], %v;\n  bar.sync 0;\n  ld.shared.u32 %v, [%other@];\n"
                       "  add.u32 %v, %v, 1;\n"),
              113, 12);
}

/// The most memory that this process has had since the last call, in KiB.
int64_t most_resident() {
  std::ifstream status("/proc/self/status");
  int64_t kib = 0;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("VmHWM:")) kib = std::stoll(line.substr(6));
  std::ofstream("/proc/self/clear_refs") << 5;
  return kib;
}

// A count of 2^27 warps is one that the ISA allows.
TEST(BarrierRounds, ArrivalsWithoutEndDoNotFillTheHost) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "freed memory stays in the sanitizer's quarantine";
#endif
  RunPtx run(R"(
.visible .entry k(.param .u32 turns) {
  .reg .b32 %r<4>; .reg .pred %p;
  ld.param.u32 %r1, [turns];
  mov.u32 %r2, 0xffffffe0;
L:
  barrier.cta.arrive 1, %r2;
  sub.u32 %r1, %r1, 1;
  setp.ne.u32 %p, %r1, 0;
  @%p bra L;
  ret;
})");
  run.launch("k", {1}, {32}, 1000u);
  most_resident();
  run.launch("k", {1}, {32}, 1000u);
  const int64_t few = most_resident();
  run.launch("k", {1}, {32}, 600'000u);
  EXPECT_LT(most_resident() - few, 2048);
}

}  // namespace
}  // namespace tinygpu::test
