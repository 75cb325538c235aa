// The tiny machine: what it must keep whatever its numbers are, its speed, and that the search on it finds what an
// exhaustive one finds.
#include <gtest/gtest.h>

#include <chrono>
#include <random>

#include "common/tinygpu/search/gemm_model.h"
#include "common/tinygpu/search/landscape.h"
#include "common/tinygpu/search/search.h"
#include "common/tinygpu/search/stream_traffic.h"
#include "common/tinygpu/timing/profile.h"

namespace {

using namespace tinygpu;
using namespace tinygpu::search;

double cycles(const char* machine, const Problem& problem, const char* point) {
  const MachineSpec spec = load_profile(machine);
  const Space space(template_of(spec));
  return GemmModel(spec, problem).estimate(space.parse(point, plain_point(space.kind()))).cycles;
}

// One unit serves one after the other, and a barrier's phase ends with its last arrival.
TEST(TinyMachine, OneBlockTakesItsLatencies) {
  const MachineSpec spec = load_profile("b200");
  const Numbers n(spec);
  TinyMachine m(n);
  Barrier full;
  Cycles waited = 0;
  const auto role = [](TinyMachine& machine, Barrier& b, Cycles& w) -> Role {
    co_await machine.load_tile({1190, 8, 0, 10, 1, false}, {}, b);
    co_await machine.wait(b, 1, w);
  };
  m.add(role(m, full, waited));
  // 1,190 bytes at 119 a cycle, the latency of TMA, and the wake-up.
  EXPECT_DOUBLE_EQ(m.run(), 1190 / 119.0 + spec.number("tma.latency") + spec.number("mbarrier.wake"));
  EXPECT_EQ(full.phases, 1u);
}

TEST(TinyMachine, TheTensorCoreIsTheFloor) {
  // 4096 x 4096 x 4096 at 8,192 operations a cycle and SM, 148 SMs.
  const double floor = 2.0 * 4096 * 4096 * 4096 / 8192 / 148;
  for (const char* point : {"tile=128x256 stages=4", "tile=256x256 cta=2 stages=5", "tile=256x192 cta=2 stages=6"}) {
    const double c = cycles("b200", {4096, 4096, 4096}, point);
    EXPECT_GT(c, floor) << point;
    EXPECT_LT(c, 1.6 * floor) << point;
  }
}

TEST(TinyMachine, IdeasOfTheLadderGain) {
  const Problem p{4096, 2304, 512};
  const double roles = cycles("b200", p, "tile=128x128 stages=4 accumulators=1 schedule=serial"),
               one = cycles("b200", p, "tile=128x128 stages=4 accumulators=1"),
               two = cycles("b200", p, "tile=128x128 stages=4 accumulators=2"),
               wide = cycles("b200", p, "tile=128x256 stages=4 accumulators=2");
  EXPECT_GT(roles, wide);
  EXPECT_GT(one, two);
  EXPECT_GT(two, wide);
  // A ring of one stage waits a latency for every block.
  EXPECT_GT(cycles("b200", {4096, 4096, 4096}, "tile=128x256 stages=1"),
            2 * cycles("b200", {4096, 4096, 4096}, "tile=128x256 stages=4"));
}

// What an H200 showed (notes/reference/search.md), as inequalities.
TEST(TinyMachine, NarrowBoxesCostAnswersOfL2) {
  const Problem p{8192, 8192, 2048};
  const std::string rest = "tile=128x256 block=128 stages=4 epilogue=tma schedule=persistent consumers=2 swizzle=";
  const double narrow = cycles("h200", p, (rest + "32").c_str()), half = cycles("h200", p, (rest + "64").c_str()),
               whole = cycles("h200", p, (rest + "128").c_str());
  EXPECT_GT(narrow, 1.5 * half);
  EXPECT_GE(half, whole);
  // A cluster asks for less, but what comes is a row a cycle all the same: 384 rows of 4 parts for a block.
  const double shared = cycles("h200", p, (rest + "32 cluster=2x2").c_str());
  EXPECT_LT(shared, narrow);
  const double blocks = 32, tiles = 64 * 32 / 120;
  EXPECT_GT(shared, 384 * 4 * blocks * tiles);
}

TEST(TinyMachine, RowsThatBeginAnywhereTouchMore) {
  const char* point = "tile=64x64 block=64 swizzle=64 stages=12 schedule=persistent epilogue=direct consumers=1";
  EXPECT_GT(cycles("h200", {2048, 2048, 3000}, point), 1.3 * cycles("h200", {2048, 2048, 3008}, point));
}

TEST(TinyMachine, RowsOutsideTheMatrixAreNotFree) {
  const char* point = "tile=256x128 block=64 swizzle=64 stages=5 schedule=persistent epilogue=tma consumers=2";
  EXPECT_GT(cycles("h200", {16, 8192, 4096}, point), 1.5 * cycles("h200", {256, 8192, 4096}, point));
}

TEST(TinyMachine, SmallCtasShareAnSm) {
  const MachineSpec spec = load_profile("h200");
  const Space space(template_of(spec));
  const Problem problem{8192, 8192, 2048};
  const auto slots = [&](const char* point) {
    return GemmModel(spec, problem).estimate(space.parse(point, plain_point(space.kind()))).slots;
  };
  // 256 threads of 60 registers, 64 in groups of 8: four of them have the 65,536.
  EXPECT_EQ(slots("tile=64x64 block=64 swizzle=64 stages=2 schedule=serial consumers=1"), 4u);
  EXPECT_EQ(slots("tile=128x128 block=64 swizzle=64 stages=2 schedule=serial consumers=1"), 1u);
  EXPECT_EQ(slots("tile=64x64 block=64 swizzle=64 stages=2 schedule=persistent consumers=1"), 1u);
}

TEST(TinyMachine, StoresOfThreadsHoldUpLoads) {
  const Problem p{8192, 8192, 2048};
  const std::string rest =
      "tile=256x128 block=64 swizzle=64 cluster=1x2 schedule=persistent consumers=2pingpong stages=4 epilogue=";
  EXPECT_GT(cycles("h200", p, (rest + "direct").c_str()), 1.03 * cycles("h200", p, (rest + "tma").c_str()));
}

// Stores of 16 bytes fill half of a sector; four threads that exchange what they have fill two.
TEST(TinyMachine, ThreadsThatExchangeStoreWholeSectors) {
  const Problem p{1000, 5000, 1000};
  const std::string rest = "tile=256x160 cluster=1x2 stages=4 band=4 consumers=2 epilogue=";
  EXPECT_LT(cycles("h200", p, (rest + "wide").c_str()), 0.95 * cycles("h200", p, (rest + "direct").c_str()));
}

// An H200 takes 38.8 us with whole lines and 47.9 with halves: in all, 134 MB of device memory.
TEST(TinyMachine, HalvesOfLinesTakeMoreOfDeviceMemory) {
  const Problem p{128, 8192, 8192};
  const char *whole = "tile=64x128 block=128 swizzle=128 stages=8 cluster=2x1 band=1 consumers=1 epilogue=tma",
             *half = "tile=64x128 block=64 swizzle=64 stages=12 cluster=2x1 band=1 consumers=1 epilogue=tma";
  EXPECT_GT(cycles("h200", p, half), 1.1 * cycles("h200", p, whole));
}

TEST(TinyMachine, RowsThatAreSkippedAreFree) {
  const char* zeros = "tile=256x128 block=64 swizzle=64 stages=5 schedule=persistent epilogue=tma consumers=2";
  const std::string skipped = std::string(zeros) + " outside=skipped";
  EXPECT_LT(cycles("h200", {16, 8192, 4096}, skipped.c_str()), 0.7 * cycles("h200", {16, 8192, 4096}, zeros));
  EXPECT_LE(cycles("h200", {16, 8192, 4096}, skipped.c_str()), cycles("h200", {256, 8192, 4096}, zeros));
}

// 84 tiles for 74 pairs: whole tiles take two waves, of which the second is nearly empty. Equal shares take 1.14.
TEST(TinyMachine, StreamKFillsTheLastWave) {
  const Problem deep{3072, 1792, 8192, In::bf16, Out::f32};
  const double whole = cycles("b200", deep, "tile=256x256 cta=2 stages=4 accumulators=2 schedule=persistent"),
               shared = cycles("b200", deep, "tile=256x256 cta=2 stages=4 accumulators=2 schedule=stream_k");
  EXPECT_LT(shared, 0.75 * whole);
  EXPECT_GT(shared, 0.55 * whole);
  // Shallow products lose more by adding than they gain.
  const Problem shallow{3072, 1792, 256, In::bf16, Out::f32};
  EXPECT_GT(cycles("b200", shallow, "tile=256x256 cta=2 stages=3 accumulators=2 schedule=stream_k"),
            cycles("b200", shallow, "tile=256x256 cta=2 stages=3 accumulators=2 schedule=persistent"));
}

// 32 tiles for 132 SMs, and K is deep: four parts of each fill the chip, also where results have 16 bits.
TEST(TinyMachine, PartsThatMeetFillTheChip) {
  const char *alone = "tile=128x256 cluster=2x1 stages=4 consumers=2 band=4",
             *parts = "tile=128x256 cluster=2x1 stages=4 consumers=2 band=4 split=4meet";
  const Problem deep{1024, 1024, 16384};
  EXPECT_LT(cycles("h200", deep, parts), 0.4 * cycles("h200", deep, alone));
  EXPECT_GT(cycles("h200", deep, parts), 0.25 * cycles("h200", deep, alone));
  // Where one wave is full already they only cost: three quarters of 128 x 256 sums go out, at 32 bytes a cycle, and
  // come back.
  const Problem full{4096, 1024, 16384};
  const double out = 128 * 256 * 4 * 0.75 / 32;
  EXPECT_GT(cycles("h200", full, parts), cycles("h200", full, alone) + 4 * out);
  EXPECT_LT(cycles("h200", full, parts), cycles("h200", full, alone) + 4 * 4 * out);
  const MachineSpec spec = load_profile("h200");
  EXPECT_TRUE(rank(Space(Template::hopper), spec, deep, {.keep = 1}).best[0].point.meets);
}

// L2 keeps 66 MB: A and B have 80 MB at K = 8192 and 159 MB at 16384, where what one pair has loaded is gone before
// another one asks for it.
TEST(TinyMachine, StreamKLosesWhatItsPairsWouldShare) {
  const char *whole = "tile=256x256 cta=2 stages=4 accumulators=2 schedule=persistent",
             *stream = "tile=256x256 cta=2 stages=4 accumulators=2 schedule=stream_k";
  const auto gain = [&](uint32_t k) {
    const Problem p{3072, 1792, k, In::bf16, Out::f32};
    return cycles("b200", p, whole) / cycles("b200", p, stream);
  };
  EXPECT_LT(gain(16384), 0.85 * gain(8192));
}

// Deep K is not walked to its end, and nothing says so. Of 15,000 points such as these three were up to 1.3e-4 off,
// since of two events at the same time the other one came first; none of these is one of them.
TEST(TinyMachine, WhatRepeatsItselfIsCountedAsIfItWereWalked) {
  for (const char* machine : {"b200", "h200"}) {
    const MachineSpec spec = load_profile(machine);
    const Space space(template_of(spec));
    const auto all = rules(space.kind());
    std::mt19937_64 random(7);
    for (const Problem& problem :
         {Problem{4096, 4096, 32768}, Problem{1000, 5000, 65536, In::bf16, Out::f32},
          Problem{1024, 768, 131072, In::f16, Out::f32}, Problem{3072, 1792, 65536, In::fp8}}) {
      const GemmModel walked(spec, problem, UINT32_MAX), counted(spec, problem);
      for (int seen = 0; seen < 40;) {
        const Point p = space[random() % space.size()];
        if (broken(all, {spec, space.kind(), problem}, p)) continue;
        ++seen;
        const Estimate a = walked.estimate(p), b = counted.estimate(p);
        EXPECT_NEAR(b.cycles, a.cycles, 1e-9 * a.cycles) << space.text(p);
        EXPECT_NEAR(b.tensor, a.tensor, 1e-9) << space.text(p);
        EXPECT_NEAR(b.loads, a.loads, 1e-9) << space.text(p);
        EXPECT_NEAR(b.epilogue, a.epilogue, 1e-9) << space.text(p);
        EXPECT_STREQ(b.limit, a.limit) << space.text(p);
      }
    }
  }
}

TEST(TinyMachine, AMillionOfKIsNoDeeperThanItsRing) {
  const MachineSpec spec = load_profile("b200");
  const Space space(template_of(spec));
  const Point p = space.parse("tile=256x256 cta=2 stages=5", plain_point(space.kind()));
  const auto begin = std::chrono::steady_clock::now();
  const GemmModel deep(spec, {256, 256, 1 << 20});
  for (int i = 0; i < 100; ++i) EXPECT_GT(deep.estimate(p).cycles, (1 << 14) * 128.0);
  const std::chrono::duration<double> counted = std::chrono::steady_clock::now() - begin;
  const GemmModel walked(spec, {256, 256, 1 << 20}, UINT32_MAX);
  for (int i = 0; i < 2; ++i) walked.estimate(p);
  EXPECT_LT(counted, std::chrono::steady_clock::now() - begin - counted);
}

// Tiles of 64 x 64 in one row of D, blocks of 128 bytes.
TEST(StreamTraffic, CountsWhatClustersShare) {
  Point p;
  p.m = p.n = 64;
  const double all = 1e9, little = 3 * 64 * 128;  // three pieces
  // Two clusters with a tile each walk K together: of three pieces of a step, A's is asked for twice.
  const Problem two{64, 128, 384, In::bf16, Out::f32};
  EXPECT_DOUBLE_EQ(stream_traffic(two, p, 2, little).fresh, 0.75);
  EXPECT_DOUBLE_EQ(stream_traffic(two, p, 2, little).shared, 0.25);
  EXPECT_DOUBLE_EQ(stream_traffic(two, p, 2, all).fresh, 0);
  // Three with four of the twelve blocks each begin at 0, 4 and 2 of A's six: nobody asks for the same at a time.
  EXPECT_DOUBLE_EQ(stream_traffic(two, p, 3, little).fresh, 1);
  EXPECT_DOUBLE_EQ(stream_traffic(two, p, 3, little).shared, 0);
  EXPECT_DOUBLE_EQ(stream_traffic(two, p, 3, all).fresh, 0);
}

TEST(Landscape, CountsEveryPointAndDrawsTheSame) {
  const MachineSpec spec = load_profile("h200");
  const Space space(template_of(spec));
  const Problem problem{512, 1024, 256};
  const Landscape one = landscape(space, spec, problem, 5, 1), two = landscape(space, spec, problem, 5, 1);
  const Ranking all = rank(space, spec, problem, {.keep = 1, .jobs = 1});
  uint64_t points = 0, legal = 0;
  for (const Landscape::Tile& t : one.tiles) {
    points += t.points;
    legal += t.legal;
    uint64_t pruned = t.legal;
    for (const uint64_t n : t.pruned) pruned += n;
    EXPECT_EQ(pruned, t.points) << t.m << "x" << t.n;
    EXPECT_EQ(t.sampled.size(), std::min<uint64_t>(5, t.legal));
  }
  EXPECT_EQ(points, all.points);
  EXPECT_EQ(legal, all.legal);
  EXPECT_GE(one.best.cycles, all.best[0].estimate.cycles);
  const std::string picture = svg(one, spec, "a < b");
  EXPECT_EQ(picture, svg(two, spec, "a < b"));
  EXPECT_NE(picture.find("a &lt; b"), std::string::npos);
  EXPECT_NE(picture.find(">64x256<"), std::string::npos);
  EXPECT_NE(picture.find(">consumer-rows<"), std::string::npos);
  EXPECT_EQ(picture.substr(picture.size() - 7), "</svg>\n");
}

TEST(Search, LeastIsALowerBound) {
  for (const char* machine : {"b200", "h200"}) {
    const MachineSpec spec = load_profile(machine);
    const Space space(template_of(spec));
    const Problem problem{1000, 1048, 1032, In::bf16, Out::f32};
    const GemmModel model(spec, problem);
    const auto all = rules(space.kind());
    int seen = 0;
    for (uint64_t i = 0; i < space.size(); i += 1499) {
      const Point p = space[i];
      if (broken(all, {spec, space.kind(), problem}, p)) continue;
      ++seen;
      EXPECT_LE(model.least(p), model.estimate(p).cycles) << space.text(p);
    }
    EXPECT_GT(seen, 50);
  }
}

TEST(Search, FindsWhatAnExhaustiveSearchFindsWithAnyNumberOfJobs) {
  const MachineSpec spec = load_profile("b200");
  const Space space(Template::blackwell);
  const Problem problem{256, 512, 512};
  const Ranking one = rank(space, spec, problem, {.keep = 8, .jobs = 1});
  const Ranking three = rank(space, spec, problem, {.keep = 8, .jobs = 3});
  ASSERT_EQ(one.best.size(), 8u);
  for (size_t i = 0; i < 8; ++i) EXPECT_EQ(one.best[i].point, three.best[i].point);
  EXPECT_EQ(one.points, space.size());
  uint64_t pruned = 0;
  for (const Pruned& p : one.pruned) pruned += p.points;
  EXPECT_EQ(pruned + one.legal, one.points);
  const GemmModel model(spec, problem);
  const auto all = rules(space.kind());
  double best = 1e30;
  space.for_each([&](uint64_t, const Point& p) {
    if (!broken(all, {spec, space.kind(), problem}, p)) best = std::min(best, model.estimate(p).cycles);
  });
  EXPECT_DOUBLE_EQ(one.best[0].estimate.cycles, best);
}

// Swizzles of 64 and 128 bytes, and three and four stages, cost the same here; so do bands.
TEST(Search, ListsOneOfThoseThatItCannotTellApart) {
  const MachineSpec spec = load_profile("h200");
  const Space space(template_of(spec));
  const Ranking r = rank(space, spec, {2048, 2048, 2048}, {.keep = 12, .jobs = 1});
  ASSERT_EQ(r.best.size(), 12u);
  EXPECT_EQ(r.best[0].point.span, 128);
  EXPECT_EQ(r.best[0].point.stages, 4);
  for (size_t i = 0; i < r.best.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      Point other = r.best[j].point;
      other.span = r.best[i].point.span;
      other.stages = r.best[i].point.stages;
      other.band = r.best[i].point.band;
      EXPECT_FALSE(other == r.best[i].point && r.best[i].estimate.cycles == r.best[j].estimate.cycles) << i << " " << j;
    }
}

TEST(Search, AsksForFiveHundredPointsASecond) {
  const MachineSpec spec = load_profile("b200");
  const Space space(Template::blackwell);
  const auto begin = std::chrono::steady_clock::now();
  const Ranking r = sample(space, spec, {4096, 4096, 4096}, 300, 1);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_EQ(r.estimated, 300u);
  EXPECT_LT(seconds, 300 / 500.0 * 20);  // the machine that tests run on may be busy
}

TEST(Search, ExplainsRulesAndChanges) {
  const MachineSpec spec = load_profile("b200");
  const Space space(Template::blackwell);
  const std::string illegal =
      explain(space, spec, {4096, 4096, 4096}, space.parse("tile=256x256 stages=6", plain_point(space.kind())));
  EXPECT_NE(illegal.find("not legal: shared-memory: 6 stages of 65536 bytes"), std::string::npos) << illegal;
  EXPECT_NE(illegal.find("not legal: tensor-memory"), std::string::npos) << illegal;
  EXPECT_NE(illegal.find("gen5 explain alloc-granularity"), std::string::npos) << illegal;
  const std::string slow =
      explain(space, spec, {4096, 4096, 4096}, space.parse("tile=64x64", plain_point(space.kind())));
  EXPECT_NE(slow.find("faster with one change"), std::string::npos) << slow;
}

}  // namespace
