// Parts of a problem whose times on tinygpu's clock tell that of the whole. In the steady state a wave of CTAs takes as
// long as the one before, and a block of K or of keys as long as the one before. So a few waves of a shallow problem
// are run instead of all.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/search/space.h"

namespace tinygpu::search {

struct Sample {
  Problem problem;
  uint32_t most = 0;  // tiles, or pieces of work, that are done; 0: all
  double weight = 1;
};

struct Sampling {
  /// The whole's cycles are the sum of theirs, each times its weight. Empty: it does not apply.
  std::vector<Sample> runs;
  std::string why;  // it does not
  /// What has to be the same for it: a block's cycles in the first wave and in those behind it, each a sum of the runs'
  /// with these weights, or in one wave and `pace`. Empty where nothing can be compared.
  std::vector<double> one, other;
  double pace = 0;
  bool steady(const std::vector<double>& cycles) const;
  double whole(const std::vector<double>& cycles) const;
};

/// Waves are alike where their blocks' cycles differ by so much, as a part.
constexpr double kSteady = 0.01;

Sampling sampling(const MachineSpec& spec, Template t, const Problem& problem, const Point& p);

}  // namespace tinygpu::search
