// Probe 06: tcgen05.mma's other operands: kinds f8f6f4 and i8, f16 accumulators, A in Tensor Memory.
//
//   probe_06_mma_operands [--benchmark_format=json] [--benchmark_filter=burst_e4m3/…]
#include "common/ptx/tcgen05_mma.h"
#include "probes/burst.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;
using namespace gen5::layout;

struct F8 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const { tcgen05_mma_f8f6f4(b.d, b.a, b.b, idesc, false); }
};
struct I8 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const { tcgen05_mma_i8(b.d, b.a, b.b, idesc, false); }
};
struct F16 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const { tcgen05_mma_f16(b.d, b.a, b.b, idesc, false); }
};
struct F16FromTensorMemory {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const { tcgen05_mma_f16_tmem(b.d, b.cells, b.b, idesc, false); }
};

constexpr uint32_t kE4m3 = instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e4m3, .b = Element::e4m3});
constexpr uint32_t kE2m1 = instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e2m1, .b = Element::e2m1});
constexpr uint32_t kS8 =
    instruction_descriptor({.kind = Kind::i8, .a = Element::s8, .b = Element::s8, .d = Accumulator::s32});
constexpr uint32_t kHalf = instruction_descriptor({.a = Element::f16, .b = Element::f16, .d = Accumulator::f16});

// M, N, MMAs under one commit.
template <class Issue, uint32_t kInstruction>
void bursts(benchmark::State& state) {
  for (auto _ : state) {
    const auto m = uint32_t(state.range(0)), n = uint32_t(state.range(1));
    report(state, burst_cycles(Issue{with_shape(kInstruction, m, n)}, uint32_t(state.range(2))));
  }
}
template <class Issue, uint32_t kInstruction>
void interval(benchmark::State& state) {
  for (auto _ : state)
    report(state, interval_cycles(Issue{with_shape(kInstruction, uint32_t(state.range(0)), uint32_t(state.range(1)))}));
}
void shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t m : {64, 128})
    for (int64_t n : {16, 64, 128, 256}) b->Args({m, n});
}

BENCHMARK(bursts<F8, kE4m3>)->Name("burst_E4M3")->Apply(published_shapes);
BENCHMARK(bursts<F8, kE2m1>)->Name("burst_F4")->Apply(published_shapes);
BENCHMARK(bursts<I8, kS8>)->Name("burst_S8")->Apply(published_shapes);
BENCHMARK(interval<F8, kE4m3>)->Name("interval_e4m3")->Apply(shapes);
BENCHMARK(interval<I8, kS8>)->Name("interval_s8")->Apply(shapes);
BENCHMARK(interval<F16, kHalf>)->Name("interval_f16_in_f16")->Apply(shapes);
BENCHMARK(interval<F16FromTensorMemory, kHalf>)->Name("interval_f16_in_f16_tmem")->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
