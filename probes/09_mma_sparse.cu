// Probe 09: tcgen05.mma.sp, whose B is twice as deep.
//
//   probe_09_mma_sparse [--benchmark_format=json]
#include "common/ptx/tcgen05_mma_sparse.h"
#include "probes/burst.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;
using namespace gen5::layout;

constexpr uint32_t kFirstTwo = 0x44444444;  // metadata: elements 0 and 1 of each four

struct F16 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const { tcgen05_mma_sp_f16(b.d, b.a, b.b, b.cells, idesc, false); }
};
struct F8 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const { tcgen05_mma_sp_f8f6f4(b.d, b.a, b.b, b.cells, idesc, false); }
};
constexpr uint32_t kBf16 = instruction_descriptor({.a = Element::bf16, .b = Element::bf16}) | kSparseInstruction;
constexpr uint32_t kE4m3 =
    instruction_descriptor({.kind = Kind::f8f6f4, .a = Element::e4m3, .b = Element::e4m3}) | kSparseInstruction;

template <class Issue, uint32_t kInstruction>
void first(benchmark::State& state) {
  for (auto _ : state)
    report(state, burst_cycles(Issue{with_shape(kInstruction, uint32_t(state.range(0)), uint32_t(state.range(1)))}, 1,
                               kFirstTwo));
}
template <class Issue, uint32_t kInstruction>
void interval(benchmark::State& state) {
  for (auto _ : state)
    report(state, interval_cycles(Issue{with_shape(kInstruction, uint32_t(state.range(0)), uint32_t(state.range(1)))},
                                  kFirstTwo));
}
void shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t m : {64, 128})
    for (int64_t n : {64, 128, 256}) b->Args({m, n});
}
BENCHMARK(first<F16, kBf16>)->Name("first/f16")->Apply(shapes);
BENCHMARK(interval<F16, kBf16>)->Name("interval/f16")->Apply(shapes);
BENCHMARK(interval<F8, kE4m3>)->Name("interval/f8f6f4")->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
