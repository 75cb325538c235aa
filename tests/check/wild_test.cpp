// Bugs that really happened, made again from their reports (tests/check/wild/*.ptx, and wild_second/, which was chosen
// and measured when the checks were done): what the check and a plain run say of each, and that the mended twin is
// silent.
#include "tests/check/wild_case.h"

namespace tinygpu::test::wild_test {
namespace {

/// What is told of a bug at one of the lines.
bool told(const WildCase& c, const std::vector<Diagnosis>& all) {
  const auto there = [&](const Where& w) {
    return std::ranges::any_of(c.lines, [&](const std::string& l) { return without_guard(w.ptx_text) == l; });
  };
  return std::ranges::any_of(all, [&](const Diagnosis& d) {
    if (d.code != c.says || d.severity == Severity::note) return false;
    return there(d.where) || std::ranges::any_of(d.others, [&](const LabelledPlace& p) { return there(p.where); });
  });
}

using Mode = CompletionOrder::Mode;

class Wild : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Wild, IsToldAndItsTwinIsSilent) {
  const WildCase c = read_wild_case(GetParam());
  ASSERT_FALSE(c.report.empty());
  ASSERT_FALSE(c.says.empty());
  ASSERT_FALSE(c.lines.empty());
  std::vector<CompletionOrder> orders = {{Mode::timed, 0}, {Mode::late, 0}};
  for (uint64_t seed = 1; seed <= 20; ++seed) orders.push_back({Mode::seeded, seed});
  bool by_check = false;
  std::string said;
  for (size_t i = 0; i < 7 && !by_check; ++i) {
    Kernel bug = c.bug;
    bug.order = orders[i];
    const auto all = bug.outcome(checks::Level::races);
    by_check = told(c, all);
    if (i == 0)
      for (const Diagnosis& d : all) said += diagnosis::render(d, {.general = false});
  }
  EXPECT_EQ(by_check, c.check) << said;
  Kernel plain = c.bug;
  const auto run = plain.outcome(checks::Level::quick);
  std::string ran;
  for (const Diagnosis& d : run) ran += diagnosis::render(d, {.general = false});
  EXPECT_EQ(told(c, run), c.run) << ran;
  for (const CompletionOrder& order : orders)
    for (const auto level : {checks::Level::races, checks::Level::quick}) {
      Kernel twin = c.twin;
      twin.order = order;
      for (const Diagnosis& d : twin.outcome(level))
        ASSERT_TRUE(d.severity == Severity::note || d.code.ends_with("-uninitialised")) << diagnosis::render(d);
    }
}

INSTANTIATE_TEST_SUITE_P(All, Wild, ::testing::ValuesIn(wild_files()),
                         [](const auto& info) { return info.param.stem().string(); });

}  // namespace
}  // namespace tinygpu::test::wild_test
