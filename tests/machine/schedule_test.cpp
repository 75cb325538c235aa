// What a warp waits for before it issues: the values it reads, and not others that had the same place before.
#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Cycles that the kernel measured.
uint32_t measured(const std::string& body) {
  RunPtx run(R"(
.visible .entry k(.param .u64 p, .param .u64 o, .param .u32 n) {
  .reg .b64 %at, %out, %t0, %t1;
  .reg .b32 %x, %b, %y, %n;
  .reg .pred %p;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  ld.param.u32 %n, [n];
)" + body + R"(
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %x, %t1;
  st.global.u32 [%out], %x;
  st.global.u32 [%out+4], %y;
})");
  const uint64_t at = run.upload(std::vector<uint32_t>(4, 7)), out = run.upload(std::vector<uint32_t>(2, 0));
  run.launch("k", {1}, {1}, at, out, uint32_t(1));
  return run.download<uint32_t>(out, 2)[0];
}

// probes/machines/b200.json: a load from L2 takes 300 cycles.
constexpr uint32_t kLoad = 300;

TEST(Schedule, AReaderInALaterBlockWaitsForTheLoad) {
  EXPECT_GE(measured(R"(
  mov.u64 %t0, %clock64;
  ld.global.u32 %b, [%at];
  setp.eq.u32 %p, %n, 0;
  @%p bra L;
L:
  add.u32 %y, %b, 1;
  mov.u64 %t1, %clock64;)"),
            kLoad);
}

TEST(Schedule, ALoadThatNobodyReadsDelaysNobody) {
  // The register has another value by then, whatever block reads it.
  EXPECT_LT(measured(R"(
  mov.u64 %t0, %clock64;
  ld.global.u32 %b, [%at];
  add.u32 %b, %n, 1;
  setp.eq.u32 %p, %n, 0;
  @%p bra L;
  add.u32 %b, %b, 1;
L:
  add.u32 %y, %b, 1;
  mov.u64 %t1, %clock64;)"),
            kLoad / 2);
}

TEST(Schedule, LanesThatAGuardSwitchesOffWaitForTheEarlierLoad) {
  EXPECT_GE(measured(R"(
  setp.eq.u32 %p, %n, 0;
  mov.u64 %t0, %clock64;
  ld.global.u32 %b, [%at];
  @%p mov.u32 %b, 3;
  @%p bra L;
L:
  add.u32 %y, %b, 1;
  mov.u64 %t1, %clock64;)"),
            kLoad);
}

TEST(Schedule, AroundALoopAReaderWaitsForTheLoadOfTheTurnBefore) {
  EXPECT_GE(measured(R"(
  mov.u32 %b, 0;
  mov.u32 %n, 0;
  mov.u64 %t0, %clock64;
L:
  add.u32 %y, %b, 1;
  ld.global.u32 %b, [%at];
  add.u32 %n, %n, 1;
  setp.lt.u32 %p, %n, 2;
  @%p bra L;
  mov.u64 %t1, %clock64;)"),
            kLoad);
}

}  // namespace
}  // namespace tinygpu::test
