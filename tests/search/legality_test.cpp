// Rules by hand-made points with the numbers that a reader works out, and what is let through by the machine's limits,
// written down a second time.
#include "common/tinygpu/search/legality.h"
#include "common/layout/tile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "common/tinygpu/timing/profile.h"

namespace {

using namespace tinygpu::search;
using testing::HasSubstr;

struct Case {
  const char* machine;
  Problem problem;
  const char* point;
  const char* rule;
  const char* numbers;
};

const Problem kSquare{4096, 4096, 4096, In::bf16, Out::bf16};
const Problem kScaled{4096, 4096, 4096, In::nvf4, Out::bf16};
const Problem kShallow{4096, 4096, 64, In::bf16, Out::f32};

TEST(Legality, EveryRuleByAPoint) {
  const Case cases[] = {
      {"b200", kSquare, "tile=128x256 cta=2", "mma-shape", "leaves each CTA 64"},
      {"b200", kSquare, "tile=256x256 cta=2 cluster=2x1", "pair-cluster", "cta=2 with cluster=2x1"},
      {"b200", kSquare, "tile=256x256 cta=1 accumulators=2", "tensor-memory", "take 1024 columns"},
      {"b200", kSquare, "tile=128x64 accumulators=2 schedule=serial", "same-kernel: accumulators", "schedule=serial"},
      {"b200", kSquare, "tile=512x64 cta=1 accumulators=1", "box-rows", "a box of A has 512 rows"},
      {"b200", kSquare, "tile=128x64 block=64 swizzle=128", "swizzle-span", "64 bytes a row has no span of 128"},
      {"b200", kSquare, "tile=128x64 cluster=4x4", "cluster-size", "a cluster of 16 CTAs, and 8"},
      {"b200", kSquare, "tile=128x96", "store-box", "96 columns are no multiple of a box's 64"},
      {"b200", kScaled, "tile=64x128 accumulators=1", "scaled-rows", "M = 128 a CTA, and a CTA has 64 rows"},
      {"b200", kScaled, "tile=128x192 accumulators=1", "scale-columns", "192 columns are no multiple of 128"},
      {"b200",
       {4096, 4096, 4096, In::mxf8},
       "tile=128x128 block=64 swizzle=64",
       "scale-chunk",
       "64 bytes has 2 scales"},
      // 2 accumulators of 256 columns; 4 stages of 4 chunks along K for 128 rows and 256 columns, 4 columns each.
      {"b200", kScaled, "tile=128x256 stages=4", "tensor-memory", "the scales of 4 stages take 704 columns"},
      {"b200", kSquare, "tile=128x64 split=2", "split-type", "split=2 with bf16"},
      {"b200", kSquare, "tile=128x64 schedule=stream_k", "split-type", "schedule=stream_k with bf16"},
      {"h200", kShallow, "tile=128x64 schedule=stream_k split=2", "stream-split", "schedule=stream_k with split=2"},
      // 32 x 37 tiles for 148 CTAs.
      {"b200",
       {4096, 4736, 4096, In::bf16, Out::f32},
       "tile=128x128 schedule=stream_k",
       "same-kernel: stream",
       "1184 cluster tiles for 148 clusters"},
      {"b200", kShallow, "tile=128x64 block=128 split=2", "split-blocks", "K = 64 is 1 block of 128 bytes, in 2 parts"},
      // Six stages of (256 + 128) rows · 128 bytes are 288 KiB.
      {"b200", kSquare, "tile=256x256 cta=1 accumulators=1 stages=6", "shared-memory", "6 stages of 65536 bytes"},
      {"b200", {512, 4096, 4096}, "tile=128x64 band=16", "same-kernel: band", "4 cluster tiles along M"},
      {"h200", kSquare, "tile=64x128 consumers=2", "consumer-rows", "2 consumers share 64 rows"},
      {"h200", kSquare, "tile=128x128 stages=1", "one-stage", "stages=1"},
      {"h200", kSquare, "tile=192x256 consumers=3 stages=2", "registers",
       "N = 256 needs 128 registers beside 26 others"},
      {"h200", kSquare, "tile=256x256 stages=2", "accumulator-registers", "128 rows by 256 columns are 256 registers"},
      {"h200",
       {16, 4096, 4096},
       "tile=64x128 consumers=1 cluster=1x2 outside=skipped",
       "skipped-cluster",
       "outside=skipped with cluster=1x2"},
      {"h200", kSquare, "tile=64x128 consumers=1 outside=skipped", "same-kernel: outside",
       "64x128 of 4096x4096 results"},
      {"h200", kSquare, "tile=64x128 consumers=2pingpong schedule=serial", "ping-pong-turns", "schedule=serial"},
      {"h200", kSquare, "tile=128x128 split=2meet schedule=serial", "meeting-stays", "split=2meet with a schedule"},
      {"h200", kSquare, "tile=128x192 split=2meet", "meeting-columns",
       "2 parts have 96.0 columns each, and a box has 64"},
      {"h200", kShallow, "tile=128x128 epilogue=wide", "wide-columns", "epilogue=wide with f32 results"},
      {"h200", kSquare, "tile=128x64 split=4meet epilogue=wide", "wide-columns", "4 parts have 16 columns each"},
      {"h200", kSquare, "tile=64x32 split=4meet epilogue=tma_whole consumers=1", "meeting-columns", "tma_whole"},
  };
  std::set<std::string> seen;
  for (const Case& c : cases) {
    const tinygpu::MachineSpec spec = tinygpu::load_profile(c.machine);
    const Space space(template_of(spec));
    const Legal legal{spec, space.kind(), c.problem};
    const Rule* rule = broken(rules(space.kind()), legal, space.parse(c.point, plain_point(space.kind())));
    ASSERT_NE(rule, nullptr) << c.point;
    EXPECT_STREQ(rule->name, c.rule) << c.point;
    EXPECT_THAT(rule->why(legal, space.parse(c.point, plain_point(space.kind()))), HasSubstr(c.numbers));
    EXPECT_FALSE(sentence(*rule).empty()) << rule->name;
    seen.insert(rule->name);
  }
  for (const Template t : {Template::blackwell, Template::hopper})
    for (const Rule* r : rules(t)) EXPECT_TRUE(seen.count(r->name)) << r->name << " has no case";
}

// 5 x 3 tiles in bands of 4, as the templates walk them.
TEST(Legality, TilesComeInTheTemplatesOrder) {
  Point p;
  p.m = p.n = 128;
  p.band = 4;
  for (uint32_t i = 0; i < 15; ++i) {
    const auto expected = gen5::layout::banded_tile(i, 5, 3, 4);
    const ClusterTile tile = cluster_tile({600, 384, 64}, p, i);
    EXPECT_EQ(tile.row, expected.m) << i;
    EXPECT_EQ(tile.column, expected.n) << i;
  }
}

// The kernels of chapter 13 and of its Hopper twin are points.
TEST(Legality, TheChaptersKernelsAreLegal) {
  const std::pair<const char*, const char*> points[] = {
      {"b200", "tile=128x128 stages=4 accumulators=1 schedule=serial"},
      {"b200", "tile=128x128 stages=4 accumulators=2"},
      {"b200", "tile=128x256 stages=4 accumulators=2"},
      {"b200", "tile=256x256 stages=4 cta=2 accumulators=2"},
      {"h200", "tile=128x256 stages=3 cluster=2x1 epilogue=tma_whole consumers=2"},
      {"h200", "tile=128x128 stages=6 cluster=2x1 epilogue=tma_whole consumers=2pingpong"},
  };
  for (const auto& [machine, text] : points) {
    const tinygpu::MachineSpec spec = tinygpu::load_profile(machine);
    const Space space(template_of(spec));
    const Rule* rule =
        broken(rules(space.kind()), {spec, space.kind(), kSquare}, space.parse(text, plain_point(space.kind())));
    EXPECT_EQ(rule, nullptr) << text << ": " << rule->name;
  }
}

TEST(Legality, WhatIsLetThroughKeepsTheMachinesLimits) {
  const Problem problems[] = {
      kSquare, {64, 14336, 4096, In::bf16, Out::f32}, {3000, 3000, 1000, In::f16, Out::f16}, kScaled};
  std::mt19937_64 random(1);
  uint64_t through = 0, meeting = 0;
  for (const char* machine : {"b200", "h200"}) {
    const tinygpu::MachineSpec spec = tinygpu::load_profile(machine);
    const Space space(template_of(spec));
    const bool blackwell = spec.has_tmem;
    for (const Problem& problem : problems) {
      if (impossible(problem, space.kind())) continue;
      for (uint64_t i = 0; i < 40000; ++i) {
        const Point p = space[random() % space.size()];
        if (broken(rules(space.kind()), {spec, space.kind(), problem}, p)) continue;
        ++through;
        const std::string text = space.text(p);
        const int out = problem.out == Out::f32 ? 4 : 2, rows = p.m / p.pair;
        EXPECT_LE(rows / p.cluster_n, 256) << text;  // of a box
        EXPECT_LE(p.n, 256) << text;                 // of an MMA
        EXPECT_EQ(p.block % p.span, 0) << text;      // boxes fill a block
        EXPECT_LE(p.pair * p.cluster_m * p.cluster_n, 8) << text;
        EXPECT_LE(p.stages * (rows + p.n / p.pair) * p.block, 227 * 1024) << text;
        EXPECT_LT(p.pair * (rows + p.n / p.pair) * p.block, 1 << 20) << text;  // bytes that an mbarrier counts
        if ((p.split > 1 && !p.meets) || p.schedule == uint16_t(Schedule::stream_k)) {
          EXPECT_EQ(out, 4) << text;
        }
        if (p.meets) {
          // The share of each part, in groups of what a store has, and nothing is left over.
          const int group = p.how() == Epilogue::direct ? 8 : p.how() == Epilogue::wide ? 32 : 128 / out;
          EXPECT_EQ(p.n / p.split / group * group * p.split, p.n) << text;
          EXPECT_EQ(p.schedule, uint16_t(Schedule::persistent)) << text;
          ++meeting;
        }
        if (blackwell) {
          int columns = 0;
          for (int row = 0; row < rows; row += 128) columns += p.n * p.accumulators;
          if (problem.in == In::nvf4) {
            EXPECT_EQ(rows % 128, 0) << text;
            EXPECT_EQ(p.n % 128, 0) << text;
            // A byte of scale for 16 elements of 4 bits; 128 of them are a column.
            columns += p.stages * (p.block * 2 / 16) * (rows + p.n) / 128;
          }
          EXPECT_LE(columns, 512) << text;
          if (p.pair == 2) {
            EXPECT_EQ(rows % 128, 0) << text;
          }
        } else {
          const int consumers = p.ping_pong ? 1 : p.consumers;
          EXPECT_EQ(p.m % (64 * consumers), 0) << text;
          // Registers of 128 threads a warpgroup, with the producer's.
          EXPECT_LE(p.m / consumers * p.n / 128, p.consumers == 3 ? 160 - 24 : 232 - 24) << text;
        }
      }
    }
  }
  EXPECT_GE(through, 2000u);
  EXPECT_GE(meeting, 50u);
}

TEST(Legality, ImpossibleProblems) {
  EXPECT_THAT(impossible({128, 128, 12, In::bf16, Out::f32}).value(),
              HasSubstr("--k 12 is not taken: a row has 2 bytes an element, and TMA takes rows of a multiple of 16 "
                        "bytes. Take 8 or 16"));
  EXPECT_THAT(impossible({128, 130, 64, In::bf16, Out::bf16}).value(), HasSubstr("--n 130 is not taken"));
  EXPECT_THAT(impossible({0, 128, 64}).value(), HasSubstr("at least 1"));
  EXPECT_THAT(impossible({128, 128, 48, In::nvf4, Out::f32}).value(),
              HasSubstr("--k 48 is not taken: a row has 4 bits an element, and TMA takes rows of a multiple of 16 "
                        "bytes. Take 32 or 64"));
  EXPECT_THAT(impossible({128, 128, 128, In::mxf8}, Template::hopper).value(),
              HasSubstr("wgmma has no block scales, which mxf8 needs; take b200, or bf16, f16 or fp8"));
  EXPECT_FALSE(impossible({128, 128, 128, In::fp8}, Template::hopper));
  EXPECT_FALSE(impossible({1, 8, 8}));
  EXPECT_FALSE(impossible({1, 4, 16, In::fp8, Out::f32}));
}

}  // namespace
