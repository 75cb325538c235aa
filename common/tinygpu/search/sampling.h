// Parts of a problem whose times on tinygpu's clock tell that of the whole. In the steady state a wave of CTAs takes as
// long as the one before, and a block of K or of keys as long as the one before. So a shallow problem is run instead of
// a deep one, and of many waves a few.
#pragma once
#include <string>
#include <vector>

#include "common/tinygpu/search/space.h"
#include "common/tinygpu/search/stretch.h"

namespace tinygpu::search {

struct Sample {
  Problem problem;
  uint32_t most = 0;  // tiles, or pieces of work, that are done; 0: all
  double weight = 1;
  Stretch stretch = {};  // of products, by which the run's cycles become those of all blocks of K
};

struct Sampling {
  /// The whole's cycles are the sum of theirs, each times its weight. Empty: it does not apply.
  std::vector<Sample> runs;
  std::string why;  // it does not
  /// `cycles`: of each run, with all blocks of K.
  double whole(const std::vector<double>& cycles) const;
};

Sampling sampling(const MachineSpec& spec, Template t, const Problem& problem, const Point& p);

}  // namespace tinygpu::search
