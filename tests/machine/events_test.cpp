// The three orders of completion.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/tinygpu/machine/events.h"

namespace tinygpu {
namespace {

void run_one(EventQueue& q) {
  if (q.next_timed() != ~0ull)
    q.run_timed();
  else
    q.run_held();
}

std::vector<int> run_all(CompletionOrder order) {
  EventQueue q;
  q.set_order(order);
  std::vector<int> out;
  // Channel 1: 10 then 11; channel 2: 20 then 21; channel 3: 30.
  q.schedule(5, 1, {}, [&](uint64_t) { out.push_back(10); });
  q.schedule(9, 1, {}, [&](uint64_t) { out.push_back(11); });
  q.schedule(3, 2, {}, [&](uint64_t) { out.push_back(20); });
  q.schedule(8, 2, {}, [&](uint64_t) { out.push_back(21); });
  q.schedule(7, 3, {}, [&](uint64_t) { out.push_back(30); });
  while (!q.empty()) run_one(q);
  return out;
}

TEST(EventQueue, TimedIsByTime) { EXPECT_THAT(run_all({}), ::testing::ElementsAre(20, 10, 30, 21, 11)); }

TEST(EventQueue, TellsWhatIsToCome) {
  for (const auto mode : {CompletionOrder::Mode::timed, CompletionOrder::Mode::late}) {
    EventQueue q;
    q.set_order({.mode = mode});
    Origin one, two;
    one.warp = 1;
    two.warp = 2;
    q.schedule(5, 1, one, [](uint64_t) {});
    q.schedule(9, 2, two, [](uint64_t) {});
    std::vector<std::pair<uint64_t, int>> seen;
    const auto look = [&] {
      seen.clear();
      q.each([&](uint64_t time, const Origin& who) { seen.push_back({time, who.warp}); });
    };
    look();
    EXPECT_THAT(seen, ::testing::UnorderedElementsAre(std::pair(5ull, 1), std::pair(9ull, 2)));
    run_one(q);
    look();
    EXPECT_EQ(seen.size(), 1u);
  }
}

TEST(EventQueue, LateTakesTheLatestHead) {
  EXPECT_THAT(run_all({.mode = CompletionOrder::Mode::late}), ::testing::ElementsAre(30, 10, 11, 20, 21));
}

TEST(EventQueue, SeededKeepsChannelsInOrderAndVaries) {
  std::set<std::vector<int>> seen;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    auto v = run_all({.mode = CompletionOrder::Mode::seeded, .seed = seed});
    auto at = [&](int x) { return std::find(v.begin(), v.end(), x) - v.begin(); };
    EXPECT_LT(at(10), at(11));
    EXPECT_LT(at(20), at(21));
    EXPECT_EQ(v, run_all({.mode = CompletionOrder::Mode::seeded, .seed = seed})) << "a seed names one order";
    seen.insert(v);
  }
  EXPECT_GT(seen.size(), 10u);
}

}  // namespace
}  // namespace tinygpu
