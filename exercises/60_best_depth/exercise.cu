// The best depth, by hand
//
// This is step 6 of chapter 13 on the tiny machine. The program prints the cycles of one block of K. Loads follow each
// other as fast as the slowest unit allows. Find by hand the fewest stages with which a load never waits for an empty
// stage, and write them down. The tiny machine then tries the deepest ring, which must not be faster, and a ring with
// one stage less, which must be slower.
#include <cstdio>

#include "chapters/15_search/product.h"
#include "exercises/exercise.h"

constexpr uint32_t kStages = 2;  // your number

/// Cycles of the product with a ring of so many stages, as the tiny machine expects them.
double expected(uint32_t stages) {
  return search::estimate({4096, 2304, 1024}, {.stages = stages, .accumulators = 2, .persistent = true}).cycles;
}

void judge() {
  // From the request of a block's load to the next one into the same stage: L2's share, its latency, a wake-up and a
  // wait, the multiplication, the commit's arrival, a wake-up and a wait.
  const tiny::Plan plan = search::plan_of({4096, 2304, 1024}, {.accumulators = 2, .persistent = true});
  std::printf("L2 %.0f, latency %.0f, multiplication %.0f, commit %.0f, wake-up %.0f, wait %.0f\n", plan.share_of_load,
              tiny::kLoadLatency + tiny::kFarther, plan.multiply, plan.commit, tiny::kWake, tiny::kWaitPasses);
  const double yours = expected(kStages);
  exercise::expect(yours < 1.01 * expected(16), "a deeper ring is faster");
  exercise::expect(expected(kStages - 1) > 1.01 * yours, "a ring with one stage less is as fast");
}
EXERCISE(judge);
