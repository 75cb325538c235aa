// Chapter 16: a whole layer of a Llama-like model in one kernel, climbed in six steps.
//
//   scripts/run megakernel                    the last step at a small size, with its timeline beside the step before
//   scripts/run megakernel --all              every step, and what limited it
//   scripts/run megakernel --diff 4           what step 4 adds to step 3, in code
//   scripts/run megakernel --plan             the tasks of an operation, and what three schedules are expected to take
//   scripts/run megakernel --prefill 256      256 tokens of one sequence at once
//   scripts/run megakernel --size 1b --timing-only --all
//
// 16_megakernel is for Blackwell, 16_megakernel_hopper for Hopper (hopper/): target.h has what they differ in.
//
// Each step stands in stepN_*.cu: where a CTA's tasks come from. What a CTA does with them is in roles.cuh (loads and
// products) and epilogue.cuh (the rest), and is the same in all steps. plan.cpp makes the tasks. Read layer.h first,
// notes/16_megakernel.md beside it.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "chapters/16_megakernel/diffs.h"
#include "chapters/16_megakernel/mistakes.h"
#include "chapters/16_megakernel/model.h"
#include "chapters/16_megakernel/reference.h"
#include "chapters/16_megakernel/task_timeline.h"
#include "chapters/16_megakernel/times.h"
#include "common/harness/chapter.h"
#include "common/harness/measure.h"

namespace {

using namespace gen5::harness;
using namespace megakernel;

struct Options {
  uint32_t step = 0, diff = 0, batch = 0, cache = 0, layers = 0, intermediate = 0, ctas = 0, prefill = 0;
  bool all = false, plan = false, timing_only = false, no_notes = false, phases = false;
  std::string size = "small", dim = "64", schedule = "critical", graph = "layer", timeline = "on";
} options;

constexpr Sizes k1b{2048, 32, 8, 64, 8192, 1, 512, 16}, k8b{4096, 32, 8, 128, 14336, 1, 512, 4};

Sizes chosen_sizes() {
  Sizes s;
  s.dim = options.dim == "128" ? 128 : 64;
  if (options.size == "1b") s = k1b;
  if (options.size == "8b") s = k8b;
  s.prefill = options.prefill;
  s.batch = options.batch ? options.batch : s.prefill ? 1 : 4;
  if (options.cache || s.prefill) s.cache = options.cache;
  if (options.layers) s.layers = options.layers;
  if (options.intermediate) s.intermediate = options.intermediate;
  return s;
}

/// The chosen graph: the layer's, or what becomes of it when a line is wrong.
Graph chosen_graph(const Sizes& sizes) {
  Graph g = decoder(sizes, kTarget.tiling(sizes).norms_apart);
  for (Operation& o : g.operations) {
    if (options.graph == "cycle" && &o == &g.operations[0]) o.reads = {"h0"};
    if (options.graph == "orphan" && o.op == Op::gate_up) o.reads = {"z0"};
  }
  return g;
}

/// `gen5 run --timing-only`: the clock runs, and nothing is computed.
bool timing_alone(const Device& device) {
  const char* set = std::getenv("GEN5_TIMING_ONLY");
  return device.tinygpu && set && std::string(set) != "0";
}

std::vector<Step> all_steps() {
  std::vector<Step> steps(std::begin(kSteps), std::end(kSteps));
  if (kTarget.marked) steps.push_back(*kTarget.marked);
  return steps;
}

/// The steps that take so many sequences, or a prefill.
std::vector<Step> steps_for(const Sizes& sizes) {
  std::vector<Step> steps = all_steps();
  std::erase_if(steps,
                [&](const Step& s) { return sizes.prefill ? s.pairs || s.marked : s.marked && sizes.batch > 1; });
  if (!options.step) options.step = std::min(kLastStep, int(steps.size()));
  if (options.step <= steps.size()) return steps;
  if (!sizes.prefill) throw Unusable(fmt::format("Step {} takes one sequence: try --batch 1.", options.step));
  throw Unusable(fmt::format(
      "Step {} decodes, and takes no prefill: a tile of tokens wants a CTA's whole SM, and has too many numbers for "
      "marked words. Steps 1 to {} take one.",
      options.step, steps.size()));
}

void show_diff(Report& report) {
  const std::vector<Step> steps = all_steps();
  const Step &from = steps[options.diff - 2], &to = steps[options.diff - 1];
  report.say(fmt::format("From step {}, {}, to step {}, {}: {}. Changes of white space alone are left out.",
                         from.number, from.name, to.number, to.name, to.idea));
  report.picture(kDiffs[options.diff - 2]);
}

uint64_t bytes_of(const Plan& plan) {
  uint64_t all = 0;
  for (const uint64_t b : plan.bytes) all += b;
  return all;
}

/// Cycles that the layers need at least, at two rates of the device.
struct Roofline {
  double memory, products;

  Roofline(const Plan& plan, const Machine& machine)
      : memory(double(bytes_of(plan)) / machine.bytes_per_cycle),
        products(plan.flops / (machine.tensor_flops * machine.sms)) {}
  double cycles() const { return std::max(memory, products); }
  std::string sentence(const Sizes& sizes, const Plan& plan, const Machine& machine) const {
    std::string said = fmt::format(
        "{:.1f} MB of weights and cache are read. Device memory's rate is that of the device's attributes, {:.0f} "
        "bytes a cycle: at it they would take {} cycles.",
        double(bytes_of(plan)) / 1e6, machine.bytes_per_cycle, with_commas(uint64_t(memory)));
    if (sizes.prefill)
      said += fmt::format(
          " The projections of {} tokens are {:.2f} GFLOP for tensor cores, which do {:.0f} a cycle on an SM: {} "
          "cycles. So {} the "
          "roof.",
          sizes.prefill, plan.flops / 1e9, machine.tensor_flops, with_commas(uint64_t(products)),
          products > memory ? "products are" : "memory is");
    return said;
  }
};

/// Tasks dealt out to the CTAs that stay: one an SM, if nothing else is wanted; `pairs`: two.
Schedule chosen_schedule(const Plan& plan, const Machine& machine, bool pairs) {
  const uint32_t ctas = options.ctas ? options.ctas : machine.sms;
  if (ctas > machine.sms)
    throw Unusable(
        fmt::format("{} CTAs cannot all be on a chip of {} SMs: one that is there would wait for the tasks of one that "
                    "has no room to start.",
                    ctas, machine.sms));
  if (options.schedule == "in-order" && !pairs) return in_order(plan, ctas);
  return critical_path_first(plan, ctas, pairs ? ctas : 0);
}

/// What the compiler has made: an operation a row.
void show_plan(Report& report, const Plan& plan, const Sizes& sizes, const Machine& machine) {
  Table t({"operation", "tasks", "parts of a tile", "pages", "counters of its first task", "raises",
           "KiB of weights or cache"});
  for (size_t i = 0; i < plan.grids.size() / sizes.layers; ++i) {
    const Grid& g = plan.grids[i];
    const Task &first = plan.tasks[g.first], &last = plan.tasks[g.first + g.count - 1];
    uint64_t bytes = 0;
    for (uint32_t k = g.first; k < g.first + g.count; ++k) bytes += plan.bytes[k];
    t.row({plan.names[i], with_commas(g.count), std::to_string(first.parts), std::to_string(first.pages),
           first.waits
               ? fmt::format("{} to {} = {}", first.wait_first, first.wait_first + first.waits - 1, first.wait_for)
               : "none",
           first.raises == last.raises ? std::to_string(first.raises)
                                       : fmt::format("{} to {}", first.raises, last.raises),
           with_commas(bytes / 1024)});
  }
  report.table(t);
  const auto whole = [](double cycles) { return with_commas(uint64_t(cycles)); };
  report.say(fmt::format(
      "In all {} tasks, {} counters. By the device's attributes its memory brings {} bytes a cycle to {} SMs; a task "
      "is taken to last its bytes' share of that and {} cycles. So the layers should take {} cycles dealt out in "
      "order, {} with the critical path first, and at least {} for the bytes alone.",
      with_commas(plan.tasks.size()), plan.counters, whole(machine.bytes_per_cycle), machine.sms, whole(machine.hop),
      whole(in_order(plan, machine.sms).cycles), whole(critical_path_first(plan, machine.sms).cycles),
      whole(double(bytes_of(plan)) / machine.bytes_per_cycle)));
  if (sizes.prefill) report.say(Roofline(plan, machine).sentence(sizes, plan, machine));
}

/// A step's run.
struct Run {
  Elapsed elapsed;
  std::optional<Results> results;
  std::vector<Ran> ran;
};

Run run_step(const Step& step, DeviceModel& model, bool timing) {
  Run run;
  model.clear();
  name_launches(fmt::format("step {}", step.number));
  run.elapsed = measure([&] { model.launch(step); });
  if (!timing) run.results = model.results();
  if (options.no_notes) return run;
  model.launch(step, true);
  GEN5_CUDA(cudaDeviceSynchronize());
  run.ran = model.ran();
  return run;
}

void layer_part(Report& report) {
  if (options.diff) return show_diff(report);
  if (options.timing_only) setenv("GEN5_TIMING_ONLY", "1", 1);  // tinygpu reads it at the first launch
  const Device device = current_device();
  const Sizes sizes = chosen_sizes();
  const std::vector<Step> steps = steps_for(sizes);
  const Machine machine = current_machine();
  const bool timing = timing_alone(device);
  std::optional<Plan> compiled;
  try {
    compiled = compile(chosen_graph(sizes), sizes, kTarget.tiling(sizes), machine);
  } catch (const PlanError& e) {
    throw Unusable(e.what());
  }
  const Plan& plan = *compiled;
  report.say(
      fmt::format("{} layer{} of hidden {}, {} heads of {} ({} kv heads), intermediate {}; {} with {} keys in "
                  "the cache.",
                  sizes.layers, sizes.layers == 1 ? "" : "s", sizes.hidden, sizes.heads, sizes.dim, sizes.kv_heads,
                  sizes.intermediate,
                  sizes.prefill ? fmt::format("a prefill of {} tokens", sizes.prefill)
                                : fmt::format("{} sequence{}", sizes.batch, sizes.batch == 1 ? "" : "s"),
                  sizes.cache));
  if (options.plan) return show_plan(report, plan, sizes, machine);

  std::optional<Weights> weights;
  if (!timing) weights = make_weights(sizes, 1);
  const Schedule dealt = chosen_schedule(plan, machine, false), pairs = chosen_schedule(plan, machine, true);
  DeviceModel model(sizes, plan, dealt, pairs, weights ? &*weights : nullptr);
  if (timing) report.say("Timing alone: nothing is computed, so that nothing is checked.");

  const Roofline roofline(plan, machine);
  Table table({"step", "launches", device.tinygpu ? "simulated cycles" : "cycles", "us",
               sizes.prefill ? "of the roofline" : "of memory's rate", "of SMs' time", "gain", "limited by"});
  std::optional<Results> first;
  double before = 0;
  std::vector<Picture> pictures;
  const auto run_and_show = [&](const Step& step, bool only_picture) {
    const Run run = run_step(step, model, timing);
    const bool noted = !run.ran.empty();
    const CriticalPath path = noted ? critical_path(plan, run.ran, device) : CriticalPath{};
    if (noted && options.timeline == "on")
      pictures.push_back(
          picture_of(fmt::format("Step {}, {}:", step.number, step.name), plan, run.ran, path, device, 8));
    if (only_picture) return;
    if (noted)
      show_in_report(task_timeline(fmt::format("Tasks of step {}, by SM", step.number), plan, run.ran, path, device));
    report.say(fmt::format("Step {}, {}: {}.", step.number, step.name, step.idea));
    if (run.results) {
      if (!first) {
        for (const Checked& c : check_float64(sizes, plan, *weights, *run.results))
          report.check(c.operation + " within the bound of float64", c.bound.outside == 0, c.bound.describe());
        report.value("distance", distance_to_exact(sizes, *weights, *run.results));
        report.say(
            fmt::format("The last x lies {:.2g} of its size from what float64 makes of the whole stack without "
                        "rounding anything in between.",
                        distance_to_exact(sizes, *weights, *run.results)));
        first = run.results;
      } else {
        report.check("every bit is step 1's", *run.results == *first);
      }
    }
    if (noted) report.say(fmt::format("Along the critical path: {}", path.sentence()));
    if (noted && kTarget.quiet && step.dealt && !step.marked) {
      const uint32_t early = loaded_early(step.pairs ? pairs : dealt, run.ran);
      report.check("no load behind a quiet task until it has raised its counter", early == 0,
                   fmt::format("{} tasks loaded early", early));
    }
    if (noted && options.phases) report.table(phases(plan, run.ran, path, device));
    const double cycles = run.elapsed.cycles;
    table.row({fmt::format("{} {}", step.number, step.name), std::to_string(step.counters ? 1 : plan.grids.size()),
               with_commas(uint64_t(cycles)), fmt::format("{:.1f}", run.elapsed.microseconds),
               fmt::format("{:.0f} %", 100 * (sizes.prefill ? roofline.cycles() : roofline.memory) / cycles),
               noted ? fmt::format("{:.0f} %", 100 * busy_share(run.ran, machine.sms)) : "-",
               before > 0 ? fmt::format("x{:.2f}", before / cycles) : "-", noted ? path.limit() : "-"});
    before = cycles;
    report.value(fmt::format("step{}.cycles", step.number), cycles);
    report.value(fmt::format("step{}.host_seconds", step.number), run.elapsed.host_seconds);
    if (noted) report.value(fmt::format("step{}.hand_over", step.number), path.hand_over);
  };
  report.value("roofline.cycles", sizes.prefill ? roofline.cycles() : roofline.memory);
  // Every bit is compared with step 1's.
  for (const Step& step : steps) {
    const bool chosen = options.all || step.number == int(options.step);
    if (!chosen && !(step.number == 1 && !timing) &&
        !(step.number + 1 == int(options.step) && options.timeline == "on"))
      continue;
    run_and_show(step, !chosen && step.number != 1);
    if (!chosen && step.number == 1 && options.step != 2 && !pictures.empty()) pictures.pop_back();
  }
  if (!pictures.empty()) {
    report.picture(draw(pictures));
    report.say(fmt::format("What to see in step {}: {}", options.step, steps[options.step - 1].look));
    report.say(kLegend);
  }
  report.table(table);
  report.say(roofline.sentence(sizes, plan, machine) +
             " SMs' time: the share in which an SM had a task whose inputs were there.");
}

}  // namespace

int main(int argc, char** argv) {
  options.schedule = kTarget.in_turns ? "in-order" : "critical";
  // Where there is no such GPU, on the machine model of one.
  setenv("GEN5_MACHINE", kTarget.machine, 0);
  Chapter chapter("16", kTarget.title,
                  "Operations become tasks, tasks wait for counters, and pages of weights pass from task to task.");
  chapter.part("layer", "A decoder layer", layer_part);
  chapter.mistakes(megakernel::mistakes());
  chapter.choice("--size", options.size, {"small", "1b", "8b"},
                 "The model: for the suite, or like one of 1 or 8 billion");
  chapter.number("--batch", options.batch, 1, 1024, "Sequences that are decoded at a time (default: 4)");
  chapter.number("--prefill", options.prefill, 1, 65536,
                 "Instead of decoding: so many tokens of one sequence at once, by steps 1 to 5");
  chapter.number("--cache", options.cache, 1, 65536,
                 "Keys of each sequence that are in the cache already (a prefill's default: none)");
  chapter.number("--layers", options.layers, 1, 128, "Layers of the stack (small: 1, 1b: 16, 8b: 4)");
  chapter.number("--intermediate", options.intermediate, 128, 65536, "Numbers of h (small: 512, 1b: 8192, 8b: 14336)");
  chapter.flag("--timing-only", options.timing_only,
               "Keep the clock and compute nothing, for the full sizes on tinygpu");
  chapter.flag("--no-notes", options.no_notes,
               "Leave out each step's second run, in which tasks write down their times");
  chapter.flag("--phases", options.phases, "Print what the parts of a task take on the critical path, by operation");
  chapter.choice("--dim", options.dim, {"64", "128"}, "Numbers of a head, of --size small");
  chapter.number("--step", options.step, 1, uint32_t(all_steps().size()),
                 "The step to run (default: 6; of a prefill 5)");
  chapter.flag("--all", options.all, "Run every step, and say what limited each");
  chapter.flag("--plan", options.plan, "Run nothing: print the tasks, and what schedules are expected to take");
  chapter.number("--ctas", options.ctas, 1, 1024,
                 "CTAs that stay, of steps 4 and 5 (default: one for each SM); pairs of them, of step 6");
  chapter.choice("--schedule", options.schedule, {"critical", "in-order"}, "How steps 4 and 7 deal out tasks");
  chapter.choice("--graph", options.graph, {"layer", "cycle", "orphan"},
                 "The graph to compile; the last two are wrong, to see them refused");
  chapter.number("--diff", options.diff, 2, uint32_t(all_steps().size()),
                 "Run nothing: print what this step adds to the one before");
  chapter.choice("--timeline", options.timeline, {"on", "off"}, "Draw what SMs did");
  return chapter.run(argc, argv);
}
