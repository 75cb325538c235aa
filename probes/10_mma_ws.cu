// Probe 10: tcgen05.mma.ws, with B from shared memory or out of a collector buffer.
//
//   probe_10_mma_ws [--benchmark_format=json]
#include "common/ptx/tcgen05_mma_ws.h"
#include "probes/burst.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;
using namespace gen5::layout;

template <Collect kCollect>
struct Ws {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const { tcgen05_mma_ws_f16<0, kCollect>(b.d, b.a, b.b, idesc, false); }
};
constexpr uint32_t kBf16 = instruction_descriptor({.a = Element::bf16, .b = Element::bf16});

template <Collect kCollect>
void first(benchmark::State& state) {
  for (auto _ : state)
    report(state, burst_cycles(Ws<kCollect>{with_shape(kBf16, uint32_t(state.range(0)), uint32_t(state.range(1)))}, 1));
}
template <Collect kCollect>
void interval(benchmark::State& state) {
  for (auto _ : state)
    report(state, interval_cycles(Ws<kCollect>{with_shape(kBf16, uint32_t(state.range(0)), uint32_t(state.range(1)))}));
}
void shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t m : {32, 64, 128})
    for (int64_t n : {64, 128, 256}) b->Args({m, n});
}
BENCHMARK(first<Collect::discard>)->Name("first/discard")->Apply(shapes);
BENCHMARK(interval<Collect::discard>)->Name("interval/discard")->Apply(shapes);
// Each fills the buffer anew: what keeping costs. What using one saves has to begin with a fill: chapter 10.
BENCHMARK(interval<Collect::fill>)->Name("interval/fill")->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
