#include <fmt/format.h>

#include "chapters/15_search/parts.h"
#include "common/harness/timeline.h"

namespace search {

using namespace gen5::harness;

namespace {

/// Units as lanes; the digit is the tile that a unit works for.
Picture picture_of(const Plan& plan, const Result& r, const std::string& title) {
  Picture p{title, {}};
  const struct {
    Unit unit;
    const char* name;
    size_t spans_of_a_tile;
  } lanes[] = {
      {tma, "TMA loads", plan.blocks}, {tensor_core, "tensor core", plan.blocks}, {stores, "TMA stores", plan.boxes}};
  for (const auto& lane : lanes) {
    Lane l{lane.name, {}};
    for (const Result::Span& s : r.spans)
      if (s.unit == lane.unit)
        l.spans.push_back({uint64_t(s.from), uint64_t(s.to), digit(l.spans.size() / lane.spans_of_a_tile)});
    p.lanes.push_back(l);
  }
  return p;
}

}  // namespace

void part_machine(Report& r, const Problem& problem) {
  Point one{.persistent = true}, two = one;
  two.accumulators = 2;
  const Plan plan = plan_of(problem, one);
  r.say(fmt::format(
      "The product is {} x {} x {}, bf16 in, f32 out. The kernel is chapter 13's step 5: {}. An SM has {} tile{} of "
      "{} block{} of K. The tiny machine needs ten instructions for its three roles. For this kernel each takes:",
      problem.m, problem.n, problem.k, text(one), plan.tiles, plan.tiles == 1 ? "" : "s", plan.blocks,
      plan.blocks == 1 ? "" : "s"));
  Table t({"role", "instruction", "unit", "cycles of the unit", "until it is seen"}, 3);
  const auto cycles = [](Cycles c) { return fmt::format("{:.0f}", c); };
  t.row({"all", "begin_cta", "-", "-", cycles(kAllocate)});
  t.row({"all", "wait", "-", "-", cycles(kWake)});
  t.row({"producer", "load_tile", "TMA", cycles(one.stage_bytes() / kLoadBytes), cycles(kLoadLatency + kFarther)});
  t.row({"producer", "", "L2, with all SMs", cycles(plan.share_of_load), ""});
  t.row({"MMA", "mma_tile", "tensor core", cycles(plan.multiply), "-"});
  t.row({"MMA", "commit", "tensor core", "0", cycles(plan.commit)});
  t.row({"epilogue", "load_accumulator", "Tensor Memory", cycles(kBoxColumns * kReadColumn), cycles(kReadLatency)});
  t.row({"epilogue", "stage_tile", "shared memory", cycles(plan.box_bytes / kSharedBytes), cycles(kFence)});
  t.row({"epilogue", "store_tile", "TMA stores", cycles(std::max(plan.box_bytes / kStoreBytes, plan.share_of_store)),
         cycles(kStoreLatency)});
  t.row({"epilogue", "arrive", "-", "-", cycles(kArrive)});
  t.row({"epilogue", "end_cta", "-", "-", cycles(kNextCta)});
  r.table(t);
  const Result with_one = estimate(problem, one), with_two = estimate(problem, two);
  r.say(
      "All roles run side by side, and each instruction begins when its role and its units are free. So a timeline "
      "comes out, here with one accumulator and with two. A digit is the tile:");
  r.picture(draw({picture_of(plan, with_one, "One accumulator, step 5:"),
                  picture_of(plan_of(problem, two), with_two, "Two accumulators, step 6:")}));
  Table limits(
      {"accumulators", "cycles", "tensor core works", "waits for loads", "for the epilogue", "begins and ends"});
  for (const auto& [p, result] : {std::pair(one, with_one), std::pair(two, with_two)}) {
    const Shares s(result);
    const auto percent = [](double x) { return fmt::format("{:.0f} %", 100 * x); };
    limits.row({std::to_string(p.accumulators), with_commas(uint64_t(result.cycles)), percent(s.tensor),
                percent(s.loads), percent(s.epilogue), percent(s.ends)});
  }
  r.table(limits);
  if (plan.tiles > 1) r.check("the second accumulator is expected to help", with_two.cycles < with_one.cycles);
  r.value("one_accumulator", with_one.cycles);
  r.value("two_accumulators", with_two.cycles);
}

}  // namespace search
