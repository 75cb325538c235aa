// What observers of accesses cost: loads, stores and atomics of shared and global memory without an observer, and with
// one that ignores accesses. 8 warps of one CTA, one host core. The runs without an observer are to be within 3 % of a
// build from before there were events of accesses.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "tests/support/run_ptx.h"

namespace {

using tinygpu::Observer;

constexpr int kUnrolled = 32, kRounds = 2048, kWarps = 8;

struct LooksAway final : Observer {
  using Observer::Observer;
};

std::string kernel(const std::string& instruction) {
  std::string body;
  for (int i = 0; i < kUnrolled; ++i) body += "  " + instruction + "\n";
  return fmt::format(R"(
.visible .entry k(.param .u64 data) {{
  .shared .align 16 .b8 smem[8192];
  .reg .b32 %t, %s, %v, %x, %i; .reg .b64 %g; .reg .pred %q;
  mov.u32 %t, %tid.x; mov.u32 %s, smem; mad.lo.u32 %v, %t, 16, %s; mad.lo.u32 %s, %t, 4, %s;
  ld.param.u64 %g, [data]; mad.wide.u32 %g, %t, 4, %g; mov.u32 %x, 1; mov.u32 %i, 0;
LOOP:
{}  add.u32 %i, %i, 1; setp.lt.u32 %q, %i, {}; @%q bra LOOP;
  ret;
}}
)",
                     body, kRounds);
}

void run(benchmark::State& state, const std::string& instruction, uint32_t interests = 0) {
  LooksAway observer(interests);
  tinygpu::test::RunPtx machine(kernel(instruction));
  if (interests) machine.gpu.options.observers = {&observer};
  const uint64_t data = machine.buffer<uint32_t>(kWarps * 32);
  tinygpu::LaunchStats stats;
  for (auto _ : state) stats = machine.launch("k", {1, 1, 1}, {kWarps * 32, 1, 1}, data);
  state.counters["cycles"] = double(stats.cycles);
  state.counters["warp_instructions/s"] =
      benchmark::Counter(double(state.iterations()) * kUnrolled * kRounds * kWarps, benchmark::Counter::kIsRate);
}

#define BENCH(name, ...) \
  BENCHMARK_CAPTURE(run, name, __VA_ARGS__)->Unit(benchmark::kMillisecond)->MeasureProcessCPUTime()
BENCH(ld_shared, "ld.shared.b32 %x, [%s];");
BENCH(ld_shared_strided, "ld.shared.b32 %x, [%v];");
BENCH(st_shared, "st.shared.b32 [%s], %x;");
BENCH(atom_shared, "atom.shared.add.u32 %x, [%s], 1;");
BENCH(ld_global, "ld.global.b32 %x, [%g];");
BENCH(st_global, "st.global.b32 [%g], %x;");
BENCH(ld_shared_accesses, "ld.shared.b32 %x, [%s];", Observer::accesses);
BENCH(ld_shared_traffic, "ld.shared.b32 %x, [%s];", Observer::traffic);
BENCH(ld_global_accesses, "ld.global.b32 %x, [%g];", Observer::accesses);
BENCH(ld_global_traffic, "ld.global.b32 %x, [%g];", Observer::traffic);

}  // namespace

BENCHMARK_MAIN();
