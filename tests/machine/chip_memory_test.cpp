// What all SMs share: rates of L2 and of device memory that many SMs together reach, places that many want at once, and
// that neither depends on the host.
#include "common/tinygpu/machine/memory/chip_memory.h"

#include <gtest/gtest.h>

#include "tests/support/run_ptx.h"

namespace tinygpu::test {
namespace {

/// Every thread reads and adds up `count` words, a grid's width apart, past L1, and writes its sum.
const char* kRead = R"(
.visible .entry read(.param .u64 p, .param .u64 o, .param .u32 count) {
  .reg .b64 %at, %out, %step;
  .reg .b32 %i, %n, %t, %width, %v, %sum;
  .reg .pred %p;
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  ld.param.u32 %n, [count];
  mov.u32 %t, %ctaid.x;
  mov.u32 %width, %ntid.x;
  mov.u32 %i, %tid.x;
  mad.lo.u32 %t, %t, %width, %i;
  mad.wide.u32 %at, %t, 4, %at;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %i, %nctaid.x;
  mul.lo.u32 %width, %width, %i;
  mul.wide.u32 %step, %width, 4;
  mov.u32 %sum, 0;
L:
  ld.global.cg.u32 %v, [%at];
  add.u32 %sum, %sum, %v;
  add.u64 %at, %at, %step;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra L;
  st.global.u32 [%out], %sum;
})";

/// Cycles of `ctas` CTAs of 256 threads that read `count` words each.
uint64_t read_cycles(MachineSpec spec, uint32_t ctas, uint32_t count, bool in_l2, int threads = 0) {
  RunPtx run(kRead, std::move(spec));
  run.gpu.options.threads = threads;
  const size_t words = size_t(ctas) * 256 * count;
  const uint64_t at = in_l2 ? run.upload(std::vector<uint32_t>(words)) : run.buffer<uint32_t>(words);
  const uint64_t out = run.buffer<uint32_t>(size_t(ctas) * 256);
  return run.launch("read", {ctas}, {256}, at, out, count).cycles;
}

TEST(ChipMemory, L2sRateIsShared) {
  MachineSpec spec = plain_machine();
  const uint64_t wide = read_cycles(spec, 64, 8, true);
  spec.numbers["mem.l2.bytes_per_cycle"] = 64;
  const uint64_t bytes = 64 * 256 * 8 * 4, narrow = read_cycles(spec, 64, 8, true);
  EXPECT_LT(wide, bytes / 64);
  EXPECT_GT(narrow, bytes / 64 - 200) << "64 bytes a cycle for all";
  EXPECT_LT(narrow, bytes / 64 + 4000);
}

// probe_00_l2 on an H200: 64 CTAs get 4,122 bytes a cycle, where 132 get 4,585.
/// Each CTA copies 16 KiB of its own into shared memory, and notes how long that takes.
const char* kCopy = R"(
.visible .entry copy(.param .u64 p, .param .u64 o) {
  .reg .b64 %at, %out, %t0, %t1;
  .reg .b32 %cta, %b, %s;
  .reg .pred %done;
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 to[16384];
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  mov.u32 %cta, %ctaid.x;
  mad.wide.u32 %at, %cta, 16384, %at;
  mad.wide.u32 %out, %cta, 8, %out;
  mov.u32 %b, bar;
  mov.u32 %s, to;
  mbarrier.init.shared::cta.b64 [%b], 1;
  mov.u64 %t0, %clock64;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 16384;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%at], 16384, [%b];
W:
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%b], 0;
  @!%done bra W;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  st.global.u64 [%out], %t1;
})";

// Eight SMs that ask at one time have their copies at one time.
TEST(ChipMemory, BulkCopiesAreServedInTurns) {
  MachineSpec spec = plain_machine();
  spec.numbers["mem.l2.bytes_per_cycle"] = 16;
  RunPtx run(kCopy, std::move(spec));
  const uint64_t at = run.upload(std::vector<uint32_t>(8 * 4096)), out = run.buffer<uint64_t>(8);
  run.launch("copy", {8}, {1}, at, out);
  const auto cycles = run.download<uint64_t>(out, 8);
  const auto [least, most] = std::ranges::minmax(cycles);
  EXPECT_GT(least, 4 * 16384 / 8 / 2) << "four of them share a half's 8 bytes a cycle";
  EXPECT_LT(most, least * 3 / 2);
}

TEST(ChipMemory, TheFirstCtasAreOnBothHalves) {
  MachineSpec spec = hopper_machine();
  spec.numbers["mem.l2.bytes_per_cycle"] = 64;
  const uint64_t bytes = 64 * 256 * 8 * 4;
  EXPECT_LT(read_cycles(spec, 64, 8, true), bytes / 64 * 3 / 2) << "with the launch";
}

TEST(ChipMemory, OneByteACycleChangesEverything) {
  for (const char* rate : {"mem.l2.bytes_per_cycle", "mem.dram.bytes_per_cycle"}) {
    MachineSpec spec = plain_machine();
    const uint64_t before = read_cycles(spec, 64, 4, false);
    spec.numbers[rate] = 1;
    EXPECT_GT(read_cycles(spec, 64, 4, false), 20 * before) << rate;
  }
}

TEST(ChipMemory, DeviceMemorysRateIsShared) {
  MachineSpec spec = plain_machine();
  spec.numbers["mem.dram.bytes_per_cycle"] = 64;
  spec.numbers["mem.dram.channels"] = 8;  // of many, the one that chance gives most would count
  spec.numbers["mem.dram.late"] = 0;      // latency is another matter
  const uint64_t bytes = 64 * 256 * 8 * 4, cold = read_cycles(spec, 64, 8, false);
  EXPECT_GT(cold, bytes / 64 - 200);
  EXPECT_LT(double(cold), double(bytes) / 64 * 1.2 + 4000);
  EXPECT_LT(read_cycles(spec, 64, 8, true), bytes / 64) << "what is in L2 needs none of it";
}

TEST(ChipMemory, TwiceTheBytesThroughTheSameWayTakeTwiceAsLong) {
  MachineSpec spec = plain_machine();
  spec.numbers["mem.l2.bytes_per_cycle"] = 16;
  const uint64_t some = read_cycles(spec, 32, 8, true), twice = read_cycles(spec, 64, 8, true);
  EXPECT_NEAR(double(twice), 2 * double(some), 0.15 * double(twice));
}

TEST(ChipMemory, CyclesDoNotDependOnHostThreads) {
  MachineSpec spec = plain_machine();
  spec.numbers["mem.l2.bytes_per_cycle"] = 200;
  const uint64_t one = read_cycles(spec, 40, 16, false, 1);
  for (const int threads : {2, 4, 7}) EXPECT_EQ(read_cycles(spec, 40, 16, false, threads), one) << threads;
}

TEST(ChipMemory, StoresWaitOnceTooManyAreOnTheirWay) {
  const char* text = R"(
.visible .entry fill(.param .u64 o) {
  .reg .b64 %out;
  .reg .b32 %t, %n;
  .reg .pred %p;
  ld.param.u64 %out, [o];
  mov.u32 %t, %ctaid.x;
  mov.u32 %n, %tid.x;
  mad.lo.u32 %t, %t, 256, %n;
  mad.wide.u32 %out, %t, 4, %out;
  mov.u32 %n, 64;
L:
  st.global.u32 [%out], %n;
  add.u64 %out, %out, 8192;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra L;
})";
  const auto cycles = [&](double rate) {
    MachineSpec spec = plain_machine();
    spec.numbers["mem.l2.write_bytes_per_cycle"] = rate;
    RunPtx run(text, spec);
    const uint64_t out = run.buffer<uint32_t>(8 * 256 * 64);
    return run.launch("fill", {8}, {256}, out).cycles;
  };
  const uint64_t bytes = 8 * 256 * 64 * 4;
  EXPECT_LT(cycles(10000), bytes / 32);
  EXPECT_GT(cycles(32), bytes / 32 - 2000);
}

/// Every thread adds to one of `words` words, 16 times.
uint64_t atomic_cycles(uint32_t words, uint32_t apart, const char* instruction = "red.global.add.u32 [%at], 1;") {
  RunPtx run(std::string(R"(
.visible .entry k(.param .u64 p, .param .u32 words, .param .u32 apart) {
  .reg .b64 %at;
  .reg .b32 %t, %i, %n, %v;
  .reg .pred %p;
  ld.param.u64 %at, [p];
  ld.param.u32 %n, [words];
  mov.u32 %t, %tid.x;
  rem.u32 %t, %t, %n;
  ld.param.u32 %n, [apart];
  mul.lo.u32 %t, %t, %n;
  cvt.u64.u32 %at, %t;
  .reg .b64 %base;
  ld.param.u64 %base, [p];
  add.u64 %at, %at, %base;
  mov.u32 %i, 16;
L:
  )") + instruction +
             R"(
  sub.u32 %i, %i, 1;
  setp.ne.u32 %p, %i, 0;
  @%p bra L;
})");
  const uint64_t at = run.upload(std::vector<uint32_t>(1 << 16));
  const uint64_t cycles = run.launch("k", {8}, {256}, at, words, apart).cycles;
  uint64_t sum = 0;
  for (const uint32_t v : run.download<uint32_t>(at, 1 << 16)) sum += v;
  EXPECT_EQ(sum, 8u * 256 * 16);
  return cycles;
}

TEST(ChipMemory, AtomicsOnOneWordTakeTurns) {
  const double word = plain_machine().number("mem.atomic.word");
  const uint64_t additions = 8 * 256 * 16;
  const uint64_t one = atomic_cycles(1, 4), many = atomic_cycles(256, 128);
  EXPECT_GT(double(one), 0.9 * word * double(additions)) << "one after the other, of whichever SM";
  EXPECT_LT(many * 4, one) << "a line for each thread: all slices at once";
}

// ---- The server itself

TEST(ChipMemory, WhoComesToABusySliceWaits) {
  GlobalMemory memory(1 << 20);
  const uint64_t at = memory.allocate(64 << 10, 512, MemoryKind::device);
  MachineSpec spec = plain_machine();
  spec.numbers["mem.l2.far"] = 0;
  const MemoryTiming timing(spec);
  L2Cache l2(memory, 1 << 20, 2);
  l2.written(at, 64 << 10);
  ChipMemory chip(l2, timing, 132);
  const LineUse line{uint32_t(l2.lines_of(at, 1).first), 4, 0, 0};
  EXPECT_EQ(chip.read(1000, 0, {&line, 1}).delay, 0u);
  uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) last = chip.read(1000, 0, {&line, 1}).delay;
  EXPECT_NEAR(double(last), 1000 * 128 / timing.slice_bytes, 70);
  EXPECT_EQ(chip.read(1000, 7, {&line, 1}).delay, 0u) << "the other half has its own copy";
}

constexpr int kTurns = 200'000;
/// When the last of `reads` and `writes` of lines is through, in turn, by SMs of all CPCs.
uint64_t through(int reads, int writes) {
  constexpr uint64_t bytes = 128 << 20;
  constexpr uint32_t lines = bytes / 128 / 2;  // that are read; the others are written
  GlobalMemory memory(2 * bytes);
  const uint64_t at = memory.allocate(bytes, 512, MemoryKind::device);
  const MachineSpec spec = hopper_machine();
  const MemoryTiming timing(spec);
  L2Cache l2(memory, 4 * bytes, 2);
  l2.written(at, bytes);
  ChipMemory chip(l2, timing, 132);
  const auto first = uint32_t(l2.lines_of(at, 1).first);
  // Copies of all lines are in both halves.
  for (uint32_t i = 0; i < lines; ++i)
    for (const uint32_t sm : {0u, 131u}) {
      const LineUse line{first + i, 4, 0, 0};
      chip.read(i, sm, {&line, 1});
    }
  uint64_t last = 0;
  uint32_t from = 0, to = lines;
  for (int i = 0; i < kTurns; ++i) {
    const uint32_t sm = uint32_t(i) % 96;  // four of each CPC
    const auto turn = [&](int times, auto pass, uint32_t& next) {
      for (int k = 0; k < times; ++k) {
        const LineUse line{first + next++, 4, 0, 0};
        last = std::max(last, pass(line, sm).delay);
      }
    };
    turn(
        reads,
        [&](const LineUse& l, uint32_t s) {
          return chip.read(10'000'000, s, {&l, 1});
        },
        from);
    turn(
        writes,
        [&](const LineUse& l, uint32_t s) {
          return chip.write(10'000'000, s, {&l, 1});
        },
        to);
  }
  return last;
}

TEST(ChipMemory, CopiesToSeveralCtasAreSharedWithNobody) {
  GlobalMemory memory(1 << 20);
  const uint64_t at = memory.allocate(64 << 10, 512, MemoryKind::device);
  L2Cache l2(memory, 1 << 20, 2);
  l2.written(at, 64 << 10);
  const LineUse line{uint32_t(l2.lines_of(at, 1).first), 4, 0, 0};
  // What L2 reads out when two SMs of a GPC ask for a line at a time, each for so many CTAs.
  const auto read = [&](uint32_t first, uint32_t second) {
    ChipMemory chip(l2, MemoryTiming(plain_machine()), 132);
    const auto place = [&](uint32_t sm) { return chip.places()[sm]; };
    uint32_t other = 1;
    while (place(other).gpc != place(0).gpc) ++other;
    chip.read(1000, 0, {&line, 1}, ChipMemory::BulkCopy{chip.new_copy(), first});
    chip.read(1000, other, {&line, 1}, ChipMemory::BulkCopy{chip.new_copy(), second});
    return chip.l2_read();
  };
  EXPECT_EQ(read(1, 1), 128u);
  // probe_00_l2_multicast on an H200: clusters that copy the same for their CTAs get no more than those that don't.
  EXPECT_EQ(read(2, 2), 256u);
  EXPECT_EQ(read(2, 1), 256u);
  EXPECT_EQ(read(1, 2), 256u);
}

/// Two CTAs of a cluster, each of which copies 16 KiB eight times, for both if `mask` is 3; how long it takes CTA 0 to
/// have all that comes.
uint64_t received(uint32_t mask, double rate) {
  MachineSpec spec = plain_machine();
  spec.numbers["tma.received_bytes_per_cycle"] = rate;
  RunPtx run(R"(
.visible .entry k(.param .u64 p, .param .u64 o, .param .u32 mask, .param .u32 expected) {
  .reg .b64 %at, %out, %t0, %t1;
  .reg .b32 %b, %s, %m, %n, %expected, %rank;
  .reg .b16 %mask;
  .reg .pred %p;
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 to[16384];
  ld.param.u64 %at, [p];
  ld.param.u64 %out, [o];
  ld.param.u32 %m, [mask];
  ld.param.u32 %expected, [expected];
  mov.u32 %rank, %cluster_ctarank;
  mad.wide.u32 %at, %rank, 131072, %at;
  mad.wide.u32 %out, %rank, 8, %out;
  setp.eq.u32 %p, %m, 3;
  shl.b32 %n, 1, %rank;
  selp.b32 %m, 3, %n, %p;
  cvt.u16.u32 %mask, %m;
  mov.u32 %b, bar;
  mov.u32 %s, to;
  mbarrier.init.shared::cta.b64 [%b], 1;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], %expected;
  fence.mbarrier_init.release.cluster;
  barrier.cluster.arrive;
  barrier.cluster.wait;
  mov.u64 %t0, %clock64;
  mov.u32 %n, 8;
L:
  cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%s], [%at], 16384, [%b], %mask;
  add.u64 %at, %at, 16384;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra L;
W:
  mbarrier.try_wait.parity.shared::cta.b64 %p, [%b], 0;
  @!%p bra W;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  st.global.u64 [%out], %t1;
  barrier.cluster.arrive;
  barrier.cluster.wait;
})",
             spec);
  const uint64_t at = run.upload(std::vector<uint32_t>(1 << 16)), out = run.buffer<uint64_t>(2);
  run.cluster = {2};
  run.launch("k", {2}, {1}, at, out, mask, uint32_t(8 * 16384 * (mask == 3 ? 2 : 1)));
  return run.download<uint64_t>(out, 1)[0];
}

TEST(ChipMemory, AnSmTakesWhatOthersOfItsClusterCopyToItInItsTurn) {
  const double rate = plain_machine().number("tma.bytes_per_cycle");
  const double alone = double(received(1, rate)), together = double(received(3, rate));
  EXPECT_NEAR(together - alone, 8 * 16384 / rate, 250) << "twice as much comes";
  EXPECT_NEAR(double(received(3, rate / 2)) - together, 16 * 16384 / rate, 200);
}

TEST(ChipMemory, ReadingAndWritingHaveWaysOfTheirOwn) {
  const double read = double(through(1, 0)), written = double(through(0, 1)), both = double(through(1, 1));
  // probe_00_l2 on an H200: 4,740 bytes a cycle read, 2,671 written, 4,698 of both.
  EXPECT_NEAR(kTurns * 128.0 / read, 4740, 250);
  EXPECT_NEAR(kTurns * 128.0 / written, 2671, 200);
  EXPECT_NEAR(2 * kTurns * 128.0 / both, 4698, 250) << "requests take a little of what is written";
  EXPECT_NEAR(3 * kTurns * 128.0 / double(through(2, 1)), 6294, 700);
}

TEST(ChipMemory, AStoreOfPartsSendsWhichBytesToo) {
  GlobalMemory memory(1 << 20);
  const uint64_t at = memory.allocate(64 << 10, 512, MemoryKind::device);
  const MachineSpec spec = hopper_machine();
  const MemoryTiming timing(spec);
  const auto cycles = [&](uint8_t sectors) {
    L2Cache l2(memory, 1 << 20, 2);
    ChipMemory chip(l2, timing, 132);
    const LineUse line{uint32_t(l2.lines_of(at, 1).first), sectors, 0, 0};
    uint64_t last = 0;
    for (int i = 0; i < 1000; ++i) last = chip.write(1000, 0, {&line, 1}).delay;
    return double(last) / 1000 * timing.slice_write_bytes / 32;
  };
  // ncu, an H200: cycles of an SM's way to L2.
  EXPECT_NEAR(cycles(4), 4, 0.1);
  EXPECT_NEAR(cycles(5), 5, 0.1) << "parts of four sectors";
  EXPECT_NEAR(cycles(2), 2, 0.1) << "a part of one";
  EXPECT_NEAR(cycles(1), 1.36, 0.1) << "the least";
}

TEST(ChipMemory, LanesThatCountInSharedMemoryAreAddedUpOnTheWay) {
  const auto cycles = [](const std::string& instruction) {
    RunPtx run(R"(
.visible .entry k(.param .u64 o) {
  .shared .align 4 .b32 word;
  .reg .b64 %out, %t0, %t1;
  .reg .b32 %a, %v, %i, %n;
  .reg .pred %p;
  ld.param.u64 %out, [o];
  mov.u32 %a, %tid.x;  // one word, but not so that ptxas knows it
  shr.u32 %a, %a, 5;
  shl.b32 %a, %a, 2;
  mov.u32 %n, word;
  add.u32 %a, %a, %n;
  mov.u32 %n, 2;
  mov.u32 %i, 32;
  mov.u64 %t0, %clock64;
L:
  )" + instruction +
                   R"(
  sub.u32 %i, %i, 1;
  setp.ne.u32 %p, %i, 0;
  @%p bra L;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %n, %t1;
  st.global.u32 [%out], %n;
})",
               hopper_machine());
    const uint64_t out = run.buffer<uint32_t>(1);
    run.launch("k", {1}, {32}, out);
    return double(run.download<uint32_t>(out, 1)[0]) / 32;
  };
  // An H200: 65 cycles for 32 lanes on one word, 4 if they count.
  EXPECT_GT(cycles("red.shared.add.u32 [%a], %n;"), 55);
  EXPECT_LT(cycles("red.shared.add.u32 [%a], 1;"), 20);
  EXPECT_LT(cycles("atom.shared.add.u32 %v, [%a], 1;"), 20) << "its result is not read";
  EXPECT_GT(cycles("atom.shared.add.u32 %v, [%a], 1; add.u32 %n, %v, 1;"), 55);
}

/// Eight CTAs read the same 2,048 rows, `pitch` bytes apart, each in an order of its own.
uint64_t rows_cycles(uint32_t pitch) {
  MachineSpec spec = plain_machine();
  spec.numbers["mem.l2.bytes_per_cycle"] = 64;
  spec.numbers["mem.l2.shared_bytes_per_cycle"] = 6400;
  RunPtx run(R"(
.visible .entry read(.param .u64 p, .param .u32 pitch) {
  .reg .b64 %at, %from;
  .reg .b32 %t, %cta, %k, %row, %pitch, %v;
  .reg .pred %p;
  ld.param.u64 %at, [p];
  ld.param.u32 %pitch, [pitch];
  mov.u32 %t, %tid.x;
  mov.u32 %cta, %ctaid.x;
  mov.u32 %k, 0;
L:
  add.u32 %row, %k, %cta;
  and.b32 %row, %row, 7;
  mad.lo.u32 %row, %row, 256, %t;
  mad.wide.u32 %from, %row, %pitch, %at;
  ld.global.cg.u32 %v, [%from];
  add.u32 %k, %k, 1;
  setp.lt.u32 %p, %k, 8;
  @%p bra L;
})",
             spec);
  const uint64_t at = run.upload(std::vector<uint32_t>(2048 * pitch / 4));
  return run.launch("read", {8}, {256}, at, pitch).cycles;
}

TEST(ChipMemory, WhatSmsReadTogetherIsSeenWhateverThePitch) {
  const uint64_t odd = rows_cycles(8192 + 128);
  EXPECT_LT(odd, 8u * 2048 * 32 / 64) << "most of it passes at the higher rate";
  EXPECT_LT(double(rows_cycles(8192)), 1.1 * double(odd));
}

}  // namespace
}  // namespace tinygpu::test
