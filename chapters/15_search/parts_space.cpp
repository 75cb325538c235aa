#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "chapters/15_search/parts.h"
#include "chapters/15_search/search.h"

namespace search {

using namespace gen5::harness;

namespace {

/// What a cell of the picture shows of a kernel: how much slower than the best, and what limits it.
std::string cell(const Result& r, Cycles best) {
  const double slower = 100 * (r.cycles / best - 1);
  return slower < 0.5 ? "best" : fmt::format("{:.0f}{}", slower, Shares(r).limit());
}

}  // namespace

void part_space(Report& r, const Problem& problem) {
  const std::vector<Point> points = three_parameters();
  const std::vector<Candidate> kernels = ranked(problem, points);
  const Candidate& best = kernels.front();
  r.say(fmt::format(
      "A space of three parameters: the tile, the bytes of a row in a block of K, and the stages of the ring. That "
      "is {} points. CTAs stay, have two accumulators, and a swizzle of 128 bytes. A dot and a letter: the point is "
      "no kernel, by the rule of that letter. A number: the kernel is so many percent slower than the best. The "
      "letter behind it says what the tensor core waits for: l loads, e the epilogue, b begins and ends; t: the "
      "tensor core itself.",
      points.size()));
  std::string picture;
  for (const uint32_t block : {64, 128, 256}) {
    picture += fmt::format("  block of {} bytes\n  {:>8}", block, "stages");
    for (const Tile t : kTiles) picture += fmt::format("{:>9}", fmt::format("{}x{}", t.m, t.n));
    picture += "\n";
    for (uint32_t stages = 1; stages <= 8; ++stages) {
      picture += fmt::format("  {:>8}", stages);
      for (const Point& p : points) {
        if (p.block != block || p.stages != stages) continue;
        const auto rule = broken(p);
        picture += fmt::format(
            "{:>9}", rule ? fmt::format(".{}", rule->letter) : cell(estimate(problem, p), best.expected.cycles));
      }
      picture += "\n";
    }
    picture += "\n";
  }
  r.picture(picture);
  struct Dead {
    Broken rule;
    int points = 0;
  };
  std::map<char, Dead> dead;
  for (const Point& p : points)
    if (const auto rule = broken(p)) ++dead.try_emplace(rule->letter, Dead{*rule}).first->second.points;
  Table t({"", "rule", "diagnosis", "an example", "points"}, 4);
  for (const auto& [letter, d] : dead)
    t.row({std::string(1, letter), d.rule.rule, d.rule.diagnosis, d.rule.why, std::to_string(d.points)});
  r.table(t);
  r.say(fmt::format("{} of {} points are kernels. The best by the tiny machine: {}, {} cycles. It is limited by {}.",
                    kernels.size(), points.size(), text(best.point), with_commas(uint64_t(best.expected.cycles)),
                    name_of_limit(Shares(best.expected).limit())));
  bool deeper = true;
  for (const Candidate& c : kernels) {
    Point next = c.point;
    ++next.stages;
    if (!broken(next)) deeper &= estimate(problem, next).cycles <= c.expected.cycles + 1;
  }
  r.check("a deeper ring is never expected to be slower", deeper);
  r.value("kernels", double(kernels.size()));
  r.value("best_cycles", best.expected.cycles);
}

}  // namespace search
