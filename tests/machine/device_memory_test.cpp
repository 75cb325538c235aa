// Device memory's groups of banks: who waits for whom, and how long.
#include "common/tinygpu/machine/memory/device_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <queue>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// So much a server lets requests pass each other.
constexpr double kDisorder = Server::kDisorder;

MachineSpec memory_of(uint32_t groups, double bytes, uint32_t batch, double turn) {
  MachineSpec spec = hopper_machine();
  spec.numbers["mem.dram.channels"] = groups;
  spec.numbers["mem.dram.bytes_per_cycle"] = bytes / 0.95;  // so much of it reads get
  spec.numbers["mem.dram.write_batch"] = batch;
  spec.numbers["mem.dram.turn"] = turn;
  spec.numbers["mem.dram.patience"] = 400;
  spec.numbers["mem.dram.write_factor"] = 1;
  spec.numbers["mem.dram.least"] = 64;
  spec.numbers["mem.dram.elsewhere"] = 32;
  return spec;
}
DeviceMemory memory(const MachineSpec& spec) { return DeviceMemory(MemoryTiming(spec)); }

TEST(DeviceMemory, ALineWaitsForOthersOfItsStretch) {
  DeviceMemory m = memory(memory_of(64, 64, 1, 0));  // a byte a cycle and group: 128 cycles a line
  EXPECT_DOUBLE_EQ(m.read(1000, 0, 128), 1000);
  EXPECT_NEAR(m.read(1000, 1, 128), 1128, kDisorder);
  EXPECT_NEAR(m.read(1000, 2, 128), 1256, kDisorder);
  int waited = 0;
  for (uint64_t stretch = 1; stretch < 9; ++stretch) waited += m.read(1000, 4 * stretch, 128) > 1000;
  EXPECT_LE(waited, 3) << "other stretches lie in other groups, but for chance";
  EXPECT_EQ(m.moved(), 11 * 128u);
}

TEST(DeviceMemory, ACopyWaitsForOthersNotForItself) {
  DeviceMemory m = memory(memory_of(1, 1, 1, 0));  // a byte a cycle: 128 cycles a line
  for (const uint64_t line : {0, 1, 2, 40}) EXPECT_DOUBLE_EQ(m.read(1000, line, 128, 7), 1000);
  EXPECT_NEAR(m.read(1000, 80, 128, 8), 1000 + 4 * 128, kDisorder) << "the other copy has taken the time of four lines";
  EXPECT_NEAR(m.read(1000, 81, 128, 8), 1000 + 4 * 128, kDisorder);
  EXPECT_NEAR(m.read(1000, 120, 128), 1000 + 6 * 128, kDisorder) << "a load waits for copies";
  EXPECT_NEAR(m.read(1000, 121, 128), 1000 + 7 * 128, kDisorder) << "and for what it has asked for itself";
}

TEST(DeviceMemory, PartsOfLinesAreDearerElsewhere) {
  DeviceMemory m = memory(memory_of(1, 4, 1, 0));
  EXPECT_DOUBLE_EQ(m.read(0, 0, 32), 0);
  EXPECT_DOUBLE_EQ(m.read(0, 1, 32), 24) << "64 bytes of the rate, and 32";
  EXPECT_DOUBLE_EQ(m.read(0, 40, 32), 24 + 16) << "the one before was in the stretch of the first";
  EXPECT_DOUBLE_EQ(m.read(0, 80, 128), 24 + 16 + 24);
  EXPECT_DOUBLE_EQ(m.read(0, 120, 32), 24 + 16 + 24 + 32) << "a line takes its own time";
  EXPECT_EQ(m.moved(), 4 * 64u + 128);
}

TEST(DeviceMemory, AllGroupsHaveEqualSharesOfALongStretch) {
  DeviceMemory m = memory(memory_of(752, 2398, 1, 0));
  constexpr uint64_t kLines = 4 * 16 * 752;
  double last = 0;
  for (uint64_t line = 0; line < kLines; ++line) last = std::max(last, m.read(0, line, 128));
  EXPECT_NEAR(last, double(kLines) * 128 / 2398, 45) << "the last line begins when all others have been served";
}

TEST(DeviceMemory, WritesGoInBatchesAndReadsWaitForThem) {
  DeviceMemory m = memory(memory_of(1, 4, 20, 250));  // one group, 32 cycles a line
  EXPECT_DOUBLE_EQ(m.read(0, 0, 128), 0);
  for (uint64_t line = 100; line < 119; ++line) EXPECT_DOUBLE_EQ(m.write(500, line), 500);
  EXPECT_DOUBLE_EQ(m.read(500, 1, 128), 500) << "nineteen lines that wait are in nobody's way";
  EXPECT_DOUBLE_EQ(m.write(600, 119), 600) << "the twentieth completes a batch";
  EXPECT_NEAR(m.read(700, 2, 128), 600 + 20 * 32 + 250, kDisorder);
}

TEST(DeviceMemory, AnIdleGroupWritesWhatHasWaited) {
  for (const auto& [asked, begins] : {std::pair{800.0, 800.0}, {1000.0, 900.0 + 32 + 250}, {2000.0, 2000.0}}) {
    DeviceMemory m = memory(memory_of(1, 4, 20, 250));
    m.read(0, 0, 128);
    EXPECT_DOUBLE_EQ(m.write(500, 100), 500);
    EXPECT_NEAR(m.read(asked, 1, 128), begins, kDisorder);
  }
}

TEST(DeviceMemory, WhoWritesOnlyNeedNotTurn) {
  DeviceMemory m = memory(memory_of(1, 4, 20, 250));
  for (uint64_t line = 0; line < 40; ++line) m.write(0, line);
  EXPECT_DOUBLE_EQ(m.read(0, 50, 128), 40 * 32);
  DeviceMemory other = memory(memory_of(1, 4, 20, 250));
  other.write(0, 0);
  EXPECT_DOUBLE_EQ(other.write(10, 1), 10);
  EXPECT_DOUBLE_EQ(other.read(20, 2, 128), 32) << "the first was written at once, the second waits";
}

/// Cycles of a round in which each of `warps` reads a line, and writes one if `copies`; an idle memory answers after
/// 740, with what a loop takes beside it.
double round_cycles(int warps, bool copies) {
  DeviceMemory m = memory(hopper_machine());
  constexpr int kRounds = 24, kFirst = 6;
  struct Next {
    double time;
    int warp, round;
    bool operator<(const Next& other) const { return time > other.time; }
  };
  std::priority_queue<Next> next;
  for (int w = 0; w < warps; ++w) next.push({double(w / 8 * 37 % 400 + w % 8 * 4), w, 0});
  std::vector<double> began(size_t(warps), 0.0);
  double sum = 0;
  while (!next.empty()) {
    const Next n = next.top();
    next.pop();
    const uint64_t line = uint64_t(n.round) * uint64_t(warps) + uint64_t(n.warp);
    if (copies && n.round) m.write(n.time, (uint64_t(1) << 30) + line);
    if (n.round == kFirst) began[size_t(n.warp)] = n.time;
    if (n.round == kRounds)
      sum += n.time - began[size_t(n.warp)];
    else
      next.push({m.read(n.time, line, 128) + 740 + n.warp % 7, n.warp, n.round + 1});
  }
  return sum / warps / (kRounds - kFirst);
}

// An H200, 1,056 CTAs of 256 threads that each read, or copy, 4 bytes a round (192 MiB, 2026-11-28).
TEST(DeviceMemory, IsSlowLongBeforeItIsFull) {
  EXPECT_NEAR(round_cycles(8448, false), 853, 0.12 * 853);
  EXPECT_NEAR(round_cycles(8448, true), 1376, 0.12 * 1376);
}

/// How much longer a line waits on average that one more reader asks for, beside 124 SMs with `warps` warps whose
/// rounds take `idle` cycles on an idle memory.
double wait_beside(int warps, double idle, bool reads, bool writes) {
  DeviceMemory m = memory(hopper_machine());
  constexpr uint64_t kAside = uint64_t(1) << 28;
  double sum = 0;
  int asked = 0;
  for (uint64_t round = 0; round < 40; ++round)
    for (uint64_t i = 0; i < uint64_t(124 * warps); ++i) {
      const double time = (double(round) + double(i) / (124 * warps)) * idle;
      const uint64_t line = round * uint64_t(124 * warps) + i;
      if (reads) m.read(time, line, 128);
      if (writes) m.write(time, kAside + line);
      if (round < 20 || i % 97) continue;
      sum += m.read(time, kAside * 2 + line * 5003, 128) - time;
      ++asked;
    }
  return sum / asked;
}

// Loads of one warp on each of eight SMs beside others, H200, 2026-11-28: 311, 549 and 846 cycles longer beside copies
// of 697, 861 and 949 bytes a cycle each way, 185 beside 421, none beside 530 that are read, 16 beside 346 written.
TEST(DeviceMemory, CopiesHoldUpReadersMoreThanReadsOrWritesDo) {
  EXPECT_NEAR(wait_beside(64, 1458, true, true), 311, 0.15 * 311);
  EXPECT_NEAR(wait_beside(96, 1769, true, true), 549, 0.15 * 549);
  EXPECT_NEAR(wait_beside(128, 2141, true, true), 846, 0.15 * 846);
  EXPECT_GT(wait_beside(32, 1207, true, true), 100);
  EXPECT_LT(wait_beside(32, 961, true, false), 15);
  EXPECT_LT(wait_beside(32, 1468, false, true), 30);
}

}  // namespace
}  // namespace tinygpu::test
