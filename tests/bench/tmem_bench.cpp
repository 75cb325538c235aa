// How long Tensor Memory accesses take on the host: one core, the whole interpreter included.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include "tests/support/run_ptx.h"
#include "tests/tmem/kernel_text.h"

namespace tinygpu::test {
namespace {

/// Runs `body` `rounds` times in a loop of one launch and reports the host time of one round.
void run_rounds(benchmark::State& state, const std::string& setup, const std::string& body, uint32_t threads) {
  constexpr uint32_t kRounds = 200;
  TmemKernel k;
  k.shared = 65536;
  k.body = setup + "  mov.u32 %a15, 0;\nROUND:\n" + body +
           fmt::format("  add.u32 %a15, %a15, 1; setp.lt.u32 %p7, %a15, {};\n  @%p7 bra ROUND;\n", kRounds);
  RunPtx run(k.text());
  run.gpu.options.threads = 1;
  const uint64_t out = run.buffer<uint32_t>(1024);
  for (auto _ : state) run.launch("k", {1}, {threads}, uint64_t(0), out);
  state.counters["per_round"] = benchmark::Counter(double(kRounds) * double(state.iterations()),
                                                   benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void access(benchmark::State& state, const std::string& instruction) {
  const std::string wait = "  tcgen05.wait::ld.sync.aligned; tcgen05.wait::st.sync.aligned;\n";
  run_rounds(state, fill_all(), instruction + wait, 32);
}

// Issue figure: at most 3 us.
BENCHMARK_CAPTURE(access, ld_32x32b_x128, test::ld("32x32b.x128", 128, "%mine"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(access, ld_16x256b_x32, test::ld("16x256b.x32", 128, "%mine"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(access, ld_32x32b_x1, test::ld("32x32b.x1", 1, "%mine"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(access, st_32x32b_x128, test::st("32x32b.x128", 128, "%mine"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(access, st_16x256b_x32, test::st("16x256b.x32", 128, "%mine"))->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(access, waits_alone, "")->Unit(benchmark::kMillisecond);

// A 128 x 256 f32 accumulator to bf16 in shared memory, 4 warps, 32 columns at a time. Issue figure: at most 150 us.
void epilogue(benchmark::State& state) {
  std::string body = "  shl.b32 %a1, %t, 4; mov.u32 %a2, smem; add.u32 %a1, %a1, %a2;\n";
  for (uint32_t c = 0; c < 256; c += 32) {
    body += ld("32x32b.x32", 32, fmt::format("%mine+{}", c)) + "  tcgen05.wait::ld.sync.aligned;\n";
    for (uint32_t i = 0; i < 16; ++i)
      body += fmt::format("  cvt.rn.bf16x2.f32 %r{}, %r{}, %r{};\n", 64 + i, 2 * i + 1, 2 * i);
    for (uint32_t i = 0; i < 16; i += 4)
      body += fmt::format("  st.shared.v4.b32 [%a1+{}], {};\n", (c / 32 * 4 + i / 4) * 2048, registers(64 + i, 4));
  }
  run_rounds(state, fill_all(), body, 128);
}
BENCHMARK(epilogue)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tinygpu::test

BENCHMARK_MAIN();
