// What every probe shares. A probe is a Google Benchmark program whose time is not the host's: kernels measure
// themselves with clock64, and the benchmark reports that as manual time and as the counter `cycles`. It runs unchanged
// on silicon and on tinygpu; one run of a kernel is one sample, so on silicon add --benchmark_repetitions=4, and run it
// several times, as scripts/hardware does.
#pragma once
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include "common/harness/cuda_check.h"
#include "common/harness/device.h"

namespace gen5::probe {

/// Ends one iteration that took `cycles` SM cycles.
inline void report(benchmark::State& state, double cycles) {
  static const double hertz = harness::current_device().clock_ghz * 1e9;
  state.SetIterationTime(std::max(cycles, 0.0) / hertz);
  state.counters["cycles"] = cycles;
}

/// How every probe's benchmarks are run: by their own clock, one launch an iteration.
inline void by_cycles(benchmark::internal::Benchmark* b) {
  b->UseManualTime()->Iterations(1)->Unit(benchmark::kNanosecond);
}

/// Launches `run` on a device buffer of n counters and returns them.
template <class Launch>
std::vector<long long> measured(size_t n, Launch run) {
  harness::DeviceBuffer<long long> cycles(n);
  run(cycles.get());
  GEN5_CUDA(cudaGetLastError());
  GEN5_CUDA(cudaDeviceSynchronize());
  return cycles.download();
}

/// Reading the clock costs time itself: two reads with nothing between them.
__device__ __forceinline__ long long clock_cost() {
  const long long a = clock64();
  const long long b = clock64();
  return b - a;
}

/// The warp goes on only when `value` is there: without it the clock is read while loads are still under way. ptxas
/// leaves the test out where it knows that `value` cannot be `never`; a kernel parameter it does not know.
__device__ __forceinline__ void wait_for_value(unsigned value, unsigned never = 0xfffffffe) {
  asm volatile(
      "{\n\t"
      ".reg .pred p;\n\t"
      "setp.eq.u32 p, %0, %1;\n\t"
      "@p trap;\n\t"
      "}" ::"r"(value),
      "r"(never)
      : "memory");
}

/// The same value, which the compiler must keep: it would compute an address in shared memory anew where it is used,
/// which takes 33 cycles (S2UR), and that may be behind a read of the clock.
__device__ __forceinline__ uint32_t kept(uint32_t value) {
  asm volatile("" : "+r"(value));
  return value;
}

/// The SM's clock. The clobber keeps accesses to memory on their side of it.
__device__ __forceinline__ long long ticks() {
  long long t;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(t)::"memory");
  return t;
}

/// Cycles of a CTA for `n` calls of `body(i)`, from one __syncthreads to another, by the clock of its first warp. The
/// first of two rounds fills the instruction cache. The calls leave what they loaded in `result`, so that all of it is
/// waited for. Fixed costs of the frame drop out of a difference of two n.
template <int n, class Body>
__device__ __forceinline__ void timed(long long* cycles, uint32_t& result, Body body) {
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    const long long t0 = ticks();
#pragma unroll
    for (int i = 0; i < n; ++i) body(i);
    wait_for_value(result);
    __syncthreads();
    const long long t1 = ticks();
    if (threadIdx.x == 0) cycles[0] = t1 - t0;
  }
}

}  // namespace gen5::probe
