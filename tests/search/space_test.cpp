#include "common/tinygpu/search/space.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace {

using namespace tinygpu::search;
using testing::HasSubstr;

TEST(Space, HasTheSizeThatWasAskedFor) {
  for (const Template t : {Template::blackwell, Template::hopper}) {
    const Space space(t);
    EXPECT_GE(space.size(), 50000u);
    uint64_t seen = 0;
    Point last;
    space.for_each([&](uint64_t index, const Point& p) {
      EXPECT_EQ(index, seen++);
      last = p;
    });
    EXPECT_EQ(seen, space.size());
    EXPECT_EQ(last, space[space.size() - 1]);
  }
}

TEST(Space, TextNamesOnePoint) {
  for (const Template t : {Template::blackwell, Template::hopper}) {
    const Space space(t);
    std::set<std::string> texts;
    for (uint64_t i = 0; i < space.size(); i += 9973) {
      const Point p = space[i];
      EXPECT_EQ(space.parse(space.text(p), plain_point(t)), p);
      EXPECT_TRUE(texts.insert(space.text(p)).second);
    }
  }
}

std::string parse_error(Template t, const char* words) {
  try {
    Space(t).parse(words, plain_point(t));
  } catch (const SearchError& e) {
    return e.what();
  }
  return "";
}

TEST(Space, SaysWhatAPointMayBe) {
  EXPECT_THAT(parse_error(Template::blackwell, "consumers=2"),
              HasSubstr("\"consumers\" is no parameter of this machine's template"));
  EXPECT_THAT(parse_error(Template::blackwell, "stages=7"),
              HasSubstr("\"7\" is no value of stages that the template has; it has 1, 2, 3, 4, 5, 6, 8, 10, 12"));
  EXPECT_THAT(parse_error(Template::hopper, "tile"), HasSubstr("\"\" is no value of tile"));
}

TEST(Space, AMachineWithNeitherTensorCoreHasNoTemplate) {
  tinygpu::MachineSpec spec;
  spec.name = "old";
  spec.has_tmem = spec.has_wgmma = false;
  EXPECT_THROW(template_of(spec), SearchError);
}

}  // namespace
