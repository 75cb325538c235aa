// Which x86-64 level of isa/ runs, by what was compiled and what the processor has.
#include "common/tinygpu/isa/level_choice.h"

#include <gmock/gmock.h>

#include <stdexcept>
#include <vector>

namespace {

using tinygpu::isa::choose_level;
using tinygpu::isa::Level;

std::vector<Level> levels(bool v2, bool v3, bool v4) {
  return {{"v2", v2, nullptr}, {"v3", v3, nullptr}, {"v4", v4, nullptr}};
}

TEST(Level, TheHighestThatTheProcessorHas) {
  EXPECT_EQ(choose_level(levels(true, true, true), "").name, "v4");
  EXPECT_EQ(choose_level(levels(true, true, false), "").name, "v3");
  EXPECT_EQ(choose_level(levels(true, false, false), "").name, "v2");
}

TEST(Level, OneCanBeForcedIfItRuns) {
  EXPECT_EQ(choose_level(levels(true, true, true), "v2").name, "v2");
  EXPECT_EQ(choose_level(levels(true, true, false), "v4").name, "v3");
  EXPECT_EQ(choose_level(levels(true, true, true), "v9").name, "v4");
}

TEST(Level, ABuildForAnotherProcessorSaysSo) {
  const std::vector<Level> high = {{"v3", false, nullptr}, {"v4", false, nullptr}};
  try {
    choose_level(high, "v4");
    FAIL() << "a level was chosen that the processor has not";
  } catch (const std::runtime_error& e) {
    EXPECT_THAT(e.what(), testing::HasSubstr("built for x86-64-v3, x86-64-v4, which this processor is not"));
  }
}

}  // namespace
