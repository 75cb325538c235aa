// Probe 03: what tcgen05.alloc, dealloc and relinquish_alloc_permit cost.
//
//   probe_03_tmem_alloc [--benchmark_format=json]
#include "common/ptx/cluster.h"
#include "common/ptx/tcgen05_alloc.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

/// The value is in a register before the clock starts.
__device__ uint32_t ready(uint32_t value) {
  asm volatile("add.u32 %0, %0, 0;" : "+r"(value));
  return value;
}

// One warp alone on its SM. cycles: alloc, dealloc, relinquish.
__global__ void alone(long long* cycles, uint32_t columns) {
  __shared__ uint32_t address;
  const uint32_t slot = ready(shared_address(&address));
  const long long read = clock_cost();
  const long long t0 = clock64();
  tcgen05_alloc(slot, columns);
  const long long t1 = clock64();
  __syncwarp();
  const uint32_t uniform = ready(address);
  const long long t2 = clock64();
  tcgen05_relinquish_alloc_permit();
  const long long t3 = clock64();
  tcgen05_dealloc(uniform, columns);
  const long long t4 = clock64();
  if (threadIdx.x == 0) {
    cycles[0] = t1 - t0 - read;
    cycles[1] = t4 - t3 - read;
    cycles[2] = t3 - t2 - read;
  }
}

void alloc(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(3, [&](long long* c) { alone<<<1, 32>>>(c, uint32_t(state.range(0))); })[0]));
}
void dealloc(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(3, [&](long long* c) { alone<<<1, 32>>>(c, uint32_t(state.range(0))); })[1]));
}
void relinquish(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(3, [&](long long* c) { alone<<<1, 32>>>(c, 32); })[2]));
}
BENCHMARK(alloc)->RangeMultiplier(2)->Range(32, 512)->Apply(by_cycles);
BENCHMARK(dealloc)->RangeMultiplier(2)->Range(32, 512)->Apply(by_cycles);
BENCHMARK(relinquish)->Apply(by_cycles);

__device__ uint32_t sm_id() {
  uint32_t id;
  asm("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

// Two CTAs on each SM, all columns each, freed at once: the second has to wait for the first. cycles: SM, alloc.
__global__ void contended(long long* cycles) {
  __shared__ uint32_t address;
  const uint32_t slot = ready(shared_address(&address));
  const long long read = clock_cost();
  const long long t0 = clock64();
  tcgen05_alloc(slot, 512);
  const long long t1 = clock64();
  __syncwarp();
  tcgen05_dealloc(address, 512);
  if (threadIdx.x == 0) {
    cycles[2 * blockIdx.x] = sm_id();
    cycles[2 * blockIdx.x + 1] = t1 - t0 - read;
  }
}

void alloc_contended(benchmark::State& state) {
  const uint32_t ctas = 2 * uint32_t(gen5::harness::current_device().sms);
  for (auto _ : state) {
    const auto c = measured(2 * ctas, [&](long long* p) { contended<<<ctas, 32>>>(p); });
    // The slower of an SM's two; the median over the SMs.
    std::vector<double> waits;
    for (uint32_t i = 0; i < ctas; ++i)
      for (uint32_t k = i + 1; k < ctas; ++k)
        if (c[2 * i] == c[2 * k]) waits.push_back(double(std::max(c[2 * i + 1], c[2 * k + 1])));
    std::sort(waits.begin(), waits.end());
    report(state, waits.empty() ? 0 : waits[waits.size() / 2]);
  }
}
BENCHMARK(alloc_contended)->Apply(by_cycles);

// cta_group::2 by two CTAs that come together. cycles of CTA 0: alloc, dealloc.
__global__ void __cluster_dims__(2) pair_cost(long long* cycles) {
  __shared__ uint32_t address;
  const uint32_t slot = ready(shared_address(&address));
  const long long read = clock_cost();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const long long t0 = clock64();
  tcgen05_alloc<2>(slot, 128);
  const long long t1 = clock64();
  __syncwarp();
  const uint32_t uniform = ready(address);
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const long long t2 = clock64();
  tcgen05_dealloc<2>(uniform, 128);
  const long long t3 = clock64();
  if (threadIdx.x == 0 && blockIdx.x == 0) {
    cycles[0] = t1 - t0 - read;
    cycles[1] = t3 - t2 - read;
  }
}

void alloc_pair(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(2, [](long long* c) { pair_cost<<<2, 32>>>(c); })[0]));
}
void dealloc_pair(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(2, [](long long* c) { pair_cost<<<2, 32>>>(c); })[1]));
}
BENCHMARK(alloc_pair)->Apply(by_cycles);
BENCHMARK(dealloc_pair)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
