// Speed of the PTX parser on nvcc's output, in bytes of text a second; with and without the table of forms.
#include <benchmark/benchmark.h>

#include "tests/ptx/ptx_text.h"

namespace {

void BM_ParseModule(benchmark::State& state) {
  // A large module: one text of nvcc's, its kernel's body many times over.
  const std::string one = tinygpu::ptx::read_data("language_features_plain.ptx.zst");
  const size_t open = one.find("\n{", one.find(".entry")) + 1;
  size_t close = open;
  for (int depth = 0;; ++close) {
    if (one[close] == '{') ++depth;
    if (one[close] == '}' && --depth == 0) break;
  }
  std::string text = one.substr(0, close);
  for (int i = 0; i < 30; ++i) text += "\n" + one.substr(open, close - open + 1);
  text += "\n}\n";
  tinygpu::ptx::ParseOptions options;
  options.check_forms = state.range(0) != 0;
  size_t instructions = 0;
  for (auto _ : state) {
    const tinygpu::ptx::Module m = tinygpu::ptx::parse(text, options);
    instructions = 0;
    for (const auto& f : m.functions) instructions += f->body.size();
    benchmark::DoNotOptimize(instructions);
  }
  state.SetBytesProcessed(int64_t(state.iterations()) * int64_t(text.size()));
  state.counters["instructions"] = double(instructions);
}
BENCHMARK(BM_ParseModule)->Arg(0)->Arg(1)->ArgName("forms")->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
