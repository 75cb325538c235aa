// The parts of a problem, and what they add up to.
#include "common/tinygpu/search/sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <tuple>

#include "common/tinygpu/search/attention_model.h"
#include "common/tinygpu/timing/profile.h"

namespace {

using namespace tinygpu;
using namespace tinygpu::search;
using testing::HasSubstr;

Problem attention(uint32_t heads, uint32_t queries, uint32_t keys, bool causal = false) {
  return {queries, keys, 128, In::bf16, Out::bf16, Operation::attention, heads, causal};
}

Point of_space(Template t, const char* text) { return Space(t).parse(text, plain_point(t)); }

// The parts' weights give back a time that is linear in pieces and blocks, whatever its coefficients are.
TEST(Sampling, PartsOfAttentionAddUp) {
  const MachineSpec spec = load_profile("b200");
  const Template t = Template::attention_blackwell;
  const Point p = of_space(Template::attention_blackwell, "tile=256x128 stages=3 schedule=persistent");
  for (const Problem& problem : {attention(32, 8192, 8192), attention(40, 4096, 4096, true)}) {
    const Sampling s = sampling(spec, t, problem, p);
    ASSERT_EQ(s.runs.size(), 3u) << s.why;
    const auto time = [&](const Problem& of, uint32_t most) {
      const uint32_t all = pieces(of, p);
      const std::vector<uint32_t> blocks = busiest(of, p, 148, most ? std::min(most, all) : all);
      return 5000 + 1700.0 * double(blocks.size()) + 2100.0 * std::accumulate(blocks.begin(), blocks.end(), 0.0);
    };
    double sum = 0, parts = 0;
    for (const Sample& run : s.runs) {
      sum += run.weight * time(run.problem, run.most);
      parts += time(run.problem, run.most);
    }
    EXPECT_NEAR(sum, time(problem, 0), 1e-6 * sum);
    EXPECT_LT(parts, 0.5 * sum);
  }
}

TEST(Sampling, SaysWhereItDoesNotApplyToAttention) {
  const MachineSpec spec = load_profile("b200");
  const Point p = of_space(Template::attention_blackwell, "tile=256x128 stages=3 schedule=persistent");
  const auto why = [&](const Problem& problem) {
    const Sampling s = sampling(spec, Template::attention_blackwell, problem, p);
    EXPECT_TRUE(s.runs.empty());
    return s.why;
  };
  EXPECT_THAT(why(attention(4, 512, 512)), HasSubstr("little work"));
  EXPECT_THAT(why(attention(400, 1024, 1024)), HasSubstr("fewer than 10 blocks"));
  EXPECT_THAT(why(attention(1, 8192, 65536)), HasSubstr("no two waves"));
  EXPECT_THAT(why(attention(1, 65536, 65536, true)), HasSubstr("several heads"));
}

// A first wave that takes longer, waves behind it that take turns at being longer and shorter, and blocks of K that
// take longer in the first one. Behind it the first 16 blocks of a tile take less, beside the stores before it.
TEST(Sampling, PartsOfAProductAddUp) {
  const MachineSpec spec = load_profile("b200");
  // For 74 pairs 16 x 19 tiles, four waves and 8 tiles; 16 x 16, three waves and 34 tiles; 32 tiles.
  for (const auto& [problem, text, waves, share] :
       {std::tuple(Problem{}, "tile=256x224 cta=2 stages=6", 5, 0.41),
        std::tuple(Problem{}, "tile=256x256 cta=2 stages=4 accumulators=1", 4, 0.42),
        std::tuple(Problem{1024, 2048, 16384}, "tile=256x256 cta=2 stages=4 accumulators=1", 1, 0.35)}) {
    const Point p = of_space(Template::blackwell, text);
    const Sampling s = sampling(spec, Template::blackwell, problem, p);
    ASSERT_FALSE(s.runs.empty()) << s.why;
    const uint32_t tiles = ((problem.m + 255) / 256) * ((problem.n + p.n - 1) / p.n);
    const auto time = [&](const Problem& of, uint32_t most) {
      const double n = most ? most : tiles, full = std::ceil(n / 74), blocks = of.k / 64.0;
      const double in_turn = waves > 4 && int(full) % 2 == 0 ? 70 : 0;
      return 6000 + 900 + 150 * blocks + (full - 1) * (300 + 130 * blocks - 20 * std::min(16.0, blocks)) + in_turn +
             (n - 74 * (full - 1)) * 2;
    };
    double sum = 0, work = 0;
    for (const Sample& run : s.runs) {
      EXPECT_LE(run.problem.k, problem.k / 2);
      EXPECT_LE(run.most, tiles);
      sum += run.weight * time(run.problem, run.most);
      work += double(run.most ? run.most : tiles) * run.problem.k;
    }
    EXPECT_NEAR(sum, time(problem, 0), 1e-6 * sum) << waves;
    EXPECT_LE(work, share * tiles * problem.k) << waves;
  }
}

TEST(Sampling, IsSteadyWhereBlocksOfItsWavesTakeTheSame) {
  const MachineSpec spec = load_profile("b200");
  const auto steady = [&](const Problem& problem, const char* text, double of_first, double of_second,
                          double of_third) {
    const Sampling s = sampling(spec, Template::blackwell, problem, of_space(Template::blackwell, text));
    std::vector<double> cycles;
    for (const Sample& run : s.runs) {
      const double blocks = run.problem.k / 64.0;
      cycles.push_back(5000 + of_first * blocks + (run.most > 74 ? 200 + of_second * blocks : 0) +
                       (run.most > 2 * 74 ? 200 + of_third * blocks : 0));
    }
    return s.steady(cycles);
  };
  // Six waves, of which three are run; and four, of which two.
  for (const char* text : {"tile=256x160 cta=2 stages=6", "tile=256x256 cta=2 stages=4 accumulators=1"}) {
    EXPECT_TRUE(steady({}, text, 150, 151, 151)) << text;
    EXPECT_FALSE(steady({}, text, 150, 153, 153)) << text;
    EXPECT_FALSE(steady({}, text, 150, 147, 147)) << text;
  }
  EXPECT_FALSE(steady({}, "tile=256x160 cta=2 stages=6", 150, 150, 144));
  EXPECT_TRUE(steady({}, "tile=256x256 cta=2 stages=4 accumulators=1", 150, 150, 144));
  // One wave: four MMAs of 256 columns, at two a cycle.
  const Problem one{1024, 2048, 16384};
  EXPECT_TRUE(steady(one, "tile=256x256 cta=2 stages=4 accumulators=1", 514, 0, 0));
  EXPECT_FALSE(steady(one, "tile=256x256 cta=2 stages=4 accumulators=1", 530, 0, 0));
}

TEST(Sampling, SaysWhereItDoesNotApplyToProducts) {
  const MachineSpec spec = load_profile("b200");
  const auto why = [&](const Problem& problem, const char* text) {
    const Sampling s = sampling(spec, Template::blackwell, problem, of_space(Template::blackwell, text));
    EXPECT_TRUE(s.runs.empty());
    return s.why;
  };
  EXPECT_THAT(why({512, 512, 1024}, "tile=128x128"), HasSubstr("little work"));
  EXPECT_THAT(why({8192, 8192, 1024}, "tile=256x256 cta=2 accumulators=1"),
              HasSubstr("a tile has 16 blocks, and it takes 64"));
  EXPECT_THAT(why({4096, 4096, 4096, In::bf16, Out::f32}, "tile=256x256 cta=2 schedule=stream_k"),
              HasSubstr("no waves"));
  EXPECT_THAT(why({4096, 4096, 4096}, "tile=128x64 stages=2 accumulators=1 schedule=serial"), HasSubstr("share an SM"));
  // 4 rows and 37 columns of tiles of 256 by 128. It came out 7.4 % too fast: L2 loses some of a wave.
  EXPECT_THAT(why({2048, 8192, 6144, In::f16, Out::f16}, "tile=256x128 accumulators=1 schedule=launch_control band=4"),
              HasSubstr("a wave reads 71 MB, and L2 keeps 66 from one to the next"));
  // Eight rows of 256 and 8,192 columns of 6,144 elements, and D. It came out 3.7 % too fast.
  EXPECT_THAT(why({2048, 8192, 6144, In::f16, Out::f16},
                  "tile=128x128 stages=5 cluster=2x1 accumulators=1 schedule=serial band=8"),
              HasSubstr("159 MB pass through L2, which has 133"));
  // 8 rows and 9 columns of tiles of 256 by 256, with 4,096 elements a row.
  const auto of_hopper = [](uint32_t k) {
    return sampling(load_profile("h200"), Template::hopper, {3072, 4096, k},
                    of_space(Template::hopper, "tile=128x256 cluster=2x1 band=8"));
  };
  EXPECT_THAT(of_hopper(4096).why, HasSubstr("a wave reads 36 MB, and L2 keeps 26 from one to the next"));
  EXPECT_FALSE(of_hopper(2816).runs.empty()) << of_hopper(2816).why;
  const Sampling meets =
      sampling(load_profile("h200"), Template::hopper, {}, of_space(Template::hopper, "split=2meet"));
  EXPECT_TRUE(meets.runs.empty());
  EXPECT_THAT(meets.why, HasSubstr("parts of K wait for each other"));
}

}  // namespace
