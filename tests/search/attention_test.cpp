// Attention's space: rules by hand-made points with the numbers that a reader works out, what is let through by the
// machine's limits written down a second time, and what the tiny machine must keep whatever its numbers are.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "common/tinygpu/search/attention_model.h"
#include "common/tinygpu/search/search.h"
#include "common/tinygpu/timing/profile.h"

namespace {

using namespace tinygpu;
using namespace tinygpu::search;
using testing::ElementsAre;
using testing::HasSubstr;

Problem heads(uint32_t heads, uint32_t queries, uint32_t keys, uint32_t dim = 128, bool causal = false) {
  return {queries, keys, dim, In::bf16, Out::bf16, Operation::attention, heads, causal};
}
const Problem kLong = heads(32, 8192, 8192);

Point point(const char* machine, const std::string& text) {
  const Space space(template_of(load_profile(machine), Operation::attention));
  return space.parse(text, plain_point(space.kind()));
}

double attention_cycles(const char* machine, const Problem& problem, const std::string& text) {
  const MachineSpec spec = load_profile(machine);
  return AttentionModel(spec, problem).estimate(point(machine, text)).cycles;
}

TEST(AttentionRules, EveryRuleByAPoint) {
  const struct {
    const char* machine;
    Problem problem;
    const char* point;
    const char* rule;
    const char* numbers;
  } cases[] = {
      // 2 · (256 + 128) columns.
      {"b200", kLong, "tile=256x256", "tensor-memory", "take 768 columns of Tensor Memory, which has 512"},
      {"b200", kLong, "tile=256x32 parts=4", "part-steps", "32 keys are 2 MMAs, in 4 parts"},
      {"b200", kLong, "tile=128x256 stages=1", "score-registers",
       "256 scores, and 1 warpgroup of softmax leaves a thread 240"},
      {"b200", kLong, "tile=256x128 stages=1", "one-stage", "stages=1"},
      // 64 KiB of queries, five stages of 32 KiB.
      {"b200", kLong, "tile=256x128 stages=5", "shared-memory", "5 stages of 32768 bytes, queries of 65536"},
      {"b200", kLong, "tile=256x128 staging=queries schedule=persistent", "staging-turns", "staging=queries"},
      {"b200", heads(4, 512, 512, 128, true), "tile=256x128 section=16 schedule=serial", "same-kernel: section",
       "section=16 with 4 heads"},
      {"b200", kLong, "tile=256x128 section=4", "same-kernel: walk", "section=4 without masks"},
      // 96 of scores, 48 of exponentials, 64 of O.
      {"h200", kLong, "tile=192x192", "accumulator-registers", "96 of scores, 48 of exponentials and 64 of O"},
      {"h200", kLong, "tile=128x128 stages=1", "one-stage", "stages=1"},
      {"h200", kLong, "tile=128x128 stages=6", "shared-memory", "6 stages of 32768 bytes, queries of 32768"},
      {"h200", kLong, "tile=128x128 staging=queries schedule=persistent", "staging-turns", "schedule=persistent"},
      {"h200", heads(1, 512, 512, 128, true), "tile=128x128 section=4", "same-kernel: section",
       "section=4 with 1 head"},
      {"h200", kLong, "tile=128x128 section=16", "same-kernel: walk", "section=16 without masks"},
  };
  std::set<std::pair<std::string, std::string>> seen;
  for (const auto& c : cases) {
    const MachineSpec spec = load_profile(c.machine);
    const Template t = template_of(spec, Operation::attention);
    const Legal legal{spec, t, c.problem};
    const Point p = point(c.machine, c.point);
    const Rule* rule = broken(rules(t), legal, p);
    ASSERT_NE(rule, nullptr) << c.point;
    EXPECT_STREQ(rule->name, c.rule) << c.point;
    EXPECT_THAT(rule->why(legal, p), HasSubstr(c.numbers));
    EXPECT_FALSE(sentence(*rule).empty()) << rule->name;
    seen.emplace(c.machine, rule->name);
  }
  for (const char* machine : {"b200", "h200"})
    for (const Rule* r : rules(template_of(load_profile(machine), Operation::attention)))
      EXPECT_TRUE(seen.count({machine, r->name})) << r->name << " has no case";
}

TEST(AttentionRules, TheChaptersKernelsAreLegal) {
  for (const auto& [machine, text] : {std::pair("b200", "tile=256x128 stages=4 parts=1 rescale=always schedule=serial"),
                                      std::pair("b200", "tile=256x128 stages=4 parts=2 schedule=persistent"),
                                      std::pair("h200", "tile=128x128 stages=4 schedule=persistent")}) {
    const MachineSpec spec = load_profile(machine);
    const Template t = template_of(spec, Operation::attention);
    const Rule* rule = broken(rules(t), {spec, t, kLong}, point(machine, text));
    EXPECT_EQ(rule, nullptr) << text << ": " << rule->name;
  }
}

TEST(AttentionRules, WhatIsLetThroughKeepsTheMachinesLimits) {
  uint64_t through = 0;
  for (const char* machine : {"b200", "h200"}) {
    const MachineSpec spec = load_profile(machine);
    const Space space(template_of(spec, Operation::attention));
    const auto all = rules(space.kind());
    for (const Problem& problem : {kLong, heads(3, 100, 5000, 64), heads(1, 513, 513, 128, true)})
      space.for_each([&](uint64_t, const Point& p) {
        if (broken(all, {spec, space.kind(), problem}, p)) return;
        ++through;
        const std::string text = space.text(p);
        const uint32_t row = 2 * problem.k, own = p.schedule == uint16_t(Schedule::persistent) || !p.over_queries;
        EXPECT_LE((p.m + p.stages * p.n + own * std::min<uint32_t>(p.m, 128)) * row, 227 * 1024u) << text;
        EXPECT_LE(p.n, 256) << text;
        if (spec.has_tmem) {
          EXPECT_LE(p.m / 128 * (p.n + problem.k), 512u) << text;
          EXPECT_LE(128 * (p.m / 128 + 2), 1024) << text;  // threads
          EXPECT_EQ(p.n % (16 * p.parts), 0) << text;
        } else {
          EXPECT_EQ(p.m % 64, 0) << text;
          EXPECT_LE(p.n / 2 + problem.k / 2, p.m == 192 ? 160u : 240u) << text;
        }
        EXPECT_GE(p.stages, problem.n > p.n && (spec.has_tmem || p.ahead) ? 2 : 1) << text;
      });
  }
  EXPECT_GE(through, 2000u);
}

TEST(AttentionRules, ImpossibleProblems) {
  EXPECT_THAT(impossible(heads(1, 128, 128, 96)).value(),
              HasSubstr("--d 96 is not taken: the templates of attention have heads of 64 and of 128 dimensions"));
  EXPECT_THAT(impossible(heads(0, 128, 128)).value(), HasSubstr("at least 1"));
  EXPECT_THAT(impossible(heads(1, 128, 1u << 21)).value(), HasSubstr("at most 1048576"));
  EXPECT_FALSE(impossible(heads(1, 1, 1, 64)));
}

TEST(AttentionSpace, TextNamesOnePoint) {
  for (const Template t : {Template::attention_blackwell, Template::attention_hopper}) {
    const Space space(t);
    std::set<std::string> texts;
    for (uint64_t i = 0; i < space.size(); i += 7) {
      const Point p = space[i];
      EXPECT_EQ(space.parse(space.text(p), plain_point(t)), p);
      EXPECT_TRUE(texts.insert(space.text(p)).second);
    }
  }
}

// Masked pieces see more keys the later their queries are; the longest come first.
TEST(AttentionModel, CountsTheBlocksOfEachPiece) {
  const Problem masked = heads(2, 1000, 1000, 128, true);
  const Point p = point("b200", "tile=256x128 section=64 schedule=persistent");
  ASSERT_EQ(pieces(masked, p), 8u);
  std::vector<uint32_t> blocks;
  for (uint32_t i = 0; i < 8; ++i) blocks.push_back(blocks_of_piece(masked, p, i));
  EXPECT_THAT(blocks, ElementsAre(8, 8, 6, 6, 4, 4, 2, 2));
  EXPECT_THAT(busiest(masked, p, 4, 8), ElementsAre(8, 4));
  EXPECT_THAT(busiest(heads(1, 1000, 1000), p, 2, 3), ElementsAre(8, 8));
}

TEST(AttentionModel, TheTensorCoreAndTheExponentialsAreTheFloor) {
  // Two products of 2 · 8192 · 8192 · 128 operations for each of 32 heads, and as many exponentials as scores.
  const double operations = 4.0 * 32 * 8192 * 8192 * 128, scores = 32.0 * 8192 * 8192;
  for (const auto& [machine, rate, sms, text] :
       {std::tuple("b200", 8192.0, 148, "tile=256x128 stages=3 parts=2 schedule=persistent"),
        std::tuple("h200", 4096.0 * 2, 132, "tile=128x128 stages=4 schedule=persistent")}) {
    const double floor = std::max(operations / rate, scores / 16) / sms, c = attention_cycles(machine, kLong, text);
    EXPECT_GT(c, floor) << machine;
    EXPECT_LT(c, 2.6 * floor) << machine;
  }
}

TEST(AttentionModel, IdeasOfTheLadderGain) {
  const Problem p = heads(37, 1024, 1024);
  const double one = attention_cycles("b200", p, "tile=128x128 stages=4 parts=1 rescale=always schedule=serial"),
               two = attention_cycles("b200", p, "tile=256x128 stages=4 parts=1 rescale=always schedule=serial"),
               lazy = attention_cycles("b200", p, "tile=256x128 stages=4 parts=1 schedule=serial"),
               halves = attention_cycles("b200", p, "tile=256x128 stages=4 parts=2 schedule=serial");
  EXPECT_GT(one, 1.1 * two);
  EXPECT_GE(two, lazy);
  EXPECT_GE(lazy, halves);
  const double in_turn = attention_cycles("h200", kLong, "tile=64x128 stages=4 order=in_turn"),
               ahead = attention_cycles("h200", kLong, "tile=64x128 stages=4 order=ahead");
  EXPECT_GT(in_turn, ahead);
}

TEST(AttentionModel, MasksSaveHalfOfTheWork) {
  for (const char* machine : {"b200", "h200"}) {
    const std::string text = "tile=128x128 stages=3 schedule=persistent section=4";
    const double all = attention_cycles(machine, kLong, text),
                 masked = attention_cycles(machine, heads(32, 8192, 8192, 128, true), text);
    EXPECT_GT(masked, 0.45 * all);
    EXPECT_LT(masked, 0.65 * all);
  }
}

TEST(AttentionModel, LeastIsALowerBound) {
  for (const char* machine : {"b200", "h200"}) {
    const MachineSpec spec = load_profile(machine);
    const Space space(template_of(spec, Operation::attention));
    const auto all = rules(space.kind());
    for (const Problem& problem : {kLong, heads(7, 700, 900, 64), heads(5, 2000, 2000, 128, true)}) {
      const AttentionModel model(spec, problem);
      int seen = 0;
      for (uint64_t i = 0; i < space.size(); i += 11) {
        const Point p = space[i];
        if (broken(all, {spec, space.kind(), problem}, p)) continue;
        ++seen;
        EXPECT_LE(model.least(p), model.estimate(p).cycles) << name(problem) << ": " << space.text(p);
      }
      EXPECT_GT(seen, 30);
    }
  }
}

}  // namespace
