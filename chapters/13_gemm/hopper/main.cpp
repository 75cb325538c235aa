// Chapter 13, the Hopper twin: the ladder's persistent step with wgmma in place of tcgen05.mma.
//
//   13_gemm_hopper                                 both variants at 1024 × 1024 × 1024
//   13_gemm_hopper --variant ping_pong --m 300 --n 200 --k 136 --in f16
//
// Without a Hopper GPU it runs on tinygpu's h200. kernel.cuh is the kernel; compare_cublas.cu measures it on silicon.
#include <cuda_runtime.h>
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "chapters/13_gemm/hopper/hopper.h"
#include "chapters/13_gemm/hopper/mistakes.h"
#include "common/harness/chapter.h"
#include "common/harness/cuda_check.h"
#include "common/harness/device.h"
#include "common/harness/inputs.h"
#include "common/harness/measure.h"
#include "common/harness/pipeline_run.h"
#include "common/harness/watch.h"
#include "common/layout/tile.h"

namespace {

using namespace gen5::harness;

struct Options {
  uint32_t m = 1024, n = 1024, k = 1024;
  std::string variant = "both", in = "bf16", pattern = "uniform";
} options;

/// Dense f16 and bf16 operations of one Hopper SM in one cycle (probes/machines/h200.json, peak.f16).
constexpr double kPeak = 4096;

Pattern input_pattern() {
  for (Pattern p : {Pattern::uniform, Pattern::wide, Pattern::cancelling, Pattern::subnormal, Pattern::special})
    if (options.pattern == name_of(p)) return p;
  return Pattern::uniform;
}

void twin(Report& report) {
  using gemm::hopper::Variant;
  const Device device = current_device();
  const uint32_t m = options.m, n = options.n, k = options.k;
  const Format in = options.in == "f16" ? Format::f16 : Format::bf16;
  report.say(
      fmt::format("D[{0} x {1}] = A[{0} x {2}] * B[{1} x {2}]^T, {3} inputs ({4}), f32 accumulation in registers, "
                  "bf16 output.",
                  m, n, k, options.in, options.pattern));
  const std::vector<uint16_t> a = make_inputs(in, input_pattern(), size_t(m) * k, 1),
                              b = make_inputs(in, input_pattern(), size_t(n) * k, 2);
  const DeviceBuffer<uint16_t> device_a(a), device_b(b);
  const Product inputs = remembering(product_of(GemmInputs{in, m, n, k, a.data(), b.data()}));
  Table table(
      {"variant", "tile of a CTA", device.tinygpu ? "simulated cycles" : "cycles", "us", "of chip's peak", "host s"});
  std::vector<Picture> pictures;
  Pipeline pipeline;
  for (const Variant v : {Variant::cooperative, Variant::ping_pong}) {
    const std::string name = v == Variant::cooperative ? "cooperative" : "ping_pong";
    if (options.variant != "both" && options.variant != name) continue;
    report.say(fmt::format("{}: {}.", name,
                           v == Variant::cooperative
                               ? "two warpgroups work on one tile, 64 rows each"
                               : "each warpgroup has tiles of its own and stores while the other multiplies"));
    DeviceBuffer<uint16_t> result(size_t(m) * n);
    result.fill(0xff);  // NaN wherever nothing is written
    gemm::Problem p;
    p.in = in;
    p.out = Output::bf16;
    p.m = m;
    p.n = n;
    p.k = k;
    p.a = device_a.get();
    p.b = device_b.get();
    p.d = result.get();
    std::optional<Watch> watch;
    if (!report.stamps()) watch.emplace();
    const Elapsed elapsed = measure([&] { gemm::hopper::launch(p, v); });
    const std::optional<Watched> watched = watch ? watch->stop() : std::nullopt;
    // Both groups of a CTA together: 8 wgmmas a block, of one tile or of two by turns.
    const PipelineShape shape{.work = "wgmma.mma_async",
                              .work_of_a_block = 8,
                              .blocks_of_a_tile = gen5::layout::ceil_div(k, 64),
                              .stores_of_a_tile = 4};
    pipeline = watched ? pipeline_of(*watched, shape) : stamped_pipeline(shape, [&](uint64_t* stamps) {
      gemm::Problem stamped = p;
      stamped.stamps = stamps;
      gemm::hopper::launch(stamped, v);
    });
    pictures.push_back(picture_of(pipeline, name + ":"));
    const std::vector<uint16_t> words = result.download();
    const std::vector<uint32_t> d(words.begin(), words.end());
    const Comparison c = compare_bits(inputs, Output::bf16, d, 0, 0, m, n);
    report.check("every bit is the fused sum's", c.equal(), c.describe(Output::bf16));
    if (input_pattern() != Pattern::special) {
      const Bound bound = check_float64(inputs, Output::bf16, d);
      report.check("within the bound of float64", bound.outside == 0, bound.describe());
    }
    const double cycles = elapsed.cycles;
    table.row({name, v == Variant::cooperative ? "128 x 256" : "2 x 128 x 128", with_commas(uint64_t(cycles)),
               fmt::format("{:.1f}", elapsed.microseconds),
               fmt::format("{:.1f} %", 100 * 2.0 * m * n * k / (cycles * kPeak * device.sms)),
               fmt::format("{:.2f}", elapsed.host_seconds)});
    report.value(name + ".cycles", cycles);
    report.value(name + ".host_seconds", elapsed.host_seconds);
  }
  report.say("");
  report.picture(draw(pictures, {.window = 12600}));
  report.say(legend(pipeline, {}, "blocks of K"));
  report.say(
      "What to see: with ping_pong the tensor core works on the other warpgroup's tile while one tile is stored; with "
      "cooperative it idles between tiles.");
  report.table(table);
}

}  // namespace

int main(int argc, char** argv) {
  // sm_90a code runs on Hopper alone; where there is none, on the machine model of one.
  setenv("GEN5_MACHINE", "h200", 0);
  Chapter chapter("13", "the GEMM's twin on Hopper",
                  "The same ring of TMA tiles and the same roles; wgmma multiplies, accumulators are registers.");
  chapter.part("twin", "D = A * B^T with wgmma", twin);
  chapter.number("--m", options.m, 1, 1u << 20, "Rows of A and D");
  chapter.number("--n", options.n, 8, 1u << 20, "Rows of B, columns of D: a multiple of 8");
  chapter.number("--k", options.k, 8, 1u << 20, "Columns of A and B: a multiple of 8");
  chapter.choice("--variant", options.variant, {"both", "cooperative", "ping_pong"},
                 "How the consumers share the work");
  chapter.choice("--in", options.in, {"bf16", "f16"}, "Element type of A and B");
  chapter.choice("--pattern", options.pattern, {"uniform", "wide", "cancelling", "subnormal", "special"}, "Operands");
  chapter.mistakes(gemm::hopper::mistakes());
  return chapter.run(argc, argv);
}
