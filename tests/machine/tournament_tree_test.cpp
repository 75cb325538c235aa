// The earliest of many times against a search through all of them.
#include "common/tinygpu/machine/chip/tournament_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tinygpu {
namespace {

void expect_same(const TournamentTree& e, const std::vector<uint64_t>& times) {
  std::vector<uint64_t> sorted = times;
  sorted.resize(std::max<size_t>(2, times.size()), TournamentTree::kNever);
  std::ranges::sort(sorted);
  ASSERT_EQ(e.time(), sorted[0]);
  ASSERT_EQ(e.next_time(), sorted[1]);
  if (sorted[0] != TournamentTree::kNever) {
    ASSERT_EQ(e.place(), size_t(std::ranges::find(times, sorted[0]) - times.begin()));
  }
}

TEST(TournamentTree, OfNoneIsNever) {
  const TournamentTree e;
  expect_same(e, {});
}

TEST(TournamentTree, IsWhatASearchFinds) {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    TournamentTree e;
    std::vector<uint64_t> times;
    const auto some = [&] { return random() % 8 == 0 ? TournamentTree::kNever : uint64_t(random() % 16); };
    const size_t count = random() % 70;
    for (size_t i = 0; i < count; ++i) {
      times.push_back(some());
      e.add(times.back());
      expect_same(e, times);
    }
    for (int i = 0; i < 100 && count; ++i) {
      const size_t place = random() % times.size();
      e.set(place, times[place] = some());
      expect_same(e, times);
    }
    // Some leave; the others keep their order.
    std::erase_if(times, [&](uint64_t t) { return t % 3 == 0; });
    e.assign(times.size(), [&](size_t i) { return times[i]; });
    expect_same(e, times);
    times.push_back(some());
    e.add(times.back());
    expect_same(e, times);
  }
}

}  // namespace
}  // namespace tinygpu
