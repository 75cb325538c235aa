// Probe 00: the L1 cache. Latency of loads that hit it, by footprint; what its port charges a warp's load that hits, by
// width and stride; stores behind each other.
//
//   probe_00_l1 [--benchmark_format=json]
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

constexpr int kBatch = 8;           // loads whose results are waited for together
constexpr int kFew = 4, kMany = 8;  // batches
constexpr int kWarps = 16;

/// Every line holds the address of the next.
__global__ void chain(uint64_t* memory, int lines) {
  for (int i = int(threadIdx.x); i < lines; i += int(blockDim.x))
    memory[i * 16] = uint64_t(memory + (i + 1) % lines * 16);
}

/// Once through all lines to bring them in, then once more by the clock.
__global__ void follow(const uint64_t* memory, int lines, long long* cycles) {
  uint64_t at = uint64_t(memory);
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const long long t0 = ticks();
#pragma unroll 1
    for (int i = 0; i < lines; ++i) asm volatile("ld.global.ca.u64 %0, [%0];" : "+l"(at)::"memory");
    wait_for_value(uint32_t(at));
    cycles[0] = ticks() - t0;
  }
}

void latency(benchmark::State& state) {
  const int lines = int(state.range(0)) * 1024 / 128;
  auto* memory = reinterpret_cast<uint64_t*>(source_memory());
  for (auto _ : state) {
    chain<<<1, 256>>>(memory, lines);
    const auto c = measured(1, [&](long long* p) { follow<<<1, 1>>>(memory, lines, p); });
    report(state, double(c[0]) / lines);
  }
}
BENCHMARK(latency)->ArgNames({"kib"})->Arg(4)->Arg(32)->Arg(128)->Arg(192)->Arg(512)->Apply(by_cycles);

/// Lane i works at i * stride words; all warps alike. The first round of timed() fills the cache. `zero` is 0: without
/// it ptxas would make one access of several to the same place.
template <int width, bool stores, int n>
__global__ void many(uint32_t* memory, uint32_t stride, uint32_t zero, long long* cycles) {
  const uint32_t* at = memory + (threadIdx.x % 32) * stride;
  uint32_t result = 0;
  timed<n * kBatch>(cycles, result, [&](int) {
    uint32_t r[4] = {};
    at += zero;
    if constexpr (stores) {
      if constexpr (width == 1) asm volatile("st.global.u32 [%0], %1;" ::"l"(at), "r"(r[0]) : "memory");
      if constexpr (width == 4)
        asm volatile("st.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3])
                     : "memory");
    } else {
      if constexpr (width == 1) asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(r[0]) : "l"(at) : "memory");
      if constexpr (width == 2)
        asm volatile("ld.global.ca.v2.u32 {%0, %1}, [%2];" : "=r"(r[0]), "=r"(r[1]) : "l"(at) : "memory");
      if constexpr (width == 4)
        asm volatile("ld.global.ca.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "l"(at)
                     : "memory");
    }
    result ^= r[0] ^ r[1] ^ r[2] ^ r[3];
  });
}

/// Cycles of the SM for one warp's access among many, of kWarps warps.
template <int width, bool stores>
void port(benchmark::State& state) {
  const auto stride = uint32_t(state.range(0));
  auto* memory = reinterpret_cast<uint32_t*>(source_memory());
  for (auto _ : state) {
    const auto few =
        measured(1, [&](long long* c) { many<width, stores, kFew><<<1, 32 * kWarps>>>(memory, stride, 0, c); });
    const auto most =
        measured(1, [&](long long* c) { many<width, stores, kMany><<<1, 32 * kWarps>>>(memory, stride, 0, c); });
    report(state, double(most[0] - few[0]) / ((kMany - kFew) * kBatch * kWarps));
  }
}
BENCHMARK(port<1, false>)->Name("load_32")->ArgNames({"stride"})->RangeMultiplier(2)->Range(1, 32)->Apply(by_cycles);
BENCHMARK(port<2, false>)->Name("load_64")->ArgNames({"stride"})->Arg(2)->Arg(4)->Arg(32)->Apply(by_cycles);
BENCHMARK(port<4, false>)->Name("load_128")->ArgNames({"stride"})->Arg(4)->Arg(8)->Arg(32)->Apply(by_cycles);
BENCHMARK(port<1, true>)->Name("store_32")->ArgNames({"stride"})->RangeMultiplier(2)->Range(1, 32)->Apply(by_cycles);
BENCHMARK(port<4, true>)->Name("store_128")->ArgNames({"stride"})->Arg(4)->Arg(8)->Arg(32)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
