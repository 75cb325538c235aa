// Probe 00: atomics. Latency and rate at L2 by how the lanes' and the SMs' addresses meet, and in shared memory.
//
//   probe_00_atomics [--benchmark_format=json]
#include "common/ptx/address.h"
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kFew = 16, kMany = 48;

// ---- Latency: one thread, each needs what the one before returned

template <bool shared, int n>
__global__ void chained(uint32_t* memory, long long* cycles) {
  __shared__ uint32_t word;
  word = 0;
  uint32_t value = 0;
  timed<n>(cycles, value, [&](int) {
    if constexpr (shared)
      asm volatile("atom.shared.exch.b32 %0, [%1], %0;" : "+r"(value) : "r"(shared_address(&word)) : "memory");
    else
      asm volatile("atom.global.exch.b32 %0, [%1], %0;" : "+r"(value) : "l"(memory) : "memory");
  });
}
template <bool shared>
void latency(benchmark::State& state) {
  auto* memory = reinterpret_cast<uint32_t*>(source_memory());
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { chained<shared, kFew><<<1, 1>>>(memory, c); });
    const auto many = measured(1, [&](long long* c) { chained<shared, kMany><<<1, 1>>>(memory, c); });
    report(state, double(many[0] - few[0]) / (kMany - kFew));
  }
}
BENCHMARK(latency<false>)->Name("latency_global")->Apply(by_cycles);
BENCHMARK(latency<true>)->Name("latency_shared")->Apply(by_cycles);

// ---- Rates at L2

enum class Kind { red, atom, red_float };

/// Lane i of CTA b works at word b * per_cta + i * per_lane, all warps of a CTA alike.
template <Kind kind, int n>
__global__ void global_rate(uint32_t* memory, uint32_t per_cta, uint32_t per_lane, uint32_t value, long long* cycles) {
  uint32_t* at = memory + blockIdx.x * per_cta + threadIdx.x % 32 * per_lane;
  uint32_t result = 0;
  __syncthreads();
  const long long t0 = ticks();
#pragma unroll
  for (int i = 0; i < n; ++i) {
    if constexpr (kind == Kind::red) asm volatile("red.global.add.u32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
    if constexpr (kind == Kind::red_float)
      asm volatile("red.global.add.f32 [%0], %1;" ::"l"(at), "f"(__uint_as_float(value)) : "memory");
    if constexpr (kind == Kind::atom) {
      uint32_t r;
      asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(r) : "l"(at), "r"(value) : "memory");
      result ^= r;
    }
  }
  // The end of those that return nothing: one that returns, in order behind them.
  if constexpr (kind != Kind::atom)
    asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(result) : "l"(at), "r"(value) : "memory");
  wait_for_value(result);
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}

/// Cycles of an SM for a warp's operation, while `sms` SMs with 4 warps each do the same.
template <Kind kind>
void rate(benchmark::State& state) {
  const auto sms = uint32_t(state.range(0)), per_cta = uint32_t(state.range(1)), per_lane = uint32_t(state.range(2));
  auto* memory = reinterpret_cast<uint32_t*>(source_memory());
  for (auto _ : state) {
    const auto few =
        measured(sms, [&](long long* c) { global_rate<kind, kFew><<<sms, 128>>>(memory, per_cta, per_lane, 0, c); });
    const auto many =
        measured(sms, [&](long long* c) { global_rate<kind, kMany><<<sms, 128>>>(memory, per_cta, per_lane, 0, c); });
    double difference = 0;
    for (size_t i = 0; i < sms; ++i) difference += double(many[i] - few[i]);
    report(state, difference / sms / ((kMany - kFew) * 4));
  }
}
void patterns(benchmark::internal::Benchmark* b) {
  b->ArgNames({"sms", "per_cta", "per_lane"});
  for (const int sms : {1, 16, 132}) {
    b->Args({sms, 0, 0});      // one word
    b->Args({sms, 0, 1});      // one line's words
    b->Args({sms, 0, 32});     // 32 lines
    b->Args({sms, 32, 0});     // a word of its own for each SM
    b->Args({sms, 32, 1});     // a line of its own
    b->Args({sms, 1024, 8});   // sectors of its own
    b->Args({sms, 1024, 32});  // lines of its own
  }
  by_cycles(b);
}
BENCHMARK(rate<Kind::red>)->Name("red")->Apply(patterns);
BENCHMARK(rate<Kind::atom>)->Name("atom")->Apply(patterns);
BENCHMARK(rate<Kind::red_float>)
    ->Name("red_f32")
    ->ArgNames({"sms", "per_cta", "per_lane"})
    ->Args({1, 32, 1})
    ->Args({132, 0, 0})
    ->Args({132, 32, 1})
    ->Args({132, 1024, 32})
    ->Apply(by_cycles);

// ---- Shared memory

/// `ways` lanes meet at each word; words lie `stride` apart.
template <bool ones, int n>
__global__ void shared_rate(uint32_t ways, uint32_t stride, uint32_t value, long long* cycles) {
  __shared__ uint32_t words[1024];
  for (uint32_t i = threadIdx.x; i < 1024; i += blockDim.x) words[i] = 0;
  const uint32_t at = kept(shared_address(&words[threadIdx.x % 32 / ways * stride % 1024]));
  uint32_t result = 0;
  timed<n>(cycles, result, [&](int) {
    if constexpr (ones)
      asm volatile("red.shared.add.u32 [%0], 1;" ::"r"(at) : "memory");
    else
      asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(value) : "memory");
  });
}
template <bool ones>
void in_shared(benchmark::State& state) {
  const auto ways = uint32_t(state.range(0)), stride = uint32_t(state.range(1));
  const int warps = int(state.range(2));
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { shared_rate<ones, kFew><<<1, 32 * warps>>>(ways, stride, 3, c); });
    const auto many =
        measured(1, [&](long long* c) { shared_rate<ones, kMany><<<1, 32 * warps>>>(ways, stride, 3, c); });
    report(state, double(many[0] - few[0]) / ((kMany - kFew) * warps));
  }
}
void ways(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ways", "stride", "warps"});
  for (const int warps : {1, 8}) {
    for (const int w : {1, 2, 4, 8, 16, 32}) b->Args({w, 1, warps});
    b->Args({1, 2, warps});
    b->Args({1, 32, warps});
  }
  by_cycles(b);
}
BENCHMARK(in_shared<false>)->Name("shared_add")->Apply(ways);
BENCHMARK(in_shared<true>)->Name("shared_add_one")->Apply(ways);

}  // namespace

BENCHMARK_MAIN();
