// What warps that run ahead of each other may take of a unit; time that is over cannot be taken.
#include "common/tinygpu/machine/chip/reservation_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

TEST(ReservationTable, WhoIsBehindGetsWhatWasLeftFree) {
  ReservationTable unit;
  EXPECT_EQ(unit.take(10, 2).begin, 10);
  EXPECT_EQ(unit.take(20, 4).begin, 20);
  EXPECT_EQ(unit.first(11), 12);
  const auto between = unit.take(11, 3);
  EXPECT_EQ(between.begin, 12);
  EXPECT_EQ(between.end, 15);
  // Five are left up to the 20th, the sixth comes behind the others.
  const auto parts = unit.take(12, 6);
  EXPECT_EQ(parts.begin, 15);
  EXPECT_EQ(parts.end, 25);
  EXPECT_EQ(unit.first(0), 0) << "before the first one";
  EXPECT_EQ(unit.first(10), 25);
}

TEST(ReservationTable, WorkQueuesUp) {
  LongReservationTable unit;
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(unit.take(5, 4).begin, 5 + 4 * i);
  EXPECT_EQ(unit.end(), 165);
}

TEST(ReservationTable, GapsAreForgottenInTime) {
  ReservationTable near;
  LongReservationTable far;
  near.take(0, 1), far.take(0, 1);
  near.take(1000, 1), far.take(1000, 1);
  EXPECT_EQ(near.first(0), 1001 - 64);
  EXPECT_EQ(far.first(0), 1001 - 128);
  near.take(1001, 200), far.take(1001, 200);
  EXPECT_EQ(near.first(0), 1201);
  EXPECT_EQ(far.first(0), 1201);
}

/// What both kinds stand for, cycle by cycle.
class Plainly {
 public:
  explicit Plainly(int64_t kept) : kept_(kept) {}
  TakenCycles take(int64_t earliest, int64_t cycles) {
    TakenCycles out{-1, 0};
    for (int64_t t = std::max(earliest, end() - kept_), from = end(); cycles > 0; ++t) {
      if (t < from && taken_[size_t(t)]) continue;
      if (t >= end()) taken_.resize(size_t(t) + 1);
      taken_[size_t(t)] = true;
      if (out.begin < 0) out.begin = t;
      out.end = t + 1;
      --cycles;
    }
    return out;
  }

 private:
  int64_t end() const { return int64_t(taken_.size()); }
  const int64_t kept_;
  std::vector<bool> taken_;
};

template <class Unit>
void compare(int64_t kept, uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t n) { return int64_t(random() % n); };
  Unit unit;
  Plainly plainly(kept);
  int64_t ahead = 0;
  const uint32_t spread = 8u << seed % 6;  // how far warps are apart
  for (int i = 0; i < 4000; ++i) {
    const int64_t earliest = std::max<int64_t>(0, ahead - below(spread));
    const int64_t cycles = 1 + (below(32) ? below(4) : below(200));
    const TakenCycles is = unit.take(earliest, cycles), must = plainly.take(earliest, cycles);
    ASSERT_EQ(is.begin, must.begin) << "seed " << seed << ", " << cycles << " from " << earliest << ", step " << i;
    ASSERT_EQ(is.end, must.end) << "seed " << seed << ", " << cycles << " from " << earliest << ", step " << i;
    ahead = std::max(ahead, below(4) ? earliest : is.end) + (below(64) ? below(3) : below(300));
  }
}

TEST(ReservationTable, AreWhatTheyAreCycleByCycle) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    compare<ReservationTable>(64, seed);
    compare<LongReservationTable>(128, seed);
  }
}

/// Cycles of a round in which each of eight warps loads 12 times four matrices, with a barrier or without.
double round_cycles(bool barrier) {
  std::string body;
  for (int i = 0; i < 12; ++i)
    body += "  ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%v0, %v1, %v2, %v3}, [%at+" + std::to_string(64 * i) +
            "];\n  xor.b32 %sum, %sum, %v0;\n";
  const auto cycles = [&](uint32_t rounds) {
    RunPtx r(ptx_header("sm_90a") + R"(
.visible .entry k(.param .u64 out, .param .u32 rounds)
{
  .reg .pred %more; .reg .b32 %n, %t, %at, %sum, %v<4>; .reg .b64 %to;
  .shared .align 128 .b8 rows[2048];
  ld.param.u64 %to, [out]; ld.param.u32 %n, [rounds];
  mov.u32 %t, %tid.x; and.b32 %t, %t, 31; shl.b32 %t, %t, 4; mov.u32 %at, rows; add.u32 %at, %at, %t;
  mov.u32 %sum, 0;
L:
)" + std::string(barrier ? "  bar.sync 0;\n" : "") +
                 body + R"(
  sub.u32 %n, %n, 1; setp.ne.u32 %more, %n, 0;
  @%more bra L;
  mov.u32 %t, %tid.x; mad.wide.u32 %to, %t, 4, %to; st.global.u32 [%to], %sum;
  ret;
})",
             hopper_machine());
    const uint64_t out = r.buffer<uint32_t>(256);
    return double(r.launch("k", {1}, {256}, out, rounds).cycles);
  };
  return (cycles(40) - cycles(8)) / 32;
}

// An H200 (probe_05_mma_sync, "load" and "load/barrier", 8 warps): 401 and 455 cycles, of which the banks need 384. The
// banks rest while all warps wait for the last of a round's words; that time is lost.
TEST(ReservationTable, WhatABarrierCostsIsNotMadeUpFor) {
  EXPECT_NEAR(round_cycles(false), 401, 14);
  EXPECT_NEAR(round_cycles(true), 455, 14);
}

}  // namespace
}  // namespace tinygpu::test
