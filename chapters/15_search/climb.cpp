#include "chapters/15_search/climb.h"

#include <algorithm>

#include "chapters/15_search/kernels.h"

namespace search {
namespace {

constexpr size_t kTries = 3;

/// Points one or two changes away.
std::vector<Point> around(const Point& p, int changes) {
  std::vector<Point> out = changed(p);
  if (changes == 1) return out;
  for (const Point& once : changed(p))
    for (const Point& twice : changed(once))
      if (!std::ranges::count(out, twice)) out.push_back(twice);
  return out;
}

/// The most promising that have not been tried. Of those that the tiny machine takes for equals, one is enough.
std::vector<Candidate> proposals(const Problem& problem, const Candidate& from, int changes,
                                 const std::vector<Point>& known) {
  std::vector<Candidate> out;
  Cycles last = 0;
  for (const Candidate& c : ranked(problem, around(from.point, changes))) {
    if (c.expected.cycles > from.expected.cycles - 1 || out.size() == kTries) break;
    if (c.expected.cycles < last + 1 || std::ranges::count(known, c.point)) continue;
    last = c.expected.cycles;
    out.push_back(c);
  }
  return out;
}

}  // namespace

std::vector<Step> climb(Clock& clock, const Problem& problem, const Point& start) {
  std::vector<Step> steps;
  std::vector<Point> known = {start};
  Candidate here{start, estimate(problem, start)};
  double cycles = clock.cycles(start);
  for (int changes = 1; changes <= 2;) {
    Step step{here, cycles, {}};
    for (const Candidate& c : proposals(problem, here, changes, known)) {
      known.push_back(c.point);
      const double took = kernel_of(c.point) ? clock.cycles(c.point) : 0;
      step.tried.push_back({c, took});
      if (took > 0 && took < cycles) {
        cycles = took;
        step.taken = int(step.tried.size()) - 1;
      }
    }
    if (step.taken >= 0) here = step.tried[size_t(step.taken)].candidate;
    changes = step.taken >= 0 ? 1 : changes + 1;
    if (!step.tried.empty()) steps.push_back(step);
  }
  return steps;
}

}  // namespace search
