#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "chapters/15_search/climb.h"
#include "chapters/15_search/kernels.h"
#include "chapters/15_search/parts.h"
#include "common/harness/device.h"

namespace search {

using namespace gen5::harness;

namespace {

std::string cycles_text(double cycles) { return cycles > 0 ? with_commas(uint64_t(cycles)) : "no kernel"; }

/// What the change is good for, as the tiny machine sees it: the cause of standing still that shrinks most.
std::string why(const Result& before, const Result& after) {
  const struct {
    const char* name;
    double before, after;
  } causes[] = {{"loads", before.lost[loads], after.lost[loads]},
                {"the epilogue", before.lost[epilogue], after.lost[epilogue]},
                {"begins and ends", Shares(before).ends * before.cycles, Shares(after).ends * after.cycles}};
  const auto* most = std::max_element(std::begin(causes), std::end(causes), [](const auto& a, const auto& b) {
    return a.before - a.after < b.before - b.after;
  });
  return fmt::format("{}: {} -> {}", most->name, with_commas(uint64_t(most->before)),
                     with_commas(uint64_t(std::max(0.0, most->after))));
}

bool default_product(const Problem& p) { return p.m == 4096 && p.n == 2304 && p.k == 512; }

}  // namespace

void part_climb(Report& r, const Problem& problem) {
  const Device device = current_device();
  const Point start = steps().front().point, step8 = steps().back().point;
  r.say(fmt::format(
      "The climb begins at chapter 13's step 4: {}. The tiny machine ranks all kernels that differ in one parameter, "
      "{} measures the first three, and the fastest is the next kernel. Where one change does not help, two are "
      "tried.",
      text(start), device.tinygpu ? "tinygpu's clock" : "this GPU"));
  Clock clock(problem);
  const std::vector<Step> way = climb(clock, problem, start);
  if (way.empty()) {
    r.say("For this product the tiny machine proposes nothing: step 4 is as fast as it gets.");
    return;
  }
  const double first = way.front().from_cycles;
  Table t({"", "", "changed", "cycles that the tensor core stands still", "expected", "clock"}, 4);
  t.row({"0", "start", "step 4", "", cycles_text(way.front().from.expected.cycles), cycles_text(first)});
  Point winner = start;
  double best = first;
  bool all_known = true, near = true;
  for (size_t number = 0; number < way.size(); ++number) {
    const Step& step = way[number];
    for (size_t i = 0; i < step.tried.size(); ++i) {
      const Tried& tried = step.tried[i];
      const bool taken = int(i) == step.taken;
      all_known &= tried.cycles > 0;
      near &= std::abs(tried.candidate.expected.cycles / tried.cycles - 1) < 0.25;
      t.row({i == 0 ? std::to_string(number + 1) : "", taken ? "taken" : "",
             text_of_change(step.from.point, tried.candidate.point), why(step.from.expected, tried.candidate.expected),
             cycles_text(tried.candidate.expected.cycles), cycles_text(tried.cycles)});
      if (taken) winner = tried.candidate.point, best = tried.cycles;
    }
  }
  r.table(t);
  const double eighth = clock.cycles(step8);
  r.say(fmt::format("The climb ends at {}: {} cycles, and step 8 takes {}. From step 4 it is a factor of {:.2f}.",
                    text(winner), with_commas(uint64_t(best)), with_commas(uint64_t(eighth)), first / best));
  if (!all_known)
    r.say(
        "\"no kernel\": the template was not compiled for this point. `gen5 search gemm --point` compiles and "
        "measures any.");
  if (device.tinygpu && default_product(problem)) {
    r.check("the climb ends faster than step 4, and than step 8", best < first && best < eighth);
    r.check("this program has every kernel that was tried", all_known);
    r.check("the tiny machine expects each within a quarter of the clock", near);
    r.check("the winner is the kernel that the proof runs", winner == kWinner, text(winner));
  }
  r.value("winner_cycles", best);
  r.value("step8_cycles", eighth);
  r.value("step4_cycles", first);
}

}  // namespace search
