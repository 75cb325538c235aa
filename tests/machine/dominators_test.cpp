// Dominators beside their definition: a dominates b if b cannot be reached once a is taken away.
#include "common/tinygpu/program/lower/dominators.h"

#include <gtest/gtest.h>

#include <random>

namespace tinygpu::test {
namespace {

using Graph = std::vector<std::vector<uint32_t>>;

/// Blocks that the root leads to without `taken`.
std::vector<bool> reach(const Graph& next, uint32_t root, uint32_t taken) {
  std::vector<bool> seen(next.size());
  std::vector<uint32_t> work;
  const auto meet = [&](uint32_t b) {
    if (b == taken || seen[b]) return;
    seen[b] = true;
    work.push_back(b);
  };
  meet(root);
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    for (uint32_t to : next[b]) meet(to);
  }
  return seen;
}

TEST(Dominators, AsTheDefinitionSays) {
  std::mt19937 random(7);
  for (int round = 0; round < 400; ++round) {
    const uint32_t n = 1 + random() % 24;
    Graph next(n);
    // Few edges and many: chains, forests of branches, loops with several ways in.
    for (uint32_t k = 0, edges = random() % (3 * n); k < edges; ++k) next[random() % n].push_back(random() % n);
    for (uint32_t b = 0; b + 1 < n; ++b)
      if (random() % 4) next[b].push_back(b + 1);
    const uint32_t root = random() % n;
    const Dominators d(next, root);
    const std::vector<bool> reached = reach(next, root, n);
    std::vector<std::vector<bool>> without;
    for (uint32_t a = 0; a < n; ++a) without.push_back(reach(next, root, a));
    for (uint32_t b = 0; b < n; ++b) {
      ASSERT_EQ(d.reached(b), reached[b]);
      if (!reached[b]) {
        EXPECT_EQ(d.of(b), -1);
        continue;
      }
      for (uint32_t a = 0; a < n; ++a) {
        if (!reached[a]) continue;
        const bool dominates = a == b || !without[a][b];
        EXPECT_EQ(d.dominates(a, b), dominates) << a << ' ' << b;
        // Of all that dominate a block, the immediate one is dominated by the others.
        EXPECT_TRUE(b == root || a == b || !dominates || d.dominates(a, uint32_t(d.of(b)))) << a << ' ' << b;
      }
      EXPECT_EQ(d.of(b) == int32_t(b), b == root);
      EXPECT_TRUE(d.dominates(uint32_t(d.of(b)), b));
    }
    EXPECT_EQ(d.of(root), int32_t(root));
  }
}

}  // namespace
}  // namespace tinygpu::test
