// Chapter 14, the Hopper twin: the ladder's persistent step with wgmma in place of tcgen05.mma.
//
//   14_attention_hopper                            2 heads, 1024 queries and keys
//   14_attention_hopper --causal --dim 64 --queries 700 --keys 900
//
// Without a Hopper GPU it runs on tinygpu's h200. kernel.cuh is the kernel; compare_sdpa.py measures it on silicon.
#include <fmt/format.h>

#include <cstdlib>
#include <optional>

#include "chapters/14_attention/hopper/hopper.h"
#include "chapters/14_attention/hopper/mistakes.h"
#include "chapters/14_attention/options.h"
#include "common/harness/device.h"
#include "common/harness/measure.h"

namespace {

using namespace gen5::harness;

attention::Options options;

/// Dense bf16 operations of one Hopper SM in one cycle (probes/machines/h200.json, peak.f16).
constexpr double kPeak = 4096;

void twin(Report& report) {
  const Device device = current_device();
  attention::Operands operands = options.operands(report);
  operands.o.fill(0xff);  // NaN wherever nothing is written
  const Elapsed elapsed = measure([&] { attention::hopper::launch(operands.problem()); });
  const Bound bound = attention::check_float64(operands.in, operands.o.download(), {.slack = 8});
  report.check("within the bound of float64", bound.outside == 0, bound.describe());
  report.say("");
  const double cycles = elapsed.cycles, operations = attention::operations(operands.in);
  Table table({device.tinygpu ? "simulated cycles" : "cycles", "us", "TFLOP/s", "of chip's peak", "host s"}, 0);
  table.row({with_commas(uint64_t(cycles)), fmt::format("{:.1f}", elapsed.microseconds),
             fmt::format("{:.1f}", operations / elapsed.microseconds * 1e-6),
             fmt::format("{:.1f} %", 100 * operations / (cycles * kPeak * device.sms)),
             fmt::format("{:.2f}", elapsed.host_seconds)});
  report.table(table);
  report.value("cycles", cycles);
  report.value("host_seconds", elapsed.host_seconds);
}

}  // namespace

int main(int argc, char** argv) {
  // sm_90a code runs on Hopper alone; where there is none, on the machine model of one.
  setenv("GEN5_MACHINE", "h200", 0);
  Chapter chapter("14", "flash attention on Hopper",
                  "The ladder's last step with wgmma: scores and weights never leave the registers.");
  chapter.part("twin", "O = softmax(Q * K^T) * V", twin);
  chapter.mistakes(attention::hopper::mistakes());
  options.add_to(chapter);
  return chapter.run(argc, argv);
}
