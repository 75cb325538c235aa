// Probe 00: setmaxnreg. Of three warpgroups one gives registers, and two take more: at once, when they have long been
// free, or after a wait for them.
//
//   probe_00_setmaxnreg [--benchmark_format=json]
//
// `cycles`: from one read of the clock to the other, the mean of the warps that give (.dec) or take (.inc); of those
// that wait for what is given later, from the begin of the giving on.
#include "common/harness/cuda_check.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

constexpr int kWarps = 12, kGivers = 4;
constexpr long long kLater = 3000;

__device__ __forceinline__ void wait_until(long long t) {
  while (ticks() < t) {
  }
}

/// Warps begin so many cycles behind a barrier of all.
__global__ void __launch_bounds__(32 * kWarps, 1) change(long long givers, long long takers, long long* cycles) {
  const bool gives = threadIdx.x < 32 * kGivers;
  __syncthreads();
  wait_until(ticks() + (gives ? givers : takers));
  const long long t0 = ticks();
  if (gives)
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;" ::: "memory");
  else
    asm volatile("setmaxnreg.inc.sync.aligned.u32 232;" ::: "memory");
  const long long t1 = ticks();
  if (threadIdx.x % 32 == 0) {
    cycles[threadIdx.x / 32 * 2] = t0;
    cycles[threadIdx.x / 32 * 2 + 1] = t1;
  }
}

enum Moment { kBegin, kEnd };
/// The mean of the warps' clocks.
double mean(const std::vector<long long>& c, bool gives, Moment moment) {
  double sum = 0;
  for (int w = gives ? 0 : kGivers; w < (gives ? kGivers : kWarps); ++w) sum += double(c[size_t(2 * w + moment)]);
  return sum / (gives ? kGivers : kWarps - kGivers);
}

/// From the begin of the warps that give, or of those that take, to the end of one of them.
void setmaxnreg(benchmark::State& state, bool from_givers, bool to_givers, long long givers, long long takers) {
  for (auto _ : state) {
    std::vector<long long> c;
    for (int launch = 0; launch < 2; ++launch)
      c = measured(2 * kWarps, [&](long long* p) { change<<<1, 32 * kWarps>>>(givers, takers, p); });
    report(state, mean(c, to_givers, kEnd) - mean(c, from_givers, kBegin));
  }
}
BENCHMARK_CAPTURE(setmaxnreg, dec, true, true, 0, kLater)->Name("setmaxnreg/dec")->Apply(by_cycles);
BENCHMARK_CAPTURE(setmaxnreg, inc_free, false, false, 0, kLater)->Name("setmaxnreg/inc/free")->Apply(by_cycles);
BENCHMARK_CAPTURE(setmaxnreg, inc_waits, true, false, kLater, 0)->Name("setmaxnreg/inc/waits")->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
