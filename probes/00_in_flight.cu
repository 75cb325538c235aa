// Probe 00: latency under load. Warps of all SMs load, wait for what they loaded, and load again: cycles of such a
// round by how many CTAs of 8 warps have how many loads in flight, of how many words a thread, from L2 and from device
// memory; with and without a store behind each load.
//
//   probe_00_in_flight [--benchmark_format=json]
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

constexpr int kThreads = 256;
constexpr uint64_t kStretch = uint64_t(256) << 20;
constexpr uint64_t kInL2 = uint64_t(8) << 20;

template <int words>
__device__ __forceinline__ uint32_t load(const uint8_t* from) {
  uint32_t r[4] = {};
  if constexpr (words == 4)
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "l"(from)
                 : "memory");
  else
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(r[0]) : "l"(from) : "memory");
  return r[0] ^ r[1] ^ r[2] ^ r[3];
}
template <int words>
__device__ __forceinline__ void store(uint8_t* to, uint32_t value) {
  if constexpr (words == 4)
    asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(value) : "memory");
  else
    asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}

/// All threads of the grid walk side by side: `loads` words of each in a round, then one wait for them, and as many
/// stores. The first round finds no translation and is not timed. Memory repeats behind `mask`.
template <int words, int loads, bool stores>
__global__ void __launch_bounds__(kThreads)
    rounds_of_loads(const uint8_t* from, uint8_t* to, uint64_t mask, int rounds, long long* cycles) {
  const uint64_t step = uint64_t(gridDim.x) * kThreads * words * 4;
  uint64_t at = (uint64_t(blockIdx.x) * kThreads + threadIdx.x) * words * 4;
  long long t0 = 0;
#pragma unroll 1
  for (int round = -1; round < rounds; ++round) {
    if (round == 0) {
      __syncthreads();
      t0 = ticks();
    }
    uint32_t got[loads], all = 0;
#pragma unroll
    for (int i = 0; i < loads; ++i) got[i] = load<words>(from + ((at + uint64_t(i) * step) & mask));
#pragma unroll
    for (int i = 0; i < loads; ++i) all ^= got[i];
    wait_for_value(all);
    if constexpr (stores) {
#pragma unroll
      for (int i = 0; i < loads; ++i) store<words>(to + ((at + uint64_t(i) * step) & mask), got[i]);
    }
    at += loads * step;
  }
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}

/// Three stretches: what is read, what is written, and what drives both out of L2.
uint8_t* stretch(int which) {
  static gen5::harness::DeviceBuffer<uint8_t> memory(3 * kStretch);
  [[maybe_unused]] static const bool zeroed = (memory.fill(0), true);
  return memory.get() + uint64_t(which) * kStretch;
}

/// Cycles of a round, mean of all CTAs. `far`: from device memory.
template <int words, int loads, bool stores, bool far>
void in_flight(benchmark::State& state) {
  const int ctas = int(state.range(0));
  const uint64_t a_round = uint64_t(ctas) * kThreads * words * 4 * loads;
  const int rounds = far ? int(std::min<uint64_t>(24, kStretch / a_round - 1)) : 24;
  for (auto _ : state) {
    const auto run = [&](const uint8_t* from, uint64_t mask, int times) {
      return measured(size_t(ctas), [&](long long* p) {
        rounds_of_loads<words, loads, stores><<<ctas, kThreads>>>(from, stretch(1), mask, times, p);
      });
    };
    if (far)
      measured(132 * 8, [&](long long* p) {
        rounds_of_loads<4, 1, false><<<132 * 8, kThreads>>>(stretch(2), nullptr, kStretch - 1, 48, p);
      });
    else
      run(stretch(0), kInL2 - 1, 24);
    const auto c = run(stretch(0), (far ? kStretch : kInL2) - 1, rounds);
    double sum = 0;
    for (long long cycles : c) sum += double(cycles);
    report(state, sum / ctas / rounds);
  }
}
// CTAs of 8 warps: one on each of 8 or 128 SMs, and 1 to 8 on each of 132.
void by_ctas(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ctas"})->ArgsProduct({{132, 264, 528, 1056}});
  by_cycles(b);
}
void from_few(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ctas"})->ArgsProduct({{8, 128, 132, 264, 528, 1056}});
  by_cycles(b);
}
#define GEN5_IN_FLIGHT(words, loads, stores, far, name, rows) \
  BENCHMARK(in_flight<words, loads, stores, far>)->Name(name "/words:" #words "/loads:" #loads)->Apply(rows)
GEN5_IN_FLIGHT(1, 1, false, true, "dram", from_few);
GEN5_IN_FLIGHT(1, 4, false, true, "dram", by_ctas);
GEN5_IN_FLIGHT(4, 1, false, true, "dram", from_few);
GEN5_IN_FLIGHT(4, 4, false, true, "dram", by_ctas);
GEN5_IN_FLIGHT(1, 1, true, true, "dram_and_store", from_few);
GEN5_IN_FLIGHT(1, 4, true, true, "dram_and_store", by_ctas);
GEN5_IN_FLIGHT(4, 1, true, true, "dram_and_store", by_ctas);
GEN5_IN_FLIGHT(1, 1, false, false, "l2", from_few);
GEN5_IN_FLIGHT(1, 4, false, false, "l2", by_ctas);
GEN5_IN_FLIGHT(4, 1, false, false, "l2", from_few);
GEN5_IN_FLIGHT(1, 1, true, false, "l2_and_store", from_few);
GEN5_IN_FLIGHT(4, 1, true, false, "l2_and_store", by_ctas);

}  // namespace

BENCHMARK_MAIN();
