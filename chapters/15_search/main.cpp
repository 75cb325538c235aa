// Chapter 15: a search over kernels. A tiny machine says what a kernel takes before anything runs; rules say which
// points of a space are kernels at all; a climb goes from chapter 13's step 4 to a kernel that is faster than step 8.
//
//   scripts/run search                        all parts, on a product of 4096 × 2304 × 512
//   scripts/run search --part space           which kernels are possible, and which are slow, as a picture
//   scripts/run search --part climb --k 1024  the climb on another product
//
// Read tiny_machine.h, then product.h, rules.h and search.h; notes/15_search.md beside them.
#include "chapters/15_search/kernels.h"
#include "chapters/15_search/mistakes.h"
#include "chapters/15_search/parts.h"
#include "common/harness/chapter.h"

int main(int argc, char** argv) {
  using namespace search;
  tiny::Problem problem{4096, 2304, 512};
  gen5::harness::Chapter chapter(
      "15", "a search over kernels",
      "Rules say which kernels are possible, a tiny machine says which are fast and why, and a search climbs by "
      "itself. The clock and the bits have the last word.");
  chapter.number("--m", problem.m, 1, 1 << 14, "Rows of D");
  chapter.number("--n", problem.n, 4, 1 << 14, "Columns of D; a multiple of 4");
  chapter.number("--k", problem.k, 8, 1 << 14, "Columns of A and B; a multiple of 8");
  const auto part = [&](const char* name, const char* title, auto body) {
    chapter.part(name, title, [&problem, body](gen5::harness::Report& r) {
      check_sizes(problem);
      body(r, problem);
    });
  };
  part("machine", "A kernel on the tiny machine", part_machine);
  part("space", "Which kernels are possible, and which are slow", part_space);
  part("climb", "From step 4 to a kernel that is faster than step 8", part_climb);
  part("proof", "The winner's bits", part_proof);
  chapter.mistakes(mistakes());
  return chapter.run(argc, argv);
}
