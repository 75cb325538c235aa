// Lowering of functions with many branches: the time an instruction does not depend on how many there are.
#include <benchmark/benchmark.h>

#include <string>

#include "tests/support/run_ptx.h"

namespace {

using Branches = std::string (*)(int);

std::string branch(int i, const std::string& to) {
  return "setp.lt.u32 %p1, %r1, " + std::to_string(i) + "; @%p1 bra " + to + "; add.u32 %r1, %r1, 1;\n";
}
std::string label(int i) { return "L" + std::to_string(i); }

/// Each over one instruction.
std::string short_ones(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += branch(i, label(i)) + label(i) + ":\n";
  return out;
}
/// One within the other.
std::string nested(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += branch(i, label(i));
  for (int i = n; i-- > 0;) out += label(i) + ": add.u32 %r1, %r1, %r1;\n";
  return out;
}
/// All over each other: each leads behind what the next one leads to.
std::string crossing(int n) {
  std::string out;
  for (int i = 0; i < n; ++i) out += branch(i, label(i));
  for (int i = 0; i < n; ++i) out += label(i) + ": add.u32 %r1, %r1, %r1;\n";
  return out;
}

void lower(benchmark::State& state, Branches branches) {
  const std::string text =
      ".visible .entry k(.param .u64 p) { .reg .pred %p<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
      "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n" +
      branches(int(state.range(0))) + "st.global.u32 [%rd1], %r1; ret; }\n";
  for (auto _ : state) {
    state.PauseTiming();
    tinygpu::test::RunPtx run(text);
    state.ResumeTiming();
    benchmark::DoNotOptimize(run.program->find("k"));
  }
  state.SetComplexityN(state.range(0));
}

#define LOWER(branches)                        \
  BENCHMARK_CAPTURE(lower, branches, branches) \
      ->Unit(benchmark::kMillisecond)          \
      ->RangeMultiplier(2)                     \
      ->Range(10000, 40000)                    \
      ->Complexity()
LOWER(short_ones);
LOWER(nested);
LOWER(crossing);

}  // namespace

BENCHMARK_MAIN();
