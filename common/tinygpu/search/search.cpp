#include "common/tinygpu/search/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <span>
#include <thread>
#include <tuple>

namespace tinygpu::search {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point t) { return std::chrono::duration<double>(Clock::now() - t).count(); }

struct Candidate {
  float least;
  uint32_t index;
};

/// The legal points by their least time, and what the rules took out.
std::vector<Candidate> legal_points(const Space& space, const Legal& legal, const Model& model, Ranking& ranking,
                                    const RankOptions& options) {
  const std::vector<const Rule*> all = rules(space.kind());
  for (const Rule* r : all) ranking.pruned.push_back({r});
  std::vector<Candidate> out;
  const uint64_t size = space.size();
  space.for_each([&](uint64_t index, const Point& p) {
    ++ranking.points;
    if (options.progress && index % (1 << 20) == 0) options.progress("rules", index, size);
    const Rule* rule = broken(all, legal, p);
    if (!rule) {
      ++ranking.legal;
      out.push_back({float(model.least(p)), uint32_t(index)});
      return;
    }
    Pruned& pruned =
        *std::find_if(ranking.pruned.begin(), ranking.pruned.end(), [&](const Pruned& x) { return x.rule == rule; });
    if (pruned.points++ == 0) pruned.example = p;
  });
  return out;
}

/// By cycles. Of equals, what can only help on a chip comes first: wider swizzles, more stages, higher bands; then what
/// comes first in the space.
struct Found {
  Estimate estimate;
  Point point;
  uint32_t index;
  friend bool operator<(const Found& a, const Found& b) {
    const auto key = [](const Found& f) {
      return std::tuple(f.estimate.cycles, -int(f.point.span), -int(f.point.stages), -int(f.point.band), f.index);
    };
    return key(a) < key(b);
  }
  /// To the tiny machine they are one kernel.
  bool same(const Found& other) const {
    Point p = other.point;
    p.span = point.span;
    p.stages = point.stages;
    p.band = point.band;
    return p == point && estimate.cycles == other.estimate.cycles;
  }
};

std::vector<Found> estimate_all(const Space& space, const Model& model, std::span<const Candidate> part,
                                uint32_t jobs) {
  std::vector<Found> out(part.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < part.size();) {
      const Point p = space[part[i].index];
      out[i] = {model.estimate(p), p, part[i].index};
    }
  };
  std::vector<std::thread> threads;
  for (uint32_t j = 1; j < jobs; ++j) threads.emplace_back(work);
  work();
  for (std::thread& t : threads) t.join();
  return out;
}

/// One of those that are the same.
void keep_best(std::vector<Found>& found, size_t keep) {
  std::sort(found.begin(), found.end());
  std::vector<Found> kept;
  for (const Found& f : found) {
    if (kept.size() == keep) break;
    if (std::none_of(kept.begin(), kept.end(), [&](const Found& other) { return f.same(other); })) kept.push_back(f);
  }
  found = std::move(kept);
}

void move_to(Ranking& ranking, const std::vector<Found>& found) {
  for (const Found& f : found) ranking.best.push_back({f.point, f.estimate});
}

}  // namespace

double microseconds(const MachineSpec& spec, Cycles cycles) { return cycles / spec.clock_ghz * 1e-3; }

Ranking rank(const Space& space, const MachineSpec& spec, const Problem& problem, const RankOptions& options) {
  Ranking ranking;
  const std::unique_ptr<Model> model = make_model(spec, problem);
  Clock::time_point begin = Clock::now();
  std::vector<Candidate> candidates = legal_points(space, {spec, space.kind(), problem}, *model, ranking, options);
  std::sort(candidates.begin(), candidates.end(), [](const Candidate& a, const Candidate& b) {
    return a.least != b.least ? a.least < b.least : a.index < b.index;
  });
  ranking.seconds_rules = since(begin);
  begin = Clock::now();
  // In parts of one size, whatever the number of jobs, so that the same points are estimated.
  constexpr size_t kPart = 1024;
  std::vector<Found> best;
  for (size_t at = 0; at < candidates.size(); at += kPart) {
    if (options.stop && *options.stop) break;
    if (best.size() == options.keep && candidates[at].least > best.back().estimate.cycles) break;
    const std::span<const Candidate> part(candidates.data() + at, std::min(kPart, candidates.size() - at));
    for (const Found& f : estimate_all(space, *model, part, options.jobs)) best.push_back(f);
    keep_best(best, options.keep);
    ranking.estimated += part.size();
    if (options.progress) options.progress("tiny machine", at + part.size(), candidates.size());
  }
  move_to(ranking, best);
  ranking.seconds_estimates = since(begin);
  return ranking;
}

Ranking sample(const Space& space, const MachineSpec& spec, const Problem& problem, uint32_t count, uint64_t seed) {
  Ranking ranking;
  const std::unique_ptr<Model> model = make_model(spec, problem);
  std::vector<Candidate> candidates = legal_points(space, {spec, space.kind(), problem}, *model, ranking, {});
  std::mt19937_64 random(seed);
  for (size_t i = 0; i < std::min<size_t>(count, candidates.size()); ++i)
    std::swap(candidates[i], candidates[i + random() % (candidates.size() - i)]);
  candidates.resize(std::min<size_t>(count, candidates.size()));
  std::vector<Found> found = estimate_all(space, *model, candidates, 1);
  std::sort(found.begin(), found.end());
  ranking.estimated = found.size();
  move_to(ranking, found);
  return ranking;
}

std::string explain(const Space& space, const MachineSpec& spec, const Problem& problem, const Point& p) {
  const Legal legal{spec, space.kind(), problem};
  const std::vector<const Rule*> all = rules(space.kind());
  std::string out = space.text(p) + "\n";
  bool is_legal = true;
  for (const Rule* r : all)
    if (r->breaks(legal, p)) {
      is_legal = false;
      out += fmt::format("not legal: {}: {}\n  {}\n", r->name, r->why(legal, p), sentence(*r));
      if (r->code) out += fmt::format("  gen5 explain {}\n", r->code);
    }
  const std::unique_ptr<Model> model = make_model(spec, problem);
  const auto line = [&](const Estimate& e) {
    return fmt::format("{:.0f} cycles, {:.1f} us at {} GHz", e.cycles, microseconds(spec, e.cycles), spec.clock_ghz);
  };
  Estimate here;
  if (is_legal) {
    here = model->estimate(p);
    out += fmt::format(
        "legal; the tiny machine: {}\nlimited by: {}; the tensor core works {:.0f} % of the time, waits "
        "for loads {:.0f} %, for the epilogue {:.0f} %\n{} wave{} of {} cluster{}\n",
        line(here), here.limit, 100 * here.tensor, 100 * here.loads, 100 * here.epilogue, here.waves,
        here.waves == 1 ? "" : "s", here.clusters * here.slots, here.clusters * here.slots == 1 ? "" : "s");
  }
  // Every single change.
  struct Change {
    std::string text;
    Estimate estimate;
  };
  std::vector<Change> changes;
  for (const Parameter& parameter : space.parameters())
    for (const Parameter::Value& v : parameter.values) {
      Point other = p;
      parameter.set(other, v);
      if (other == p || broken(all, legal, other)) continue;
      changes.push_back({fmt::format("{}={}", parameter.name, v.text), model->estimate(other)});
    }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.estimate.cycles < b.estimate.cycles; });
  if (is_legal) std::erase_if(changes, [&](const Change& c) { return c.estimate.cycles >= here.cycles; });
  if (changes.empty()) {
    out += is_legal ? "no single change is faster\n" : "no single change makes it legal\n";
    return out;
  }
  out += is_legal ? "faster with one change:\n" : "legal with one change:\n";
  for (size_t i = 0; i < std::min<size_t>(changes.size(), 6); ++i)
    out += fmt::format("  {:<26} {}; limited by {}\n", changes[i].text, line(changes[i].estimate),
                       changes[i].estimate.limit);
  return out;
}

}  // namespace tinygpu::search
