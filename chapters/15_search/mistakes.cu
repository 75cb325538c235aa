// The search with a line wrong: mistakes.txt says which, and the build copies the functions of the search, changes that
// line, and includes them here. What the wrong search finds is compiled here, too, and run.
#include "chapters/15_search/mistakes.h"

#include <fmt/format.h>

#include "chapters/15_search/climb.h"
#include "chapters/15_search/run.h"
#include "chapters/15_search/template.cuh"

namespace search {
namespace {

// ---- The wrong winners, and the right ones that the program does not have yet

#define NAME four_large_stages
#define POINT .block = 256, .stages = 4, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME three_large_stages
#define POINT .block = 256, .stages = 3, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME two_large_accumulators
#define POINT .m = 512, .n = 256, .ctas = 2, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME one_large_accumulator
#define POINT .m = 512, .n = 256, .ctas = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#pragma nv_diag_suppress 186  // a loop over no spans
#define NAME no_span
#define POINT .m = 256, .block = 64, .stages = 6, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

#define NAME one_stage
#define POINT .m = 256, .stages = 1, .accumulators = 2, .persistent = true
#include "chapters/15_search/kernel.cuh"

constexpr Kernel kWrong[] = {{four_large_stages::kPoint, four_large_stages::run},
                             {three_large_stages::kPoint, three_large_stages::run},
                             {two_large_accumulators::kPoint, two_large_accumulators::run},
                             {one_large_accumulator::kPoint, one_large_accumulator::run},
                             {no_span::kPoint, no_span::run},
                             {one_stage::kPoint, one_stage::run}};

// ---- What the searches look at, and what is asked of their winners

constexpr Problem kProblem{4096, 2304, 512};

/// Step 6 with larger blocks, of every depth.
std::vector<Point> depths() {
  std::vector<Point> out;
  for (uint32_t stages = 1; stages <= 8; ++stages)
    out.push_back({.block = 256, .stages = stages, .accumulators = 2, .persistent = true});
  return out;
}

/// A pair's large tile, with one accumulator and with two.
std::vector<Point> accumulators() {
  std::vector<Point> out;
  for (const uint32_t n : {1, 2}) out.push_back({.m = 512, .n = 256, .ctas = 2, .accumulators = n, .persistent = true});
  return out;
}

/// Is every bit of a small product right?
bool right(const Point& p) { return compare({512, 512, 512}, p).equal(); }

/// Does the clock take it for about as fast as the kernel that the climb found?
gen5::harness::Verdict fast(const Point& p) {
  Clock clock({1024, 1024, 1024});
  clock.cycles(kWinner);
  const double its = clock.cycles(p), best = clock.cycles(kWinner);
  if (its < 1.15 * best) return true;
  return fmt::format("the clock gives {} {:.0f} cycles, and it should be about as fast as {} with {:.0f}", text(p), its,
                     text(kWinner), best);
}

#include "mistakes.inc"

}  // namespace

std::span<const Kernel> wrong_winners() { return kWrong; }

std::span<const gen5::harness::Mistake> mistakes() { return kMistakes; }

}  // namespace search
