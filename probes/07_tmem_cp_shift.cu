// Probe 07: tcgen05.cp by shape, and tcgen05.shift.
//
//   probe_07_tmem_cp_shift [--benchmark_format=json]
#include "common/ptx/tcgen05_cp.h"
#include "probes/burst.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

template <CpShape kShape>
struct Copy {
  __device__ void operator()(const Burst& b) const { tcgen05_cp<kShape>(b.d, b.a); }
};
struct Shift {
  __device__ void operator()(const Burst& b) const { tcgen05_shift_down(b.cells); }
};

template <class Issue>
void first(benchmark::State& state) {
  for (auto _ : state) report(state, burst_cycles(Issue{}, 1));
}
template <class Issue>
void interval(benchmark::State& state) {
  for (auto _ : state) report(state, interval_cycles(Issue{}));
}
#define GEN5_COPY(shape, name)                                                   \
  BENCHMARK(first<Copy<CpShape::shape>>)->Name("first/" name)->Apply(by_cycles); \
  BENCHMARK(interval<Copy<CpShape::shape>>)->Name("interval/" name)->Apply(by_cycles)
GEN5_COPY(r128x256b, "128x256b");
GEN5_COPY(r128x128b, "128x128b");
GEN5_COPY(r4x256b, "4x256b");
GEN5_COPY(r64x128b_warpx2_02_13, "64x128b_warpx2");
GEN5_COPY(r32x128b_warpx4, "32x128b_warpx4");
BENCHMARK(first<Shift>)->Name("first/shift")->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
