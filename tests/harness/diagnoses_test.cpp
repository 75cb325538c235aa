#include "common/harness/diagnoses.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace {

using namespace gen5::harness;
using testing::ElementsAre;

TEST(Diagnoses, PlacesAreThoseThatHaveAWarp) {
  const std::vector<Diagnosed> all = read_diagnoses(R"({"error": 0, "diagnoses": [
      {"code": "data-race", "severity": "error", "text": "two lines\n", "places": [
          {"cta": [3, 1, 0], "thread": 65, "warp": 2, "cycle": 90, "clock": 1090, "label": "reads"},
          {"cta": [1, 0, 0], "warp": 4},
          {"file": "a.cu", "line": 3}]},
      {"code": "memory-leak", "severity": "warning", "text": "", "places": []}]})");
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].code, "data-race");
  EXPECT_TRUE(all[0].error);
  EXPECT_FALSE(all[1].error);
  EXPECT_EQ(all[0].text, "two lines\n");
  ASSERT_EQ(all[0].places.size(), 2u);
  EXPECT_THAT(all[0].places[0].cta, ElementsAre(3, 1, 0));
  EXPECT_EQ(all[0].places[0].warp, 2u);
  EXPECT_EQ(all[0].places[0].clock, 1090u);
  EXPECT_EQ(all[0].places[1].clock, std::nullopt);
  EXPECT_TRUE(all[1].places.empty());
}

}  // namespace
