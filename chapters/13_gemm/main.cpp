// Chapter 13: a GEMM for Blackwell's tensor core, climbed in eight steps.
//
//   scripts/run gemm                          the last step at 1024 × 1024 × 1024, with its timeline
//   scripts/run gemm --all                    every step, what each bought, and what limited it
//   scripts/run gemm --diff 4                 what step 4 adds to step 3, in code
//   scripts/run gemm --step 2 --m 300 --n 200 --k 136 --in f16 --out bf16
//   scripts/run gemm --kind nvf4 --all        steps 4 to 8 with narrow operands: fp8, mxf8 or nvf4
//
// Each step stands in stepN_*.cu and adds one idea to the one before; gemm.cuh holds what they share, persistent.cuh
// the kernel of steps 5 to 7. Read them in order, notes/13_gemm.md beside them. From step 5 on a kernel serves all
// kinds of operands, and kinds/kinds.cuh is what a kind is; kinds/step4_roles.cu is step 4 of the narrow ones.
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "chapters/13_gemm/diffs.h"
#include "chapters/13_gemm/gemm.h"
#include "chapters/13_gemm/kinds/diffs.h"
#include "chapters/13_gemm/mistakes.h"
#include "chapters/13_gemm/timelines.h"
#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/in_report.h"
#include "common/harness/inputs.h"
#include "common/harness/limit.h"
#include "common/harness/measure.h"
#include "common/harness/watch.h"
#include "common/layout/tile.h"

namespace {

using namespace gen5::harness;

struct Options {
  uint32_t m = 1024, n = 1024, k = 1024, step = gemm::kLastStep, diff = 0;
  bool all = false;
  std::string kind = "bf16", in = "bf16", out = "f32", pattern = "uniform", timeline = "on";
} options;

gemm::Kind chosen_kind() {
  for (const gemm::Kind k : {gemm::Kind::fp8, gemm::Kind::mxf8, gemm::Kind::nvf4})
    if (options.kind == gemm::ladder(k).name) return k;
  return gemm::Kind::bf16;
}
const gemm::Ladder& chosen() { return gemm::ladder(chosen_kind()); }

/// Multiplications of a product that tinygpu does in a second or two.
constexpr double kQuick = 16e9;

/// Sizes up to this are compared bit for bit throughout; larger ones in a sample of windows and by signed row sums.
constexpr double kWholeComparison = 1.2e9, kWholeNarrow = 2e8;  // m·n·k

/// The operands on both sides.
struct Operands {
  Product product;

  Operands(gemm::Kind kind, Format format, Pattern pattern, uint32_t m, uint32_t n, uint32_t k) {
    problem_ = {.in = format, .m = m, .n = n, .k = k, .kind = kind};
    if (kind == gemm::Kind::bf16) {
      words_a_ = make_inputs(format, pattern, size_t(m) * k, 1);
      words_b_ = make_inputs(format, pattern, size_t(n) * k, 2);
      product = remembering(product_of(GemmInputs{format, m, n, k, words_a_.data(), words_b_.data()}));
      problem_.a = on_device(words_a_.data(), words_a_.size() * 2);
      problem_.b = on_device(words_b_.data(), words_b_.size() * 2);
      return;
    }
    const Narrow element = kind == gemm::Kind::nvf4 ? Narrow::e2m1 : Narrow::e4m3;
    const Scaling scaling = kind == gemm::Kind::fp8    ? Scaling::none
                            : kind == gemm::Kind::mxf8 ? Scaling::mx
                                                       : Scaling::nv;
    a_ = make_narrow(element, scaling, pattern, m, k, 1);
    b_ = make_narrow(element, scaling, pattern, n, k, 2);
    product = remembering(product_of(a_, b_));
    const auto bytes_a = a_.bytes(), bytes_b = b_.bytes(), scales_a = a_.chunks(), scales_b = b_.chunks();
    problem_.a = on_device(bytes_a.data(), bytes_a.size());
    problem_.b = on_device(bytes_b.data(), bytes_b.size());
    problem_.a_scales = static_cast<uint8_t*>(on_device(scales_a.data(), scales_a.size()));
    problem_.b_scales = static_cast<uint8_t*>(on_device(scales_b.data(), scales_b.size()));
  }
  Operands(const Operands&) = delete;
  Operands& operator=(const Operands&) = delete;

  /// Everything but D.
  const gemm::Problem& problem() const { return problem_; }

 private:
  void* on_device(const void* data, size_t bytes) {
    const auto* from = static_cast<const uint8_t*>(data);
    device_.push_back(std::make_unique<DeviceBuffer<uint8_t>>(std::vector<uint8_t>(from, from + bytes)));
    return device_.back()->get();
  }

  gemm::Problem problem_;
  std::vector<uint16_t> words_a_, words_b_;
  NarrowMatrix a_, b_;
  std::vector<std::unique_ptr<DeviceBuffer<uint8_t>>> device_;
};

/// Throws where the kernels take no such size: TMA wants rows of a multiple of 16 bytes, and a scale all of its block.
void check_sizes() {
  const gemm::Ladder& l = chosen();
  const auto refuse = [](const char* option, uint32_t value, uint32_t multiple, const std::string& why) {
    if (value % multiple == 0) return;
    const uint32_t below = value / multiple * multiple;
    throw std::invalid_argument(fmt::format(
        "{0} {1} is not possible: {2}, so {0} must be a multiple of {3}. Use {4}{5}, or fill the matrices up with "
        "zeros.",
        option, value, why, multiple, below ? fmt::format("{} or ", below) : "", below + multiple));
  };
  refuse("--k", options.k, l.k_step,
         fmt::format("{}{}", l.why_step,
                     l.k_step * 128 / l.block_k == 16 ? ", and TMA takes rows of 16 bytes' multiples" : ""));
  refuse("--n", options.n, options.out == "bf16" ? 8 : 4, "TMA stores rows of D of 16 bytes' multiples");
  if (!l.has(options.step))
    throw std::invalid_argument(fmt::format(
        "--step {} has no --kind {}: the narrow kinds climb steps {} to {}; the steps before would teach nothing new.",
        options.step, l.name, l.steps.front().number, l.steps.back().number));
}

Format input_format() { return options.in == "f16" ? Format::f16 : Format::bf16; }
Output output_format() { return options.out == "bf16" ? Output::bf16 : Output::f32; }
Pattern input_pattern() {
  for (Pattern p : {Pattern::uniform, Pattern::wide, Pattern::cancelling, Pattern::subnormal, Pattern::special})
    if (options.pattern == name_of(p)) return p;
  return Pattern::uniform;
}

/// What a launch left behind.
struct Run {
  Elapsed elapsed;
  std::optional<Watched> watched;
  Pipeline pipeline;
  std::vector<uint32_t> d;  // as 32-bit words
};

/// The result of a launch on poisoned output.
template <class Launch>
Run run_kernel(Launch launch, const Operands& operands, Output out) {
  gemm::Problem problem = operands.problem();
  const size_t count = size_t(problem.m) * problem.n, bytes = out == Output::bf16 ? 2 : 4;
  DeviceBuffer<uint8_t> result(count * bytes);
  result.fill(0xff);  // NaN wherever nothing is written
  problem.out = out;
  problem.d = result.get();
  Run run;
  launch(problem, run);
  const std::vector<uint8_t> raw = result.download();
  run.d.resize(count);
  for (size_t i = 0; i < count; ++i) {
    if (bytes == 4)
      std::memcpy(&run.d[i], &raw[i * 4], 4);
    else
      run.d[i] = raw[i * 2] | raw[i * 2 + 1] << 8;
  }
  return run;
}

/// Runs a step, watched or stamped if its timeline is wanted.
Run run_step(const gemm::Step& step, const Operands& operands, bool stamps) {
  name_launches(fmt::format("step {}", step.number));
  return run_kernel(
      [&](const gemm::Problem& p, Run& run) {
        const bool timeline = options.timeline != "off";
        std::optional<Watch> watch;
        if (timeline || options.all) watch.emplace();
        run.elapsed = measure([&] { step.launch(p); });
        if (watch) run.watched = watch->stop();
        if (timeline)
          run.pipeline =
              run.watched && !stamps ? gemm::watched_pipeline(step, p, *run.watched) : gemm::stamped_pipeline(step, p);
      },
      operands, output_format());
}

/// `gen5 run --timing-only`: the clock runs, and nothing is computed.
bool timing_alone(const Device& device) {
  const char* set = std::getenv("GEN5_TIMING_ONLY");
  return device.tinygpu && set && std::strcmp(set, "0") != 0;
}

void verify(Report& report, const Product& in, const std::vector<uint32_t>& d) {
  const Output out = output_format();
  const bool narrow = chosen_kind() != gemm::Kind::bf16;  // their reference takes longer
  if (double(in.m) * in.n * in.k <= (narrow ? kWholeNarrow : kWholeComparison)) {
    const Comparison c = compare_bits(in, out, d, 0, 0, in.m, in.n);
    report.check("every bit is the fused sum's", c.equal(), c.describe(out));
    if (input_pattern() != Pattern::special) {
      const Bound b = check_float64(in, out, d);
      report.check("within the bound of float64", b.outside == 0, b.describe());
    }
    return;
  }
  // Corners and a diagonal of windows bit for bit, everything by sums.
  Comparison total;
  for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t rows = std::min(128u, in.m), columns = std::min(128u, in.n);
    const uint32_t m0 = uint32_t(uint64_t(in.m - rows) * i / 7),
                   n0 = uint32_t(uint64_t(in.n - columns) * (i * 3 % 8) / 7);
    const Comparison c = compare_bits(in, out, d, m0, n0, rows, columns);
    if (total.equal()) {
      const uint64_t compared = total.compared;
      total = c;
      total.compared += compared;
    }
  }
  report.check("eight windows: every bit is the fused sum's", total.equal(), total.describe(out));
  const Bound b = check_row_sums(in, out, d, 4, 3);
  report.check("all rows: signed sums within the bound of float64", b.outside == 0, b.describe());
}

/// What a step has computed and moved, as a row of the table.
std::vector<std::string> row_of(const gemm::Step& step, const Run& run, const Device& device, double before) {
  using gen5::layout::ceil_div;
  const uint32_t m = options.m, n = options.n, k = options.k;
  const gemm::Ladder& l = chosen();
  const uint64_t tiles = uint64_t(ceil_div(m, 128 * step.ctas)) * ceil_div(n, step.tile_n),
                 blocks = ceil_div(k, l.block_k);
  const double cycles = run.elapsed.cycles, flops = 2.0 * m * n * k;
  const double used = double(std::min<uint64_t>(tiles * step.ctas, uint64_t(device.sms)));
  // A CTA of a pair loads half of B, but the scales of all of it.
  const uint64_t scales = step.ctas * (1 + ceil_div(step.tile_n, 128)) * l.scale_chunks * 512;
  const uint64_t loaded = step.number == 1 ? 0 : tiles * blocks * ((128 * step.ctas + step.tile_n) * 128 + scales);
  std::vector<std::string> row = {fmt::format("{} {}", step.number, step.name),
                                  with_commas(tiles),
                                  with_commas(tiles * blocks * 4),
                                  with_unit(loaded),
                                  with_commas(uint64_t(cycles)),
                                  fmt::format("{:.1f} %", 100 * flops / (cycles * l.peak * device.sms)),
                                  fmt::format("{:.1f} %", 100 * flops / (cycles * l.peak * used)),
                                  before > 0 ? fmt::format("x{:.2f}", before / cycles) : "-"};
  return row;
}

void show_diff(Report& report) {
  const gemm::Ladder& l = chosen();
  if (!l.has(options.diff))
    throw std::invalid_argument(fmt::format("--diff {} has no --kind {}: its steps are {} to {}.", options.diff, l.name,
                                            l.steps.front().number, l.steps.back().number));
  const gemm::Step& to = l[options.diff];
  const bool narrow = chosen_kind() != gemm::Kind::bf16;
  if (narrow && options.diff == uint32_t(l.steps.front().number))
    report.say(
        fmt::format("From step {0} of bf16 to step {0} of fp8, mxf8 and nvf4, {1}: narrow operands, and block "
                    "scales on their way to Tensor Memory. Changes of white space alone are left out.",
                    to.number, to.name));
  else
    report.say(fmt::format("From step {}, {}, to step {}, {}: {}. Changes of white space alone are left out.",
                           l[options.diff - 1].number, l[options.diff - 1].name, to.number, to.name, to.idea));
  constexpr int kFirstOfAllKinds = 5;
  if (to.number == kFirstOfAllKinds && !narrow)
    report.say(
        "From here on one kernel serves every kind of operand: kinds/kinds.cuh has its Stage, load_block, "
        "multiply_block, and Scales, which is empty for bf16.");
  report.picture(narrow ? gemm::kinds::kDiffs[options.diff - 4] : gemm::kDiffs[options.diff - 2]);
}

void gemm_part(Report& report) {
  if (options.diff) return show_diff(report);
  check_sizes();
  const gemm::Ladder& l = chosen();
  const bool narrow = chosen_kind() != gemm::Kind::bf16;
  const Device device = current_device();
  report.say(fmt::format(
      "D[{0} x {1}] = A[{0} x {2}] * B[{1} x {2}]^T, {3} ({4}), f32 accumulation in Tensor Memory, {5} output.",
      options.m, options.n, options.k, narrow ? l.operands : options.in + " inputs", options.pattern, options.out));
  const Operands operands(chosen_kind(), input_format(), input_pattern(), options.m, options.n, options.k);
  std::vector<std::string> head = {
      "step",           "tiles",       "MMAs", "TMA loads", device.tinygpu ? "simulated cycles" : "cycles",
      "of chip's peak", "of SMs used", "gain"};
  if (options.all) head.insert(head.end(), {"limited by", "share"});
  Table table(head);
  std::string host;
  double before = 0;
  std::optional<Pipeline> step_before;  // with --all it stands above anyway
  Pipeline last;
  // The step before is run for its picture alone.
  const bool compare = !options.all && options.step > uint32_t(l.steps.front().number) && options.timeline != "off";
  const bool quick = !device.tinygpu || double(options.m) * options.n * options.k <= kQuick;
  if (compare && quick) step_before = run_step(l[options.step - 1], operands, report.stamps()).pipeline;
  for (const gemm::Step& step : l.steps) {
    if (!options.all && step.number != int(options.step)) continue;
    report.say(fmt::format("Step {}, {}: {}.", step.number, step.name, step.idea));
    const Run run = run_step(step, operands, report.stamps());
    if (timing_alone(device))
      report.say("  Timing alone: D was not computed, so it is not checked.");
    else
      verify(report, operands.product, run.d);
    report.say("");
    gemm::show_timeline(report, step, run.pipeline,
                        step_before ? std::optional<gemm::Before>({l[options.step - 1], *step_before}) : std::nullopt);
    if (compare && !quick)
      report.say(
          fmt::format("Step {} stands beside it at smaller sizes: here it would take as long again.", step.number - 1));
    const double cycles = run.elapsed.cycles;
    std::vector<std::string> row = row_of(step, run, device, before);
    const nlohmann::json profile = run.watched ? run.watched->profile.at(0) : nlohmann::json::object();
    std::string limit = "-", share = "-";
    if (has_tensor_core_time(profile)) {
      const TensorCoreTime time = tensor_core_time(profile);
      limit = time.limit().what;
      share = fmt::format("{:.0f} %", 100 * time.limit().share);
      report.say(fmt::format("Where its time went: {}{}", time.sentence(),
                             *step.next ? fmt::format(" Step {} {}", step.number + 1, step.next) : ""));
    }
    if (options.all) row.insert(row.end(), {limit, share});
    table.row(row);
    host += fmt::format("{}{:.2f} s", host.empty() ? "" : ", ", run.elapsed.host_seconds);
    report.value(fmt::format("step{}.cycles", step.number), cycles);
    report.value(fmt::format("step{}.host_seconds", step.number), run.elapsed.host_seconds);
    before = cycles;
    if (!options.all) gemm::show_legend(report, run.pipeline);
    last = run.pipeline;
  }
  if (options.all) gemm::show_legend(report, last);
  report.table(table);
  report.value("peak", l.peak);
  const uint32_t wide = l.steps.back().tile_n;
  report.say(fmt::format(
      "Host time of the kernel{}: {}. A tile is 128 rows of D by 128 columns (by {} in step 7; 256 by {} in step 8); "
      "an MMA multiplies a tile {} elements deep. The peak{} is {} operations a cycle and SM; a small product cannot "
      "fill {} SMs, so the second share counts only those that had a tile. From step 5 on a CTA takes several tiles: "
      "that pays when there are more tiles than SMs (try --m 4096 --n 2304 --k 512). Cycles count from the "
      "launch to the grid's end; a timeline begins with its SM's first load.",
      options.all ? "s" : "", host, wide, wide, l.block_k / 4, narrow ? fmt::format(" of {}", l.name) : "", int(l.peak),
      device.sms));
}

}  // namespace

int main(int argc, char** argv) {
  Chapter chapter("13", "a GEMM in eight steps",
                  "TMA feeds a ring of swizzled tiles, tcgen05.mma accumulates in Tensor Memory.");
  chapter.part("gemm", "D = A * B^T", gemm_part);
  chapter.mistakes(gemm::mistakes());
  chapter.mistakes(gemm::kinds::mistakes());
  chapter.number("--m", options.m, 1, 1u << 20, "Rows of A and D");
  chapter.number("--n", options.n, 4, 1u << 20, "Rows of B, columns of D: a multiple of 8, for f32 output of 4");
  chapter.number("--k", options.k, 8, 1u << 20, "Columns of A and B: a multiple of 8 (fp8: 16, mxf8 and nvf4: 32)");
  chapter.choice("--kind", options.kind, {"bf16", "fp8", "mxf8", "nvf4"},
                 "Operands: 16 bits (--in), e4m3, e4m3 with a power of two for 32, e2m1 with an e4m3 scale for 16");
  chapter.number("--step", options.step, 1, gemm::kLastStep, "The step to run; narrow kinds have 4 to 8");
  chapter.flag("--all", options.all, "Run every step, and say what limited each");
  chapter.number("--diff", options.diff, 2, gemm::kLastStep,
                 "Run nothing: print what this step adds to the one before");
  chapter.choice("--timeline", options.timeline, {"on", "off"}, "Draw what one SM did");
  chapter.choice("--in", options.in, {"bf16", "f16"}, "Element type of A and B of --kind bf16");
  chapter.choice("--out", options.out, {"f32", "bf16"}, "Element type of D");
  chapter.choice("--pattern", options.pattern, {"uniform", "wide", "cancelling", "subnormal", "special"}, "Operands");
  return chapter.run(argc, argv);
}
