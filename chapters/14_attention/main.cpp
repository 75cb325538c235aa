// Chapter 14: flash attention for Blackwell's tensor core, climbed in seven steps.
//
//   scripts/run attention                 the last step, with its timeline: 37 heads, a pair of tiles for each SM
//   scripts/run attention --all           every step, what each bought, and what limited it
//   scripts/run attention --diff 3        what step 3 adds to step 2, in code
//   scripts/run attention --step 4 --causal --dim 64 --queries 700 --keys 900
//
// Each step stands in stepN_*.cu and adds one idea to the one before; attention.cuh holds what they share, pingpong.cuh
// the kernel of steps 4 to 7. Read them in order, notes/14_attention.md beside them.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "chapters/14_attention/attention.h"
#include "chapters/14_attention/diffs.h"
#include "chapters/14_attention/mistakes.h"
#include "chapters/14_attention/options.h"
#include "chapters/14_attention/timelines.h"
#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/in_report.h"
#include "common/harness/limit.h"
#include "common/harness/measure.h"
#include "common/harness/watch.h"
#include "common/layout/tile.h"

namespace {

using namespace gen5::harness;
using attention::Inputs;
using attention::Operands;
using attention::operations;
using attention::Step;

struct Options : attention::Options {
  uint32_t step = attention::kLastStep, diff = 0;
  bool all = false;
  std::string timeline = "on";
} options;

/// Dense bf16 operations of one SM in one cycle (probes/machines/b200.json, peak.f16).
constexpr double kPeak = 8192;

/// What a launch left behind.
struct Run {
  Elapsed elapsed;
  std::optional<Watched> watched;
  std::vector<uint16_t> o;
};

Run run_step(const Step& step, Operands& operands) {
  Run run;
  operands.o.fill(0xff);  // NaN wherever nothing is written
  std::optional<Watch> watch;
  if (options.timeline == "on" || options.all) watch.emplace();
  name_launches(fmt::format("step {}", step.number));
  run.elapsed = measure([&] { step.launch(operands.problem()); });
  if (watch) run.watched = watch->stop();
  run.o = operands.o.download();
  return run;
}

/// What a step has computed, as a row of the table. `rate`: the operations of an SM in a cycle, before and now.
std::vector<std::string> row_of(const Step& step, const Run& run, const Inputs& in, const Device& device,
                                double& rate) {
  using gen5::layout::ceil_div;
  const uint64_t units = uint64_t(ceil_div(in.queries, 128 * step.tiles)) * in.heads;
  const double cycles = run.elapsed.cycles;
  const double used = double(std::min<uint64_t>(units, uint64_t(device.sms)));
  const double now = operations(in) / (cycles * used), before = std::exchange(rate, now);
  return {fmt::format("{} {}", step.number, step.name),
          with_commas(units),
          with_commas(uint64_t(cycles)),
          fmt::format("{:.1f} %", 100 * operations(in) / (cycles * kPeak * device.sms)),
          fmt::format("{:.1f} %", 100 * now / kPeak),
          before > 0 ? fmt::format("x{:.2f}", now / before) : "-"};
}

void show_diff(Report& report) {
  const Step &from = attention::kSteps[options.diff - 2], &to = attention::kSteps[options.diff - 1];
  report.say(fmt::format("From step {}, {}, to step {}, {}: {}. Changes of white space alone are left out.",
                         from.number, from.name, to.number, to.name, to.idea));
  report.picture(attention::kDiffs[options.diff - 2]);
}

/// The step's arithmetic for the bound.
attention::Arithmetic arithmetic_of(const Step& step) {
  attention::Arithmetic a;
  if (step.number >= 5) a.slack = 8;
  return a;
}

void attention_part(Report& report) {
  if (options.diff) return show_diff(report);
  const Device device = current_device();
  Operands operands = options.operands(report);
  std::vector<std::string> head = {"step",           "units",       device.tinygpu ? "simulated cycles" : "cycles",
                                   "of chip's peak", "of SMs used", "gain"};
  if (options.all) head.insert(head.end(), {"limited by", "share"});
  Table table(head);
  std::string host;
  double rate = 0;
  const bool timeline = options.timeline == "on";
  std::optional<Watched> step_before;  // with --all it stands above anyway
  if (timeline && !options.all && options.step > 1)
    step_before = run_step(attention::kSteps[options.step - 2], operands).watched;
  bool drawn = false;
  for (const Step& step : attention::kSteps) {
    if (!options.all && step.number != int(options.step)) continue;
    report.say(fmt::format("Step {}, {}: {}.", step.number, step.name, step.idea));
    const Run run = run_step(step, operands);
    const Bound bound = attention::check_float64(operands.in, run.o, arithmetic_of(step));
    report.check("within the bound of float64", bound.outside == 0, bound.describe());
    report.say("");
    if (timeline && run.watched) {
      const Step* last = step_before ? &attention::kSteps[step.number - 2] : nullptr;
      attention::show_timeline(report, operands.in, step, *run.watched, last, step_before ? &*step_before : nullptr);
      drawn = true;
    }
    const double cycles = run.elapsed.cycles;
    std::vector<std::string> row = row_of(step, run, operands.in, device, rate);
    const nlohmann::json profile = run.watched ? run.watched->profile.at(0) : nlohmann::json::object();
    std::string limit = "-", share = "-";
    if (has_tensor_core_time(profile)) {
      TensorCoreTime time = tensor_core_time(profile);
      // The profile calls those who read Tensor Memory an epilogue: here they are softmax, and only at the end that.
      for (TensorCoreTime::Idle& i : time.idle)
        if (i.what == "epilogue") i.what = "softmax";
      limit = time.limit().what;
      share = fmt::format("{:.0f} %", 100 * time.limit().share);
      report.say(fmt::format("Where its time went: {}", time.sentence()));
    }
    if (options.all) row.insert(row.end(), {limit, share});
    table.row(row);
    host += fmt::format("{}{:.2f} s", host.empty() ? "" : ", ", run.elapsed.host_seconds);
    report.value(fmt::format("step{}.cycles", step.number), cycles);
    report.value(fmt::format("step{}.host_seconds", step.number), run.elapsed.host_seconds);
  }
  if (drawn) attention::show_legend(report);
  if (timeline && !drawn)
    report.say("No timeline: this chapter draws what tinygpu records, and a GPU records nothing.");
  report.table(table);
  report.say(fmt::format(
      "Host time of the kernel{}: {}. A unit is what a CTA works on at a time: a tile of 128 queries of a head, from "
      "step 4 on two of them. The peak is {} operations a cycle and SM, and what is masked does not count as an "
      "operation; the second share counts only SMs that had a unit, and the gain is that share's.",
      options.all ? "s" : "", host, int(kPeak)));
}

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("14", "flash attention in seven steps",
                  "Two products with a softmax between them, arranged so that the tensor core stays busy.");
  chapter.part("attention", "O = softmax(Q * K^T) * V", attention_part);
  chapter.mistakes(attention::mistakes());
  options.add_to(chapter);
  chapter.number("--step", options.step, 1, attention::kLastStep, "The step to run");
  chapter.flag("--all", options.all, "Run every step, and say what limited each");
  chapter.number("--diff", options.diff, 2, attention::kLastStep,
                 "Run nothing: print what this step adds to the one before");
  chapter.choice("--timeline", options.timeline, {"on", "off"}, "Draw what one SM did");
  return chapter.run(argc, argv);
}
