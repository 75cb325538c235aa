// Pictures of pipelines from what a watcher saw, and from stamps.
#include "common/harness/pipeline.h"

#include <gtest/gtest.h>

#include "common/harness/stamps.h"
#include "common/harness/watch.h"

namespace {

using namespace gen5::harness;
using Op = Watched::Operation;

const std::string kLoad = "cp.async.bulk.tensor load", kMma = "tcgen05.mma", kRead = "tcgen05.ld",
                  kStore = "cp.async.bulk.tensor store", kCommit = "tcgen05.commit";

void expect(const std::vector<Pipeline::Numbered>& seen, const std::vector<Pipeline::Numbered>& wanted) {
  ASSERT_EQ(seen.size(), wanted.size());
  for (size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].number, wanted[i].number) << i;
    EXPECT_EQ(seen[i].begin, wanted[i].begin) << i;
    EXPECT_EQ(seen[i].end, wanted[i].end) << i;
  }
}

TEST(Pipeline, GroupsOperationsToBlocksAndTiles) {
  Watched w;
  w.ctas = {{0, 1000}};
  //               cta warp issued begin busy end
  w.operations = {
      Op{kLoad, 0, 0, 10, 11, 5, 110},   Op{kLoad, 0, 0, 12, 16, 5, 120},   Op{kLoad, 0, 0, 20, 21, 5, 130},
      Op{kLoad, 0, 0, 22, 26, 5, 128},   Op{kMma, 0, 1, 125, 126, 30, 200}, Op{kMma, 0, 1, 127, 156, 30, 230},
      Op{kMma, 0, 1, 135, 186, 30, 260}, Op{kMma, 0, 1, 136, 216, 30, 290}, Op{kRead, 0, 2, 300, 300, 8, 320},
      Op{kRead, 0, 3, 301, 301, 8, 321}, Op{kStore, 0, 2, 350, 350, 8, 800}};
  PipelineShape shape;
  shape.loads_of_a_block = shape.work_of_a_block = 2;
  shape.reads_of_a_tile = 1;
  const Pipeline p = pipeline_of(w, shape);
  EXPECT_FALSE(p.stamped);
  expect(p.loads, {{0, 10, 120}, {1, 20, 130}});
  expect(p.work, {{0, 126, 186}, {1, 186, 246}});
  expect(p.outputs, {{0, 300, 350}});
}

TEST(Pipeline, NumbersBlocksByTileAndCtasByThemselves) {
  Watched w;
  w.ctas = {{0, 1000}, {0, 1000}};
  for (uint64_t i = 0; i < 3; ++i)
    for (uint32_t cta = 0; cta < 2; ++cta) w.operations.push_back({kLoad, cta, 0, 100 * i + cta, 0, 0, 100 * i + 50});
  for (uint64_t i = 0; i < 4; ++i) w.operations.push_back({kRead, 0, 2, 1000 + 10 * i, 0, 0, 1005 + 10 * i});
  PipelineShape shape;
  shape.loads_of_a_block = 1;
  shape.blocks_of_a_tile = 2;
  shape.reads_of_a_tile = 2;
  const Pipeline p = pipeline_of(w, shape);
  expect(p.loads, {{0, 0, 50}, {1, 100, 150}, {0, 200, 250}, {0, 1, 50}, {1, 101, 150}, {0, 201, 250}});
  expect(p.outputs, {{0, 1000, 1015}, {1, 1020, 1035}});
}

TEST(Pipeline, ThreadsCopyUntilTheMma) {
  Watched w;
  w.ctas = {{5, 1000}};
  w.operations = {Op{kMma, 0, 0, 100, 100, 10, 150}, Op{kCommit, 0, 0, 101, 101, 0, 160},
                  Op{kMma, 0, 0, 300, 300, 10, 350}, Op{kCommit, 0, 0, 301, 301, 0, 360}};
  PipelineShape shape;
  shape.loads_of_a_block = 0;
  shape.work_of_a_block = 1;
  expect(pipeline_of(w, shape).loads, {{0, 5, 100}, {1, 160, 300}});
}

TEST(Pipeline, ThreadsWorkFromAWaitUntilTheirLastArrival) {
  Watched w;
  w.ctas = {{0, 1000}};
  w.waited = {{0, 0, 50}, {0, 1, 100}, {0, 1, 200}, {0, 1, 300}};
  w.arrived = {{0, 1, 20}, {0, 1, 140}, {0, 1, 150}, {0, 2, 190}, {0, 1, 250}};
  PipelineShape shape;
  shape.worker = 1;
  expect(pipeline_of(w, shape).work, {{0, 100, 150}, {1, 200, 250}, {2, 300, 300}});
}

TEST(Pipeline, StoresAloneStandForTilesWhereAccumulatorsAreRegisters) {
  Watched w;
  w.ctas = {{0, 1000}};
  w.operations = {Op{kStore, 0, 4, 10, 10, 5, 60}, Op{kStore, 0, 8, 11, 11, 5, 70}, Op{kStore, 0, 4, 20, 20, 5, 80},
                  Op{kStore, 0, 4, 30, 30, 5, 90}};
  PipelineShape shape;
  shape.stores_of_a_tile = 2;
  expect(pipeline_of(w, shape).outputs, {{0, 10, 80}, {1, 30, 90}, {0, 11, 70}});
  shape.stores_of_a_tile = 0;
  EXPECT_TRUE(pipeline_of(w, shape).outputs.empty()) << "a store of who reads no Tensor Memory is no epilogue";
}

TEST(Pipeline, ReadsWhatAWatcherWrote) {
  const Watched w = read_watched(R"([{"kernel": "k"}])", R"({"kernel": "k", "ctas": [{"begin": 5, "end": 90}],
    "operations": [{"kind": "tcgen05.mma", "cta": 0, "warp": 1, "issued": 10, "begin": 11, "busy": 8, "end": 60}],
    "waited": [{"cta": 0, "warp": 1, "at": 70}], "arrived": [{"cta": 0, "warp": 2, "at": 71}]})");
  EXPECT_EQ(w.profile.at(0).at("kernel"), "k");
  ASSERT_EQ(w.ctas.size(), 1u);
  EXPECT_EQ(w.ctas[0].end, 90u);
  ASSERT_EQ(w.operations.size(), 1u);
  EXPECT_EQ(w.operations[0].kind, kMma);
  EXPECT_EQ(w.operations[0].busy, 8u);
  EXPECT_EQ(w.waited.at(0).at, 70u);
  EXPECT_EQ(w.arrived.at(0).warp, 2);
  EXPECT_TRUE(read_watched("[]", "{}").operations.empty());
  EXPECT_THROW(read_watched("[1", "{}"), nlohmann::json::exception);
  EXPECT_THROW(read_watched("[]", R"({"operations": [{}]})"), nlohmann::json::exception);
}

/// Stamps as a kernel writes them.
struct Written {
  std::vector<uint64_t> words = std::vector<uint64_t>(4 * kStampsOfACta);
  void cta(size_t index, uint32_t sm) { words[index * kStampsOfACta] = sm + 1; }
  void at(size_t cta, Moment m, std::vector<uint64_t> times) {
    std::copy(times.begin(), times.end(),
              words.begin() + std::ptrdiff_t(cta * kStampsOfACta + 1 + size_t(m) * kStampsOfAMoment));
  }
};

TEST(Pipeline, FromStampsOfAKernelThatWaitsForEachBlock) {
  Written s;
  s.cta(0, 7);
  s.at(0, Moment::asked, {100, 300});
  s.at(0, Moment::landed, {200, 400});
  s.at(0, Moment::done, {250, 450});
  s.at(0, Moment::ready, {500});
  s.at(0, Moment::stored, {600});
  const Pipeline p = pipeline_of(s.words, {.blocks_of_a_tile = 2});
  EXPECT_TRUE(p.stamped);
  expect(p.loads, {{0, 100, 200}, {1, 300, 400}});
  expect(p.work, {{0, 200, 250}, {1, 400, 450}});
  expect(p.outputs, {{0, 500, 600}});
}

TEST(Pipeline, FromStampsOfARing) {
  Written s;
  s.cta(0, 0);
  s.at(0, Moment::asked, {10, 11, 150, 160});  // the third knows that the first block has been read
  s.at(0, Moment::landed, {100, 110, 250, 251});
  s.at(0, Moment::ready, {400});
  const Pipeline p = pipeline_of(s.words, {.blocks_of_a_tile = 4, .stages = 2});
  expect(p.work, {{0, 100, 150}, {1, 150, 160}, {2, 250, 251}, {3, 251, 400}});
}

TEST(Pipeline, StampsOfOtherSmsAreNotShown) {
  Written s;
  s.cta(0, 3);
  s.cta(1, 4);
  s.cta(2, 3);
  for (size_t cta = 0; cta < 3; ++cta) s.at(cta, Moment::landed, {100 + cta});
  const Pipeline p = pipeline_of(s.words, {});
  expect(p.loads, {{0, 100, 100}, {0, 102, 102}});
}

TEST(Pipeline, StampsThatAreNotThereAreNoTrouble) {
  EXPECT_TRUE(pipeline_of(std::vector<uint64_t>(2 * kStampsOfACta), {}).loads.empty());
  EXPECT_TRUE(pipeline_of(std::vector<uint64_t>(), {}).loads.empty());
  EXPECT_TRUE(pipeline_of(Watched{}, {}).loads.empty());
}

TEST(Pipeline, APictureHasTheLanesThatAreNamed) {
  Pipeline p;
  p.loads = {{12, 100, 200}};
  p.work = {{12, 200, 300}};
  const Picture all = picture_of(p, "title");
  ASSERT_EQ(all.lanes.size(), 4u);
  EXPECT_EQ(all.lanes[0].name, "producer");
  EXPECT_EQ(all.lanes[0].spans.at(0).end, 100u) << "a request is a moment";
  EXPECT_EQ(all.lanes[1].spans.at(0).end, 200u);
  EXPECT_EQ(all.lanes[2].spans.at(0).mark, '2');
  const Picture some = picture_of(p, "title", {.asks = "", .outputs = ""});
  ASSERT_EQ(some.lanes.size(), 2u);
  EXPECT_EQ(some.lanes[0].name, "TMA");
}

TEST(Pipeline, TheLegendSaysWhereTheTimesComeFrom) {
  Pipeline p;
  EXPECT_EQ(legend(p).find("stamps"), std::string::npos);
  EXPECT_NE(legend(p, {}, "chunks").find("one of the chunks"), std::string::npos);
  EXPECT_NE(legend(p, {.work = "unit"}).find(" unit: busy"), std::string::npos);
  EXPECT_EQ(legend(p, {.loads = ""}).find("on its way"), std::string::npos);
  p.stamped = true;
  EXPECT_NE(legend(p).find("stamps"), std::string::npos);
}

}  // namespace
