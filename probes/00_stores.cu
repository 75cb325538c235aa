// Probe 00: stores by pattern. How many lines of 128 bytes and sectors of 32 a warp's store touches, how wide its lanes
// write, and what an SM, and all of them, get rid of in L2.
//
//   probe_00_stores [--benchmark_format=json]
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

constexpr int kThreads = 512, kWarps = kThreads / 32;
constexpr uint32_t kSmBytes = 128 * 1024;
constexpr int kStores = 64;  // of a warp, behind each other: a pass through what is its own

/// A warp's store writes `rows` stretches of 32 / rows lanes, `pitch` bytes apart; the next store goes on behind them
/// in the same lines, and with the last of a line the next `rows` lines follow.
template <int words, uint32_t rows>
__device__ __forceinline__ uint32_t place(uint32_t lane, uint32_t i) {
  constexpr uint32_t a_row = 32 / rows, bytes = a_row * words * 4;
  constexpr uint32_t in_line = bytes < 128 ? 128 / bytes : 1, width = bytes < 128 ? 128 : bytes;
  return (i / in_line * rows + lane / a_row) * width + i % in_line * bytes + lane % a_row * words * 4;
}

template <int words, uint32_t rows>
__global__ void __launch_bounds__(kThreads) pass_through(uint8_t* memory, int passes, long long* cycles) {
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t mask = kSmBytes / kWarps - 1;
  uint8_t* own = memory + uint64_t(blockIdx.x) * kSmBytes + warp * (kSmBytes / kWarps);
  const uint32_t value = uint32_t(passes);
  long long t0 = 0;
#pragma unroll 1
  for (int pass = -1; pass < passes; ++pass) {
    if (pass == 0) {
      __syncthreads();
      t0 = ticks();
    }
#pragma unroll
    for (uint32_t i = 0; i < kStores; ++i) {
      uint8_t* to = own + (place<words, rows>(lane, i) & mask);
      if constexpr (words == 4)
        asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(value) : "memory");
      else if constexpr (words == 2)
        asm volatile("st.global.v2.u32 [%0], {%1, %1};" ::"l"(to), "r"(value) : "memory");
      else
        asm volatile("st.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}

/// Cycles of an SM for a warp's store, mean of the SMs that work.
template <int words, uint32_t rows>
void rate(benchmark::State& state) {
  static gen5::harness::DeviceBuffer<uint8_t> memory(uint64_t(gen5::harness::current_device().sms) * kSmBytes);
  const int ctas = int(state.range(0)), passes = 6;
  for (auto _ : state) {
    const auto c = measured(
        size_t(ctas), [&](long long* p) { pass_through<words, rows><<<ctas, kThreads>>>(memory.get(), passes, p); });
    double sum = 0;
    for (long long cycles : c) sum += double(cycles);
    report(state, sum / ctas / (passes * kStores * kWarps));
  }
}
void by_sms(benchmark::internal::Benchmark* b) {
  b->ArgNames({"sms"})->Arg(1)->Arg(16)->Arg(132);
  by_cycles(b);
}
#define GEN5_STORES(words, rows) BENCHMARK(rate<words, rows>)->Name("store/words:" #words "/rows:" #rows)->Apply(by_sms)
GEN5_STORES(1, 1);
GEN5_STORES(1, 4);
GEN5_STORES(1, 8);
GEN5_STORES(1, 16);
GEN5_STORES(1, 32);
GEN5_STORES(2, 2);
GEN5_STORES(2, 4);
GEN5_STORES(2, 8);
GEN5_STORES(2, 16);
GEN5_STORES(2, 32);
GEN5_STORES(4, 4);
GEN5_STORES(4, 8);
GEN5_STORES(4, 16);
GEN5_STORES(4, 32);

}  // namespace

BENCHMARK_MAIN();
