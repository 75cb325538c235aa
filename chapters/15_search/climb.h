// The climb: from a kernel to a faster one, again and again, until nothing that the tiny machine proposes is faster.
#pragma once
#include <string>
#include <vector>

#include "chapters/15_search/run.h"
#include "chapters/15_search/search.h"

namespace search {

/// What the climb reaches for the chapter's product on tinygpu's B200.
inline constexpr Point kWinner{.m = 256, .n = 128, .accumulators = 2, .persistent = true};

struct Tried {
  Candidate candidate;
  double cycles;  // by the clock; 0: the program has no such kernel
};

/// One step: what was tried, and which of it was taken.
struct Step {
  Candidate from;
  double from_cycles;
  std::vector<Tried> tried;
  int taken = -1;
};

/// The tiny machine ranks what differs from the kernel in one parameter, or in two where one does not help, and the
/// clock measures the first three. The fastest of them is the next kernel.
std::vector<Step> climb(Clock& clock, const Problem& problem, const Point& start);

}  // namespace search
