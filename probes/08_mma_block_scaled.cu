// Probe 08: tcgen05.mma with block scales.
//
//   probe_08_mma_block_scaled [--benchmark_format=json] [--benchmark_filter=burst_MXF8/…]
#include "common/layout/scaled_instruction_descriptor.h"
#include "common/ptx/tcgen05_mma_scaled.h"
#include "probes/burst.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;
using namespace gen5::layout;

// Scales lie in the burst's cells: A's in the first eight columns, B's behind.
struct Mxf8 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const {
    tcgen05_mma_mxf8f6f4(b.d, b.a, b.b, idesc, b.cells, b.cells + 8, false);
  }
};
struct Mxf4 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const {
    tcgen05_mma_mxf4(b.d, b.a, b.b, idesc, b.cells, b.cells + 8, false);
  }
};
struct Nvf4 {
  uint32_t idesc;
  __device__ void operator()(const Burst& b) const {
    tcgen05_mma_mxf4nvf4(b.d, b.a, b.b, idesc, b.cells, b.cells + 8, false);
  }
};

constexpr uint32_t kMxf8 = scaled_instruction_descriptor({});
constexpr uint32_t kMxf8OfFp4 = scaled_instruction_descriptor({.a = Element::e2m1, .b = Element::e2m1});
constexpr uint32_t kMxf4 =
    scaled_instruction_descriptor({.kind = ScaledKind::mxf4, .a = Element::e2m1, .b = Element::e2m1});
constexpr uint32_t kNvf4 = scaled_instruction_descriptor(
    {.kind = ScaledKind::mxf4nvf4, .a = Element::e2m1, .b = Element::e2m1, .ue4m3 = true});
constexpr uint32_t with_n(uint32_t idesc, uint32_t n) { return (idesc & ~(63u << 17)) | (n >> 3) << 17; }

// N, MMAs under one commit. M is 128. All scales are 0: 2^-127, or 0.
template <class Issue, uint32_t kInstruction>
void bursts(benchmark::State& state) {
  for (auto _ : state)
    report(state, burst_cycles(Issue{with_n(kInstruction, uint32_t(state.range(1)))}, uint32_t(state.range(2))));
}
template <class Issue, uint32_t kInstruction>
void interval(benchmark::State& state) {
  for (auto _ : state) report(state, interval_cycles(Issue{with_n(kInstruction, uint32_t(state.range(0)))}));
}
void shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t n : {64, 128, 256})
    for (int64_t depth : {1, 2, 4, 8, 16, 64}) b->Args({128, n, depth});
}
void columns(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t n : {64, 128, 192, 256}) b->Arg(n);
}

BENCHMARK(bursts<Mxf8, kMxf8>)->Name("burst_MXF8")->Apply(shapes);
BENCHMARK(bursts<Mxf8, kMxf8OfFp4>)->Name("burst_MXF4")->Apply(shapes);
BENCHMARK(interval<Mxf8, kMxf8>)->Name("interval_mxf8f6f4")->Apply(columns);
BENCHMARK(interval<Mxf4, kMxf4>)->Name("interval_mxf4")->Apply(columns);
BENCHMARK(interval<Nvf4, kNvf4>)->Name("interval_mxf4nvf4")->Apply(columns);

}  // namespace

BENCHMARK_MAIN();
