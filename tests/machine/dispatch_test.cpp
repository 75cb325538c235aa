// Where and when CTAs start: launch, dispatch, refill, and what the end of a grid takes.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/tinygpu/machine/chip/grid_scheduler.h"
#include "common/tinygpu/program/sass/sass_code.h"
#include "tests/machine/grids.h"

namespace tinygpu::test {
namespace {

/// Every CTA notes its SM and its first clock, then runs for as long as `busy` says of it.
const char* kStamps = R"(
.visible .entry k(.param .u64 stamps, .param .u64 busy) {
  .reg .b64 %out, %at, %now, %end;
  .reg .b32 %cta, %sm, %for;
  .reg .pred %p;
  mov.u64 %now, %clock64;
  ld.param.u64 %out, [stamps];
  ld.param.u64 %at, [busy];
  mov.u32 %cta, %ctaid.x;
  mad.wide.u32 %out, %cta, 16, %out;
  mad.wide.u32 %at, %cta, 4, %at;
  mov.u32 %sm, %smid;
  st.global.u64 [%out], %now;
  st.global.u32 [%out+8], %sm;
  ld.global.u32 %for, [%at];
  cvt.u64.u32 %end, %for;
  add.u64 %end, %now, %end;
L:
  mov.u64 %now, %clock64;
  setp.lt.u64 %p, %now, %end;
  @%p bra L;
})";

struct Stamp {
  uint64_t clock;
  uint32_t sm, unused;
};

struct Outcome {
  std::vector<Stamp> stamps;
  uint64_t cycles;
};

/// One CTA an SM at a time.
Outcome run(const std::vector<uint32_t>& busy, MachineSpec spec = plain_machine(), int threads = 0) {
  RunPtx run(kStamps, std::move(spec));
  run.gpu.options.threads = threads;
  run.dynamic_shared = 200 * 1024;
  const uint32_t n = uint32_t(busy.size());
  const uint64_t stamps = run.buffer<Stamp>(n), at = run.upload(busy);
  const uint64_t cycles = run.launch("k", {n}, {32}, stamps, at).cycles;
  return {run.download<Stamp>(stamps, n), cycles};
}

TEST(Dispatch, TheNextCtaGoesWhereRoomIsFirst) {
  // The first eight fill the machine. CTA 5 ends first, then 2 and 7, all within one window: the loop that looks at the
  // clock ends some ten cycles late.
  const Outcome r = run({9000, 9000, 4060, 9000, 9000, 4000, 9000, 4120, 100, 100, 100});
  EXPECT_EQ(r.stamps[8].sm, r.stamps[5].sm);
  EXPECT_EQ(r.stamps[9].sm, r.stamps[2].sm);
  EXPECT_EQ(r.stamps[10].sm, r.stamps[7].sm);
}

TEST(Dispatch, TheFirstOnesSpread) {
  const Outcome r = run(std::vector<uint32_t>(8, 1000));
  std::vector<bool> taken(8);
  for (const Stamp& s : r.stamps) taken.at(s.sm) = true;
  EXPECT_EQ(taken, std::vector<bool>(8, true));
}

TEST(Dispatch, RefillTakesItsTime) {
  std::vector<uint32_t> busy(8, 9000);
  busy[3] = 2000;
  busy.push_back(100);
  const auto gap = [&](double refill) {
    const Outcome r = run(busy, with({{"launch.cta_refill", refill}}));
    return r.stamps[8].clock - r.stamps[3].clock;
  };
  EXPECT_EQ(gap(1500) - gap(600), 900u);
}

TEST(Dispatch, TheGridsOwnTimesCount) {
  const auto cycles = [](const char* key, double more) { return run({100}, raised({{key, more}})).cycles; };
  const uint64_t before = cycles("launch.latency", 0);
  for (const char* key : {"launch.latency", "launch.cta", "launch.end"})
    EXPECT_EQ(cycles(key, 777), before + 777) << key;
  EXPECT_EQ(cycles("launch.cta_interval", 777), before) << "there is one CTA";
}

TEST(Dispatch, CtasAreHandedOutOneAfterAnother) {
  const Outcome r = run(std::vector<uint32_t>(8, 1000), with({{"launch.cta_interval", 50}}));
  for (size_t i = 1; i < 8; ++i) EXPECT_EQ(r.stamps[i].clock - r.stamps[i - 1].clock, 50u);
}

TEST(Dispatch, ClustersHaveOnlyTheSmsThatLieRight) {
  RunPtx run(kStamps, with({{"chip.cluster_sms.4", 4}}));
  run.cluster = {4};
  const uint64_t stamps = run.buffer<Stamp>(8), at = run.upload(std::vector<uint32_t>(8, 500));
  run.dynamic_shared = 200 * 1024;
  run.launch("k", {8}, {32}, stamps, at);
  for (const Stamp& s : run.download<Stamp>(stamps, 8)) EXPECT_LT(s.sm, 4u);
}

TEST(Dispatch, ItDoesNotDependOnHostThreads) {
  std::vector<uint32_t> busy;
  for (uint32_t i = 0; i < 60; ++i) busy.push_back(i * 7919 % 3000);
  const Outcome one = run(busy, plain_machine(), 1), five = run(busy, plain_machine(), 5);
  EXPECT_EQ(one.cycles, five.cycles);
  for (size_t i = 0; i < busy.size(); ++i) {
    EXPECT_EQ(one.stamps[i].sm, five.stamps[i].sm) << i;
    EXPECT_EQ(one.stamps[i].clock, five.stamps[i].clock) << i;
  }
}

// On an H200, 2026-11-24, CTAs of 32, 64, 96 and 128 threads, 1024 threads an SM, take 22.8, 21.9, 24.1 and 22.0
// thousand cycles: an SM's warps are spread over its sub-partitions, whatever CTAs they are of. (With 96 threads some
// SMs have 33 warps, and a sub-partition 9.)
TEST(Dispatch, WarpsOfSmallCtasAreSpreadOverSubPartitions) {
  const auto cycles = [](uint32_t threads) {
    RunPtx run(ptx_header("sm_90a") + kMultiply, hopper_machine());
    return double(run.launch("multiply", {8 * 1024 / threads}, {threads}, 500u).cycles);
  };
  const double whole = cycles(128);
  EXPECT_NEAR(cycles(32) / whole, 22.8 / 22.0, 0.05);
  EXPECT_NEAR(cycles(64) / whole, 21.9 / 22.0, 0.05);
  EXPECT_NEAR(cycles(96) / whole, 24.1 / 22.0, 0.05);
}

// Measured on an H200, 2026-11-24: the sub-partitions (%warpid % 4) of the first warps of CTAs that follow each other.
TEST(Dispatch, ACtaGoesOnWhereTheLastOneStops) {
  const auto firsts = [](uint32_t warps) {
    Sm sm(0, {});
    std::vector<uint32_t> out;
    for (int i = 0; i < 6; ++i) out.push_back(sm.place_cta(warps));
    return out;
  };
  using Firsts = std::vector<uint32_t>;
  EXPECT_EQ(firsts(1), (Firsts{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(firsts(2), (Firsts{0, 2, 0, 2, 0, 2}));
  EXPECT_EQ(firsts(3), (Firsts{0, 3, 2, 1, 0, 3}));
  EXPECT_EQ(firsts(4), (Firsts{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(firsts(5), (Firsts{0, 1, 2, 3, 0, 1}));
  EXPECT_EQ(firsts(6), (Firsts{0, 2, 0, 2, 0, 2}));
  EXPECT_EQ(firsts(8), (Firsts{0, 1, 2, 3, 0, 1}));
}

TEST(Dispatch, AClusterBarrierThatReleasesTakesLonger) {
  const auto cycles = [](const char* arrive) {
    RunPtx run(std::string(R"(
.visible .entry k(.param .u64 o) {
  .reg .b64 %out, %t0, %t1;
  .reg .b32 %d;
  ld.param.u64 %out, [o];
  mov.u64 %t0, %clock64;
  )") + arrive +
               R"(
  barrier.cluster.wait.aligned;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  cvt.u32.u64 %d, %t1;
  st.global.u32 [%out], %d;
})");
    run.cluster = {2};
    const uint64_t out = run.buffer<uint32_t>(1);
    run.launch("k", {2}, {32}, out);
    return run.download<uint32_t>(out, 1)[0];
  };
  const uint32_t relaxed = cycles("barrier.cluster.arrive.relaxed.aligned;"),
                 release = cycles("barrier.cluster.arrive.aligned;");
  // 370 to 380 cycles were measured on a B300, 102 without the release.
  EXPECT_NEAR(double(relaxed), 102, 12);
  EXPECT_NEAR(double(release), 375, 12);
}

// ---- What an SM meets for the first time

/// Every CTA notes how long its two looks at parameters and its two loads took.
const char* kFirsts = R"(
.visible .entry k(.param .u64 o, .param .u64 p) {
  .reg .b64 %out, %at, %t<5>;
  .reg .b32 %cta, %v, %w, %d<4>;
  mov.u32 %cta, %ctaid.x;
  mov.u64 %t0, %clock64;
  ld.param.u64 %out, [o];
  mov.u64 %t1, %clock64;
  ld.param.u64 %at, [p];
  mov.u64 %t2, %clock64;
  ld.global.cg.u32 %v, [%at];
  add.u32 %v, %v, 0;
  mov.u64 %t3, %clock64;
  ld.global.cg.u32 %w, [%at+4096];
  add.u32 %w, %w, 0;
  mov.u64 %t4, %clock64;
  sub.u64 %at, %t1, %t0;
  cvt.u32.u64 %d0, %at;
  sub.u64 %at, %t2, %t1;
  cvt.u32.u64 %d1, %at;
  sub.u64 %at, %t3, %t2;
  cvt.u32.u64 %d2, %at;
  sub.u64 %at, %t4, %t3;
  cvt.u32.u64 %d3, %at;
  mad.wide.u32 %out, %cta, 16, %out;
  st.global.v4.u32 [%out], {%d0, %d1, %d2, %d3};
})";

/// What CTA 0 noted.
std::vector<uint32_t> firsts(const Numbers& more, uint32_t ctas = 1) {
  RunPtx run(kFirsts, raised(more));
  const uint64_t out = run.buffer<uint32_t>(4 * ctas), at = run.upload(std::vector<uint32_t>(2048));
  run.launch("k", {ctas}, {32}, out, at);
  return run.download<uint32_t>(out, 4);
}

std::vector<int> difference(const std::vector<uint32_t>& a, const std::vector<uint32_t>& b) {
  std::vector<int> d;
  for (size_t i = 0; i < a.size(); ++i) d.push_back(int(a[i]) - int(b[i]));
  return d;
}

TEST(ColdStart, TheFirstLookAtParametersWaits) {
  EXPECT_EQ(difference(firsts({{"launch.parameters", 777}}), firsts({})), (std::vector{777, 0, 0, 0}));
}

TEST(ColdStart, TheFirstAccessToMemoryWaits) {
  EXPECT_EQ(difference(firsts({{"launch.translation", 777}}), firsts({})), (std::vector{0, 0, 777, 0}));
}

/// Cycles of three bulk copies one behind the other, of CTA 0.
const char* kCopies = R"(
.visible .entry k(.param .u64 o, .param .u64 p) {
  .reg .b64 %out, %at, %t0, %t1;
  .reg .b32 %b, %s, %phase, %d;
  .reg .pred %done, %more;
  .shared .align 8 .b64 bar;
  .shared .align 128 .b8 to[128];
  ld.param.u64 %out, [o];
  ld.param.u64 %at, [p];
  mov.u32 %b, bar;
  mov.u32 %s, to;
  mbarrier.init.shared::cta.b64 [%b], 1;
  mov.u32 %phase, 0;
L:
  mov.u64 %t0, %clock64;
  mbarrier.arrive.expect_tx.shared::cta.b64 _, [%b], 128;
  cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%s], [%at], 128, [%b];
W:
  and.b32 %d, %phase, 1;
  mbarrier.try_wait.parity.shared::cta.b64 %done, [%b], %d;
  @!%done bra W;
  mov.u64 %t1, %clock64;
  sub.u64 %t1, %t1, %t0;
  st.global.u64 [%out], %t1;
  add.u64 %out, %out, 8;
  add.u32 %phase, %phase, 1;
  setp.lt.u32 %more, %phase, 3;
  @%more bra L;
})";

TEST(ColdStart, TheFirstBulkCopyWaits) {
  const auto copies = [](const Numbers& more) {
    RunPtx run(kCopies, raised(more));
    const uint64_t out = run.buffer<uint64_t>(3), at = run.upload(std::vector<uint32_t>(32));
    run.launch("k", {1}, {1}, out, at);
    return run.download<uint64_t>(out, 3);
  };
  const auto cold = copies({{"launch.first_copy", 777}}), warm = copies({{"launch.first_copy", 0}});
  EXPECT_NEAR(double(cold[0]) - double(warm[0]), 777, 60) << "but for the steps in which a warp asks";
  EXPECT_NEAR(double(cold[1]), double(warm[1]), 60);
  EXPECT_NEAR(double(cold[2]), double(warm[2]), 60);
}

TEST(ColdStart, TheFirstBulkCopyIsAskedForWhenItsConstantsAreThere) {
  // Cycles of a grid whose machine code looks at so many lines of constants before its first copy.
  const auto cycles = [](uint32_t lines, uint32_t ctas) {
    RunPtx run(kCopies, with({{"launch.constants", 55}, {"launch.constants.sm", 7}}));
    auto code = std::make_shared<SassCode>();
    code->lines_before_copy = lines;
    run.program->set_sass("k", code);
    const uint64_t out = run.buffer<uint64_t>(3), at = run.upload(std::vector<uint32_t>(32));
    return double(run.launch("k", {ctas}, {1}, out, at).cycles);
  };
  EXPECT_EQ(cycles(2, 1), cycles(0, 1)) << "every launch has these";
  EXPECT_NEAR(cycles(12, 1) - cycles(2, 1), 10 * 55, 60) << "but for the steps in which a warp asks";
  EXPECT_NEAR(cycles(12, 8) - cycles(2, 8), 10 * (55 + 7 * 7), 60) << "eight SMs";
}

TEST(ColdStart, SmsThatWaitTogetherWaitLonger) {
  EXPECT_EQ(difference(firsts({{"launch.parameters.sm", 100}}), firsts({})), (std::vector{0, 0, 0, 0}))
      << "one is alone";
  EXPECT_EQ(difference(firsts({{"launch.parameters.sm", 100}}, 8), firsts({}, 8)), (std::vector{700, 0, 0, 0}));
  EXPECT_EQ(difference(firsts({{"launch.parameters.sm", 100}}, 3), firsts({}, 3)), (std::vector{200, 0, 0, 0}));
  EXPECT_EQ(difference(firsts({{"launch.translation.sm", 100}}, 8), firsts({}, 8)), (std::vector{0, 0, 700, 0}));
}

TEST(ColdStart, WhoAsksForNothingDoesNotWait) {
  const auto cycles = [](double more) {
    RunPtx run(".visible .entry k() { ret; }", raised({{"launch.parameters", more}, {"launch.translation", more}}));
    return run.launch("k", {4}, {64}).cycles;
  };
  EXPECT_EQ(cycles(777), cycles(0));
}

// ---- Programmatic dependent launch

/// CTAs let dependents start after `early` cycles, end after `stay`, and note when they began, and when their wait for
/// the grid before was over.
const char* kDependent = R"(
.visible .entry k(.param .u64 stamps, .param .u32 early, .param .u32 stay) {
  .reg .b64 %out, %began, %waited, %now, %at;
  .reg .b32 %cta, %n;
  .reg .pred %p;
  mov.u64 %began, %clock64;
  griddepcontrol.wait;
  mov.u64 %waited, %clock64;
  ld.param.u32 %n, [early];
  cvt.u64.u32 %at, %n;
  add.u64 %at, %began, %at;
E:
  mov.u64 %now, %clock64;
  setp.lt.u64 %p, %now, %at;
  @%p bra E;
  griddepcontrol.launch_dependents;
  ld.param.u32 %n, [stay];
  cvt.u64.u32 %at, %n;
  add.u64 %at, %began, %at;
S:
  mov.u64 %now, %clock64;
  setp.lt.u64 %p, %now, %at;
  @%p bra S;
  ld.param.u64 %out, [stamps];
  mov.u32 %cta, %ctaid.x;
  mad.wide.u32 %out, %cta, 16, %out;
  st.global.v2.u64 [%out], {%began, %waited};
})";

struct Dependents {
  uint64_t began, waited, clock;
};

/// Two grids of one CTA an SM; the second as `programmatic` says.
Dependents dependents(uint32_t early, uint32_t stay, bool programmatic, uint32_t shared, int threads = 0) {
  RunPtx run(kDependent);
  run.gpu.options.threads = threads;
  run.dynamic_shared = shared;
  const uint64_t out = run.buffer<uint64_t>(16);
  const LaunchConfig first = run.config("k", {8}, {32}, out, early, stay),
                     second = run.config("k", {8}, {32}, out, 0u, 100u);
  if (programmatic) {
    run.launch_dependent(first, second);
  } else {
    run.gpu.launch(first);
    run.gpu.launch(second);
  }
  const auto stamps = run.download<uint64_t>(out, 16);
  return {stamps[0], stamps[1], run.gpu.clock};
}

TEST(Programmatic, TheNextGridBeginsWhereItIsLet) {
  const Dependents usual = dependents(2000, 20000, false, 0), early = dependents(2000, 20000, true, 0),
                   later = dependents(7000, 20000, true, 0);
  EXPECT_EQ(later.began - early.began, 5000u);
  EXPECT_GT(usual.began, early.began + 15000);
  // Its wait ends behind the grid before, wherever that let it begin.
  EXPECT_EQ(early.waited, later.waited);
  EXPECT_GT(early.waited, early.began + 15000);
  EXPECT_LT(early.waited, usual.began);
  EXPECT_LT(early.clock, usual.clock);
}

TEST(Programmatic, ItNeedsRoom) {
  const Dependents beside = dependents(2000, 20000, true, 64 << 10), behind = dependents(2000, 20000, true, 200 << 10);
  EXPECT_GT(behind.began, beside.began + 15000);
  EXPECT_GE(behind.waited, behind.began);
}

// What an H200 does (2026-11-24): KiB of shared memory of a CTA of the primary, and of the dependent grid.
TEST(Programmatic, SharedMemoryIsNotTakenFromL1BesideThePrimary) {
  const auto begins_beside = [](uint32_t first, uint32_t second) {
    RunPtx run(ptx_header("sm_90a") + kDependent, hopper_machine());
    const uint64_t a = run.buffer<uint64_t>(16), b = run.buffer<uint64_t>(16);
    run.dynamic_shared = first << 10;
    const LaunchConfig primary = run.config("k", {8}, {128}, a, 0u, 20000u);
    run.dynamic_shared = second << 10;
    run.launch_dependent(primary, run.config("k", {8}, {128}, b, 0u, 100u));
    return run.download<uint64_t>(b, 1)[0] < 20000;
  };
  for (const auto& [first, second] : {std::pair(0, 0), {32, 0}, {32, 32}, {32, 100}, {100, 0}, {100, 32}, {100, 100}})
    EXPECT_TRUE(begins_beside(uint32_t(first), uint32_t(second))) << first << " " << second;
  for (const auto& [first, second] : {std::pair(0, 100), {0, 200}, {32, 200}, {100, 200}})
    EXPECT_FALSE(begins_beside(uint32_t(first), uint32_t(second))) << first << " " << second;
}

TEST(Programmatic, OneThatLetsNobodyStartStillSavesTheEnd) {
  EXPECT_LT(dependents(20000, 20000, true, 0).waited, dependents(20000, 20000, false, 0).began);
}

/// `primary` lets its dependents start at once. Both multiply, so long as `rounds` says; or the primary waits for a
/// word that the dependent writes.
const char* kBeside = R"(
.visible .entry primary(.param .u64 stamps, .param .u32 rounds) {
  .reg .b64 %out, %now;
  .reg .b32 %n;
  .reg .f32 %a, %b;
  .reg .pred %p;
  griddepcontrol.launch_dependents;
  ld.param.u64 %out, [stamps];
  ld.param.u32 %n, [rounds];
  mov.f32 %a, 0f3f800000; mov.f32 %b, 0f3f800000;
  setp.eq.u32 %p, %n, 0;
  @%p bra WAIT;
L:
  fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b; fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b;
  fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b; fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra L;
  bra DONE;
WAIT:
  ld.relaxed.gpu.global.u32 %n, [%out+8];
  setp.eq.u32 %p, %n, 0;
  @%p bra WAIT;
DONE:
  mov.u64 %now, %clock64;
  st.global.u64 [%out], %now;
}
.visible .entry dependent(.param .u64 stamps, .param .u32 rounds) {
  .reg .b64 %out;
  .reg .b32 %n;
  .reg .f32 %a, %b;
  .reg .pred %p;
  ld.param.u64 %out, [stamps];
  ld.param.u32 %n, [rounds];
  mov.f32 %a, 0f3f800000; mov.f32 %b, 0f3f800000;
  st.relaxed.gpu.global.u32 [%out+8], 1;
  setp.eq.u32 %p, %n, 0;
  @%p bra DONE;
L:
  fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b; fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b;
  fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b; fma.rn.f32 %a, %a, %a, %a; fma.rn.f32 %b, %b, %b, %b;
  sub.u32 %n, %n, 1;
  setp.ne.u32 %p, %n, 0;
  @%p bra L;
DONE:
  griddepcontrol.wait;
})";

TEST(Programmatic, TheySlowEachOtherDown) {
  const auto end_of_primary = [](uint32_t dependents_rounds) {
    RunPtx run(kBeside);
    const uint64_t out = run.buffer<uint64_t>(2);
    run.launch_dependent(run.config("primary", {8}, {1024}, out, 4000u),
                         run.config("dependent", {8}, {1024}, out, dependents_rounds));
    return run.download<uint64_t>(out, 1)[0];
  };
  const double alone = double(end_of_primary(0)), beside = double(end_of_primary(10000));
  EXPECT_GT(beside, 1.8 * alone);
}

TEST(Programmatic, TheyMayTalk) {
  for (const uint32_t ctas : {1u, 8u}) {
    RunPtx run(kBeside);
    const uint64_t out = run.buffer<uint64_t>(2);
    run.launch_dependent(run.config("primary", {ctas}, {32}, out, 0u), run.config("dependent", {1}, {1}, out, 0u));
    EXPECT_LT(run.download<uint64_t>(out, 1)[0], 10000u);
  }
}

TEST(Programmatic, AThirdOneBeginsBesideTheSecond) {
  RunPtx run(kDependent);
  const uint64_t out = run.buffer<uint64_t>(3 * 16);
  GridScheduler scheduler(run.gpu);
  scheduler.add(run.config("k", {8}, {32}, out, 2000u, 20000u), 0, 0, true);
  std::vector<uint64_t> over;
  for (uint32_t next = 1; !scheduler.empty();) {
    const GridScheduler::Event e = scheduler.run();
    if (e.kind == GridScheduler::Event::Kind::over) {
      over.push_back(e.launch->number);
    } else {
      ASSERT_LT(next, 3u);
      scheduler.add_dependent(run.config("k", {8}, {32}, out + 128 * next, 2000u, 40000u), *e.launch, 0, next < 2);
      ++next;
    }
  }
  EXPECT_EQ(over, (std::vector<uint64_t>{1, 2, 3})) << "in the order of their stream";
  const auto stamps = run.download<uint64_t>(out, 3 * 16);
  const uint64_t second = stamps[16], second_waited = stamps[17], third = stamps[32], third_waited = stamps[33];
  EXPECT_LT(second, 5000u);
  EXPECT_GT(second_waited, 20000u);
  EXPECT_GT(third, second_waited) << "the second lets no grid start before its wait";
  EXPECT_LT(third, second_waited + 5000);
  EXPECT_GT(third_waited, second_waited + 15000);
}

TEST(Programmatic, ADeadlockOfThePrimaryIsTold) {
  RunPtx run(kBeside);
  const uint64_t out = run.buffer<uint64_t>(4);
  try {
    // It waits for a word that is never written.
    run.launch_dependent(run.config("primary", {8}, {32}, out, 0u), run.config("dependent", {1}, {1}, out + 16, 0u));
    ADD_FAILURE() << "it ended";
  } catch (const KernelFault& f) {
    EXPECT_EQ(f.diagnosis.code, "deadlock");
    EXPECT_EQ(f.diagnosis.where.kernel, "dependent") << "which waits for the primary";
    EXPECT_TRUE(std::ranges::any_of(f.diagnosis.others, [](const auto& p) { return p.where.kernel == "primary"; }));
  }
}

TEST(Programmatic, ItDoesNotDependOnHostThreads) {
  const Dependents one = dependents(2000, 20000, true, 0, 1), five = dependents(2000, 20000, true, 0, 5);
  EXPECT_EQ(one.began, five.began);
  EXPECT_EQ(one.waited, five.waited);
  EXPECT_EQ(one.clock, five.clock);
}

}  // namespace
}  // namespace tinygpu::test
