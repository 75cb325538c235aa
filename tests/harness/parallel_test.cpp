// Loops on all threads: every call once, and what is before, in and behind them is ordered (which the preset tsan
// sees).
#include "common/harness/parallel.h"

#include <gtest/gtest.h>
#include <oneapi/tbb/blocked_range2d.h>

#include <vector>

namespace {

using namespace gen5::harness;

TEST(Parallel, EachIsCalledOnceAndEndsBeforeTheNextLoop) {
  std::vector<int> counts(5000);  // not atomic, and another thread's in each loop
  for (size_t round = 0; round < 20; ++round)
    for_all(counts.size(), [&](size_t i) { ++counts[(i * 3 + round) % counts.size()]; });
  for (const int c : counts) EXPECT_EQ(c, 20);
}

TEST(Parallel, LoopsMayStandInLoops) {
  std::vector<std::vector<uint32_t>> rows(40);
  for_all(rows.size(), [&](size_t r) {
    rows[r].resize(300);
    for_all(300u, [&](uint32_t i) { rows[r][i] = uint32_t(r) * 1000 + i; });
    for (uint32_t& n : rows[r]) ++n;
  });
  for (uint32_t r = 0; r < 40; ++r)
    for (uint32_t i = 0; i < 300; ++i) EXPECT_EQ(rows[r][i], r * 1000 + i + 1);
}

TEST(Parallel, PartsOfARangeCoverIt) {
  using Range = oneapi::tbb::blocked_range2d<uint32_t>;
  std::vector<int> seen(70 * 90);
  for_parts(Range(0, 70, 8, 0, 90, 16), [&](const Range& part) {
    for (uint32_t r = part.rows().begin(); r < part.rows().end(); ++r)
      for (uint32_t c = part.cols().begin(); c < part.cols().end(); ++c) ++seen[r * 90 + c];
  });
  EXPECT_EQ(seen, std::vector<int>(70 * 90, 1));
}

}  // namespace
