// The search's levels: the rules, then the tiny machine on what is legal, then the best on tinygpu's clock (measure.h).
#pragma once
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "common/tinygpu/search/legality.h"
#include "common/tinygpu/search/model.h"

namespace tinygpu::search {

/// The points that a rule was the first to take out.
struct Pruned {
  const Rule* rule;
  uint64_t points = 0;
  Point example = {};
};

struct Ranked {
  Point point;
  Estimate estimate;
};

struct Ranking {
  uint64_t points = 0, legal = 0, estimated = 0;
  std::vector<Pruned> pruned;  // in the order of the rules, those that took none as well
  std::vector<Ranked> best;    // by estimated cycles; of those that the tiny machine cannot tell apart, one
  double seconds_rules = 0, seconds_estimates = 0;
};

struct RankOptions {
  uint32_t keep = 16;
  uint32_t jobs = 1;
  /// Now and then: points looked at, of how many.
  std::function<void(const char* what, uint64_t done, uint64_t of)> progress = {};
  /// Set from outside: ends with what there is.
  const std::atomic<bool>* stop = nullptr;
};

/// The best of all legal points. Points whose least time is above the best `keep` ones are not estimated; the result is
/// the same for any number of jobs.
Ranking rank(const Space& space, const MachineSpec& spec, const Problem& problem, const RankOptions& options);

/// `count` legal points at random, estimated, in the order of their estimates.
Ranking sample(const Space& space, const MachineSpec& spec, const Problem& problem, uint32_t count, uint64_t seed);

/// Why a point is not legal, or how fast it is, what limits it, and what single changes of it are faster.
std::string explain(const Space& space, const MachineSpec& spec, const Problem& problem, const Point& p);

/// Cycles in microseconds at the profile's highest clock.
double microseconds(const MachineSpec& spec, Cycles cycles);

}  // namespace tinygpu::search
