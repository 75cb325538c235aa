#include <fmt/format.h>

#include "chapters/15_search/climb.h"
#include "chapters/15_search/parts.h"
#include "chapters/15_search/run.h"

namespace search {

using namespace gen5::harness;

void part_proof(Report& r, const tiny::Problem&) {
  r.say(fmt::format(
      "A kernel that is fast and wrong wins every search. So the winner for the chapter's product, {}, multiplies two "
      "products whose edges are ragged, and every bit of D is compared with chapter 05's fused sum. In the first the "
      "ring comes round; in the second there are more tiles than SMs, and CTAs take a second one. The tests run this "
      "part with effects late and shuffled, too.",
      text(kWinner)));
  for (const tiny::Problem p : {tiny::Problem{520, 264, 1096}, tiny::Problem{2600, 2060, 72}}) {
    const Comparison c = compare(p, kWinner);
    r.check(fmt::format("{} x {} x {}: every bit is the fused sum's", p.m, p.n, p.k), c.equal(),
            c.describe(Output::f32));
  }
}

}  // namespace search
