// L2: which lines are there, and what it costs when they are not.
#include "common/tinygpu/machine/memory/l2.h"

#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Device memory of 1 MiB and a cache of 8 lines of 128 bytes.
class L2 : public testing::Test {
 protected:
  GlobalMemory memory{1 << 20};
  uint64_t at = memory.allocate(64 << 10, 512, MemoryKind::device);
  L2Cache cache{memory, 8 * 128, 2};
  /// How many lines of [address, address + bytes) a kernel that reads them does not find.
  uint32_t read(uint64_t address, uint64_t bytes) {
    const auto [first, last] = cache.lines_of(address, bytes);
    uint32_t absent = 0;
    for (uint64_t line = first; line < last; ++line) absent += cache.read(line, 0) == L2Cache::Found::nowhere;
    return absent;
  }
  void write(uint64_t address) { cache.write(cache.lines_of(address, 1).first); }
  uint32_t written_back() {
    uint64_t line;
    uint32_t n = 0;
    while (cache.next_written_back(line)) ++n;
    return n;
  }
};

TEST_F(L2, MemoryThatNobodyTouchedIsNotThere) {
  EXPECT_EQ(read(at, 1), 1u);
  EXPECT_EQ(read(at, 128), 0u) << "now it is";
}

TEST_F(L2, LinesCountByTheirBytes) {
  EXPECT_EQ(read(at + 127, 2), 2u);
  EXPECT_EQ(read(at + 512, 0), 0u);
  EXPECT_EQ(read(at + 512, 128 * 3 + 1), 4u);
}

TEST_F(L2, WhatWasWrittenIsThere) {
  cache.written(at, 256);
  EXPECT_EQ(read(at, 256), 0u);
  write(at + 1024);
  EXPECT_EQ(read(at + 1024, 128), 0u);
}

TEST_F(L2, FillsDriveOutTheOldest) {
  cache.written(at, 128);
  cache.written(at + 1024, 7 * 128);
  EXPECT_EQ(read(at, 128), 0u) << "eight lines fit";
  cache.written(at + 4096, 128);
  EXPECT_EQ(read(at + 1024, 128), 0u);
  EXPECT_EQ(read(at, 128), 1u) << "the ninth took the first one's place";
}

TEST_F(L2, WhatIsThereTakesNoNewPlace) {
  cache.written(at, 128);
  for (int i = 0; i < 100; ++i) cache.written(at + 1024, 128);
  EXPECT_EQ(read(at, 128), 0u);
}

TEST_F(L2, ALineThatIsReadTakesTwoPlaces) {
  cache.written(at, 128);
  read(at + 1024, 3 * 128);
  EXPECT_EQ(read(at, 128), 0u) << "1 + 3 · 2 lines";
  read(at + 2048, 128);
  EXPECT_EQ(read(at, 128), 1u) << "1 + 4 · 2";
}

TEST_F(L2, WhatKernelsWroteGoesToMemoryOnceItIsDrivenOut) {
  write(at);
  write(at);
  cache.written(at + 1024, 7 * 128);
  EXPECT_EQ(written_back(), 0u) << "all of it is still there";
  cache.written(at + 4096, 128);
  EXPECT_EQ(written_back(), 1u);
  cache.written(at + 8192, 8 * 128);
  EXPECT_EQ(written_back(), 0u) << "what the host wrote is in memory already";
}

TEST_F(L2, MemoryOfTheHostIsNoBusinessOfIt) {
  int here = 0;
  EXPECT_EQ(read(reinterpret_cast<uint64_t>(&here), sizeof here), 0u);
  cache.written(reinterpret_cast<uint64_t>(&here), sizeof here);
}

TEST_F(L2, ItEndsWhereTheAddressesEnd) {
  const uint64_t last = memory.first_address() + memory.span() - 128;
  EXPECT_EQ(read(last, 1 << 20), 1u);
  cache.written(last, 1 << 20);
}

TEST_F(L2, TheOtherHalfsLineIsFarUntilItHasBeenRead) {
  using Found = L2Cache::Found;
  cache.written(at, 128);
  const uint64_t line = cache.lines_of(at, 1).first;
  const uint32_t home = L2Cache::home(line), other = 1 - home;
  EXPECT_EQ(cache.read(line, home), Found::here);
  EXPECT_EQ(cache.read(line, other), Found::in_other_half);
  EXPECT_EQ(cache.read(line, other), Found::here) << "it has a copy now";
  write(at);
  EXPECT_EQ(cache.read(line, home), Found::here);
  EXPECT_EQ(cache.read(line, other), Found::in_other_half) << "who writes leaves no copy";
  cache.written(at, 128);
  EXPECT_EQ(cache.read(line, other), Found::in_other_half) << "nor does the host";
}

TEST_F(L2, HalfOfMemoryLivesInEachHalf) {
  int second = 0;
  for (uint64_t line = 0; line < 32 * 1000; line += 32) {
    second += L2Cache::home(line);
    EXPECT_EQ(L2Cache::home(line), L2Cache::home(line + 31)) << "4 KiB lie together";
  }
  EXPECT_NEAR(second, 500, 60);
}

// ---- What kernels feel

/// A chip on which all lines are as near as any, and none is late.
MachineSpec even_machine() {
  MachineSpec spec = plain_machine();
  spec.numbers["mem.l2.far"] = spec.numbers["mem.dram.late_share"] = 0;
  spec.numbers["mem.dram.channels"] = 128;  // fast ones: lines of a stretch do not wait for each other
  return spec;
}

/// %out: cycles of one `access` of 4 bytes at %at, until its value is there.
std::string timed(const std::string& before, const std::string& access) {
  return R"(
.visible .entry k(.param .u64 p, .param .u64 o) {
  .reg .b64 %at, %out, %t0, %t1;
  .reg .b32 %v, %d;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  mov.u32 %d, %ctaid.x;
  mad.wide.u32 %out, %d, 4, %out;
  )" + before +
         R"(
  mov.u64 %t0, %clock64;
  )" + access +
         R"(
  add.u32 %d, %v, 1;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %d, %t1;
  st.global.u32 [%out], %d;
})";
}

struct Times {
  uint32_t cold, warm;
};

/// The kernel's figure on untouched memory, and on memory that the host has filled.
Times times(const std::string& text, MachineSpec spec = even_machine()) {
  RunPtx run(text, std::move(spec));
  const uint64_t cold = run.buffer<uint32_t>(64), warm = run.upload(std::vector<uint32_t>(64, 1));
  const uint64_t out = run.upload(std::vector<uint32_t>(1, 0));
  Times t{};
  run.launch("k", {1}, {1}, cold, out);
  t.cold = run.download<uint32_t>(out, 1)[0];
  run.launch("k", {1}, {1}, warm, out);
  t.warm = run.download<uint32_t>(out, 1)[0];
  return t;
}

// probes/machines/b200.json: 300 cycles from L2, 814 from device memory.
constexpr uint32_t kDifference = 814 - 300;

TEST(L2Timing, ALoadThatMissesWaitsForDeviceMemory) {
  const Times t = times(timed("", "ld.global.u32 %v, [%at];"));
  EXPECT_EQ(t.cold - t.warm, kDifference);
}

TEST(L2Timing, SoDoesAnAtomic) {
  const Times t = times(timed("", "atom.global.add.u32 %v, [%at], 1;"));
  EXPECT_EQ(t.cold - t.warm, kDifference);
}

TEST(L2Timing, ScatteredLoadsToo) {
  const Times t = times(timed("", "mov.u32 %d, %tid.x; ld.global.u32 %v, [%at+128];"));
  EXPECT_EQ(t.cold - t.warm, kDifference);
}

TEST(L2Timing, WhatComesLateComesUpToSoMuchLater) {
  const std::string text = timed("", "ld.global.u32 %v, [%at];");
  MachineSpec spec = even_machine();
  spec.numbers["mem.dram.late_share"] = 1;
  spec.numbers["mem.dram.late"] = 200;
  const Times t = times(text, spec);
  EXPECT_GE(t.cold - t.warm, kDifference - 100);
  EXPECT_LE(t.cold - t.warm, kDifference + 100) << "the mean is what it was";
  EXPECT_NE(t.cold - t.warm, kDifference);
}

TEST(L2Timing, WhoWaitsForSeveralLinesWaitsForTheSlowest) {
  // Lanes 4 KiB apart, of 2 MiB that are untouched: one of 32 lines is most likely far and late.
  const auto cold = [](const char* step, MachineSpec spec) {
    RunPtx run(timed(std::string("mov.u32 %d, %tid.x; mul.lo.u32 %d, %d, ") + step +
                         "; cvt.u64.u32 %t0, %d; add.u64 %at, %at, %t0;",
                     "ld.global.u32 %v, [%at];"),
               std::move(spec));
    uint64_t sum = 0;
    for (int i = 0; i < 16; ++i) {
      const uint64_t at = run.buffer<uint32_t>(1 << 19), out = run.buffer<uint32_t>(64);
      run.launch("k", {1}, {32}, at, out);
      sum += run.download<uint32_t>(out, 1)[0];
    }
    return sum / 16;
  };
  const uint64_t one = cold("4", plain_machine()), many = cold("4096", plain_machine());
  EXPECT_GT(many, one + 250) << "an H200: 1,121 cycles, 687 for one";
  EXPECT_LT(many, one + plain_machine().number("mem.dram.late"));
  EXPECT_LT(cold("4096", even_machine()), cold("4", even_machine()) + 100);
}

TEST(L2Timing, PrefetchesBringLines) {
  for (const char* prefetch :
       {"prefetch.global.L2 [%at];", "prefetch.L2 [%at];", "cp.async.bulk.prefetch.L2.global [%at], 16;"}) {
    const Times t = times(timed(std::string(prefetch) + " nanosleep.u32 2000;", "ld.global.u32 %v, [%at];"));
    EXPECT_EQ(t.cold, t.warm) << prefetch;
  }
}

// Copies of one byte a thread on an H200 (2026-11-28, 1,056 CTAs of 256): a warp's sector of a line that another warp
// has asked for just before comes from device memory too, after 734 cycles. L2 answers after 281.
TEST(L2Timing, WhatIsOnItsWayIsNotThereYet) {
  const Times t = times(timed("ld.global.u32 %v, [%at+32];", "ld.global.u32 %v, [%at];"));
  EXPECT_GT(t.cold - t.warm, kDifference / 2) << "the line's other sector has been asked for a few cycles before";
  EXPECT_LE(t.cold - t.warm, kDifference);
}

TEST(L2Timing, StoresBringLines) {
  const Times t = times(timed("mov.u32 %v, 5; st.global.u32 [%at+4], %v;", "ld.global.u32 %v, [%at];"));
  EXPECT_EQ(t.cold, t.warm);
}

TEST(L2Timing, BulkCopiesWaitForTheirSlowestLine) {
  const std::string copy = R"(
.visible .entry k(.param .u64 p, .param .u64 o) {
  .shared .align 128 .b8 buffer[8192];
  .shared .align 8 .b64 bar;
  .reg .b64 %at, %out, %t0, %t1;
  .reg .b32 %s, %b, %d;
  .reg .pred %p;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  mov.u32 %s, buffer;
  mov.u32 %b, bar;
  mbarrier.init.shared::cta.b64 [%b], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], BYTES;
  mov.u64 %t0, %clock64;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%at], BYTES, [%b];
W:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;
  @!%p bra W;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %d, %t1;
  st.global.u32 [%out], %d;
})";
  const auto with = [&](const std::string& bytes) {
    std::string text = copy;
    for (size_t i; (i = text.find("BYTES")) != std::string::npos;) text.replace(i, 5, bytes);
    return text;
  };
  const MachineSpec spec = even_machine();
  for (const auto& [bytes, lines] : {std::pair{"128", "1"}, {"1024", "8"}, {"8192", "64"}}) {
    RunPtx run(with(bytes), spec);
    const uint64_t cold = run.buffer<uint8_t>(8192), out = run.upload(std::vector<uint32_t>(1, 0));
    run.launch("k", {1}, {1}, cold, out);
    const uint32_t first = run.download<uint32_t>(out, 1)[0];
    run.launch("k", {1}, {1}, cold, out);
    EXPECT_EQ(first - run.download<uint32_t>(out, 1)[0], spec.number(std::string("tma.dram.") + lines)) << bytes;
  }
}

TEST(L2Timing, CyclesDoNotDependOnHostThreads) {
  uint64_t cycles[2];
  for (int i = 0; i < 2; ++i) {
    RunPtx run(timed("", "ld.global.u32 %v, [%at];"));
    run.gpu.options.threads = i ? 4 : 1;
    const uint64_t at = run.buffer<uint32_t>(1), out = run.buffer<uint32_t>(64);
    cycles[i] = run.launch("k", {64}, {128}, at, out).cycles;
  }
  EXPECT_EQ(cycles[0], cycles[1]);
}

}  // namespace
}  // namespace tinygpu::test
