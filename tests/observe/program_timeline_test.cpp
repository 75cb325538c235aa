// Timelines that programs write down themselves.
#include "common/tinygpu/observe/report/program_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace tinygpu::test::program_timeline_test {
namespace {

using Json = nlohmann::ordered_json;
using observe::program_timeline;
using ::testing::HasSubstr;

TEST(ProgramTimeline, SpansThatOverlapGetRowsOfTheirOwn) {
  const Json t = program_timeline(R"({"title": "tasks", "rows": [
    {"name": "SM 0", "spans": [{"name": "b", "begin": 50, "end": 90}, {"name": "a", "begin": 10, "end": 60, "critical": true},
                               {"name": "a", "begin": 60, "end": 70}]},
    {"name": "SM 3", "spans": []}],
    "arrows": [[1, 0], [1, 2]]})");
  ASSERT_EQ(t.at("rows").size(), 3u);
  const Json &first = t.at("rows")[0], &second = t.at("rows")[1], &empty = t.at("rows")[2];
  EXPECT_EQ(first.at("name"), "SM 0");
  EXPECT_EQ(second.at("name"), "SM 0 (2)");
  EXPECT_EQ(second.at("row"), 1);
  EXPECT_EQ(empty.at("count"), 0);
  // Begins are distances from the begin before.
  EXPECT_EQ(first.at("begin"), Json::array({10, 50}));
  EXPECT_EQ(first.at("length"), Json::array({50, 10}));
  EXPECT_EQ(first.at("critical"), Json::array({1, 0}));
  EXPECT_EQ(second.at("begin"), Json::array({50}));
  EXPECT_EQ(first.at("word")[0], first.at("word")[1]) << "one text stands once";
  EXPECT_EQ(t.at("cycles"), 90);
  // The page counts spans by row: a, a, b.
  EXPECT_EQ(t.at("arrows").at("from"), Json::array({0, 0}));
  EXPECT_EQ(t.at("arrows").at("to"), Json::array({2, 1}));
}

std::string said(const char* text) {
  try {
    program_timeline(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return {};
}

TEST(ProgramTimeline, RefusesWhatItCannotShow) {
  EXPECT_THAT(said(""), HasSubstr("write an object"));
  EXPECT_THAT(said("[]"), HasSubstr("write an object"));
  EXPECT_THAT(said("{}"), HasSubstr("lacks a part"));
  EXPECT_THAT(said(R"({"title": 1, "rows": []})"), HasSubstr("lacks a part"));
  EXPECT_THAT(said(R"({"title": "t", "rows": [{"name": "r", "spans": [{"name": "s", "begin": "1", "end": 2}]}]})"),
              HasSubstr("of another kind"));
  EXPECT_THAT(said(R"({"title": "t", "rows": [{"name": "r", "spans": [{"name": "s", "begin": 3, "end": 2}]}]})"),
              HasSubstr("the span s ends before it begins"));
  EXPECT_THAT(said(R"({"title": "t", "rows": [], "arrows": [[0, 1]]})"), HasSubstr("an arrow names span 0 of 0"));
  EXPECT_EQ(said(R"({"title": "t", "rows": []})"), "");
}

}  // namespace
}  // namespace tinygpu::test::program_timeline_test
