// L1: its tags, and what a load that hits it costs.
#include "common/tinygpu/machine/memory/l1.h"

#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

using Arrival = L1Cache::Arrival;

TEST(L1, SectorsComeOneByOne) {
  L1Cache l1(4096);
  Arrival then;
  EXPECT_EQ(l1.load(7, 0b0011, {100}, then), 0b0011u);
  EXPECT_EQ(then.value, 0u);
  EXPECT_EQ(l1.load(7, 0b0110, {200}, then), 0b0100u);
  EXPECT_EQ(then.value, 100u) << "the other one is on its way";
  EXPECT_EQ(l1.load(7, 0b0111, {300}, then), 0u);
  EXPECT_EQ(then.value, 200u);
}

TEST(L1, AnAnswerSaysWhenALineComes) {
  L1Cache l1(4096);
  Arrival then;
  l1.load(7, 1, Arrival::asked(5, 0), then);
  l1.load(7, 1, Arrival::asked(6, 0), then);
  EXPECT_TRUE(then.unknown());
  EXPECT_EQ(then.request(), 5u);
  l1.arrives(7, Arrival::asked(5, 0), 1234);
  l1.load(7, 1, Arrival::asked(7, 0), then);
  EXPECT_FALSE(then.unknown());
  EXPECT_EQ(then.value, 1234u);
}

TEST(L1, ItHoldsWhatItIsLargeEnoughFor) {
  for (const uint32_t lines : {64u, 2048u}) {
    L1Cache l1(lines * 128);
    Arrival then;
    for (uint32_t i = 0; i < lines; ++i) EXPECT_EQ(l1.load(i, 1, {}, then), 1u);
    uint32_t there = 0;
    for (uint32_t i = 0; i < lines; ++i) there += l1.load(i, 1, {}, then) == 0;
    EXPECT_EQ(there, lines);
    for (uint32_t i = 0; i < lines; ++i) l1.load(1000000 + i, 1, {}, then);
    EXPECT_EQ(l1.load(0, 1, {}, then), 1u) << "as many others have driven it out";
  }
}

TEST(L1, EmptyItHoldsNothing) {
  L1Cache l1(4096);
  Arrival then;
  l1.load(7, 1, {}, then);
  l1.empty();
  EXPECT_EQ(l1.load(7, 1, {}, then), 1u);
}

// ---- What kernels feel

/// Cycles of the second of two loads of 4 bytes, `between` lies between them; the memory is in L2.
uint32_t second_load(const std::string& first, const std::string& second, const std::string& between = "") {
  RunPtx run(R"(
.visible .entry k(.param .u64 p, .param .u64 o) {
  .reg .b64 %at, %out, %t0, %t1;
  .reg .b32 %v, %d;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  )" + first +
             R"(
  add.u32 %d, %v, 1;
  )" + between +
             R"(
  mov.u64 %t0, %clock64;
  )" + second +
             R"(
  add.u32 %d, %v, 1;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %d, %t1;
  st.global.u32 [%out], %d;
})");
  const uint64_t at = run.upload(std::vector<uint32_t>(64, 1)), out = run.upload(std::vector<uint32_t>(1, 0));
  run.launch("k", {1}, {1}, at, out);
  return run.download<uint32_t>(out, 1)[0];
}

TEST(L1Timing, ASecondLoadIsQuick) {
  const MachineSpec spec = plain_machine();
  const double difference = spec.number("mem.l2.latency") - spec.number("mem.l1.latency");
  const uint32_t cold = second_load("ld.global.u32 %v, [%at+128];", "ld.global.u32 %v, [%at];");
  EXPECT_EQ(cold - second_load("ld.global.u32 %v, [%at];", "ld.global.u32 %v, [%at];"), difference);
  EXPECT_EQ(cold - second_load("ld.global.nc.u32 %v, [%at];", "ld.global.u32 %v, [%at+4];"), difference);
  EXPECT_EQ(cold - second_load("ld.global.u32 %v, [%at];", "ld.global.u32 %v, [%at+32];"), 0) << "another sector";
}

TEST(L1Timing, WhatGoesPastItIsNot) {
  const uint32_t cold = second_load("ld.global.u32 %v, [%at+128];", "ld.global.u32 %v, [%at];");
  const char* plain = "ld.global.u32 %v, [%at];";
  for (const char* past :
       {"ld.global.cg.u32 %v, [%at];", "ld.global.cv.u32 %v, [%at];", "ld.volatile.global.u32 %v, [%at];"})
    EXPECT_EQ(second_load(plain, past), cold) << past;
  // probe_16_handover, turn/relaxed: a load of the GPU's scope takes as long as a weak one.
  EXPECT_EQ(second_load(plain, "ld.relaxed.gpu.global.u32 %v, [%at];"), cold);
}

TEST(L1Timing, AnAcquireEmptiesIt) {
  const char* plain = "ld.global.u32 %v, [%at];";
  const uint32_t cold = second_load("ld.global.u32 %v, [%at+128];", plain), warm = second_load(plain, plain);
  for (const char* acquire : {"fence.acq_rel.gpu;", "ld.acquire.gpu.global.u32 %v, [%at+192];",
                              "atom.acquire.gpu.global.add.u32 %v, [%at+128], 1;"})
    EXPECT_NEAR(second_load(plain, plain, acquire), cold, 2) << acquire << ": it has a turn of the unit itself";
  EXPECT_EQ(second_load(plain, plain, "fence.acq_rel.cta;"), warm);
}

TEST(L1Timing, ALoadOfALineOnItsWayWaitsForIt) {
  const uint32_t one = second_load("", "ld.global.u32 %v, [%at];");
  const uint32_t two = second_load("", "ld.global.u32 %d, [%at]; ld.global.u32 %v, [%at];");
  EXPECT_GE(two, one) << "it is not there sooner than the first";
  EXPECT_LE(two, one + 16);
}

}  // namespace
}  // namespace tinygpu::test
