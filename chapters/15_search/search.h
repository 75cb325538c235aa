// The search: what is looked at, and in which order.
#pragma once
#include <tuple>

#include "chapters/15_search/product.h"
#include "chapters/15_search/rules.h"

namespace search {

struct Candidate {
  Point point;
  Result expected;
};

/// Those of the points that are kernels, the fewest expected cycles first; of equals the one with fewer stages first.
inline std::vector<Candidate> ranked(const Problem& problem, const std::vector<Point>& points) {
  std::vector<Candidate> out;
  for (const Point& p : points)
    if (!broken(p)) out.push_back({p, estimate(problem, p)});
  std::ranges::stable_sort(out, [](const Candidate& a, const Candidate& b) {
    return std::tuple(a.expected.cycles, a.point.stages) < std::tuple(b.expected.cycles, b.point.stages);
  });
  return out;
}

/// A space of three parameters: tile, block of K, stages. CTAs stay and have two accumulators.
inline std::vector<Point> three_parameters() {
  std::vector<Point> out;
  for (const uint32_t block : {64, 128, 256})
    for (uint32_t stages = 1; stages <= 8; ++stages)
      for (const auto& [m, n] : kTiles)
        out.push_back({.m = m, .n = n, .block = block, .stages = stages, .accumulators = 2, .persistent = true});
  return out;
}

/// What differs from `p` in one parameter.
inline std::vector<Point> changed(const Point& p) {
  std::vector<Point> out;
  for_each_change(p, [&](const Point& q) { out.push_back(q); });
  return out;
}

}  // namespace search
