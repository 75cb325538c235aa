// Probe 00: cp.async. From issue to landed by size and by how many lines of 128 bytes a warp's copy touches; how long
// one warp, and an SM full of them, are held by each.
//
//   probe_00_cp_async [--benchmark_format=json]
#include "common/ptx/address.h"
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

constexpr int kFew = 8, kMany = 40;
constexpr uint32_t kWarpBytes = 2048;  // of shared memory and of global memory that each warp works at

template <int bytes>
__device__ __forceinline__ void copy(uint32_t to, const uint8_t* from) {
  if constexpr (bytes == 16)
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
  else
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(to), "l"(from), "n"(bytes) : "memory");
}
__device__ __forceinline__ void landed() {
  asm volatile("cp.async.commit_group;\n\tcp.async.wait_group 0;" ::: "memory");
}

/// Where a lane's bytes lie: the warp's `bytes` × 32 in so many rows, each in a line of its own.
__device__ __forceinline__ uint32_t place(uint32_t lane, uint32_t bytes, uint32_t rows) {
  const uint32_t a_row = 32 / rows;
  return lane / a_row * 1024 + lane % a_row * bytes;
}

/// One copy of one warp, from before its issue to behind the wait, summed over places 64 KiB apart; the first of two
/// passes brings them into L2.
template <int bytes>
__global__ void single(const uint8_t* memory, uint32_t rows, long long* cycles) {
  extern __shared__ __align__(128) uint8_t buffer[];
  const uint32_t to = kept(gen5::ptx::shared_address(buffer) + threadIdx.x * bytes);
  const uint8_t* from = memory + place(threadIdx.x, bytes, rows);
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    long long sum = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < kPlaces; ++i) {
      const long long t0 = ticks();
      copy<bytes>(to, from + i * kPlaceBytes);
      landed();
      sum += ticks() - t0;
    }
    if (threadIdx.x == 0) cycles[0] = sum;
  }
}
template <int bytes>
void latency(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(1,
                                  [&](long long* c) {
                                    single<bytes><<<1, 32, 1024>>>(source_memory(), uint32_t(state.range(0)), c);
                                  })[0]) /
                      kPlaces);
}
BENCHMARK(latency<4>)->Name("latency/bytes:4")->ArgNames({"rows"})->Arg(1)->Arg(8)->Apply(by_cycles);
BENCHMARK(latency<16>)
    ->Name("latency/bytes:16")
    ->ArgNames({"rows"})
    ->Arg(4)
    ->Arg(8)
    ->Arg(16)
    ->Arg(32)
    ->Apply(by_cycles);

/// Copies in a row of each warp: all land, or (`waits` false) those at the end are still on their way.
template <int bytes, int n, bool waits>
__global__ void __launch_bounds__(1024) many(const uint8_t* memory, uint32_t rows, long long* cycles) {
  extern __shared__ __align__(128) uint8_t buffer[];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const uint32_t to = kept(gen5::ptx::shared_address(buffer) + warp * kWarpBytes + lane * bytes);
  const uint8_t* from = memory + warp * 32768 + place(lane, bytes, rows);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    landed();
    __syncthreads();
    const long long t0 = ticks();
#pragma unroll
    for (int i = 0; i < n; ++i) copy<bytes>(to + i % 2 * 1024, from + i % 8 * 128);
    if constexpr (waits) {
      landed();
      __syncthreads();
    }
    const long long t1 = ticks();
    if (threadIdx.x == 0) cycles[0] = t1 - t0;
  }
  landed();
}
/// Cycles of the SM for a warp's copy.
template <int bytes>
void rate(benchmark::State& state) {
  const uint32_t rows = uint32_t(state.range(0));
  const int warps = int(state.range(1));
  constexpr int kBytes = 32 * int(kWarpBytes);
  for (auto _ : state) {
    const auto took = [&](auto kernel) {
      GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
      return double(measured(1, [&](long long* c) { kernel<<<1, 32 * warps, kBytes>>>(source_memory(), rows, c); })[0]);
    };
    report(state, (took(many<bytes, kMany, true>) - took(many<bytes, kFew, true>)) / ((kMany - kFew) * warps));
  }
}
BENCHMARK(rate<16>)
    ->Name("rate/bytes:16")
    ->ArgNames({"rows", "warps"})
    ->ArgsProduct({{4, 8, 16, 32}, {1, 4, 8, 16}})
    ->Apply(by_cycles);
BENCHMARK(rate<4>)->Name("rate/bytes:4")->ArgNames({"rows", "warps"})->ArgsProduct({{1, 8}, {1, 8}})->Apply(by_cycles);

/// Cycles until a warp that has issued so many goes on.
void issue(benchmark::State& state) {
  for (auto _ : state) {
    const auto took = [&](auto kernel) {
      return double(measured(1, [&](long long* c) { kernel<<<1, 32, 4096>>>(source_memory(), 8, c); })[0]);
    };
    report(state, (took(many<16, 6, false>) - took(many<16, 2, false>)) / 4);
  }
}
BENCHMARK(issue)->Name("issue/bytes:16/rows:8")->Apply(by_cycles);

// ---- What waits for copies that nobody has waited for

enum class Behind { clock, fence, proxy_fence, barrier };

/// From before the issue of `n` copies of a warp to behind `what`, summed over places as in single().
template <Behind what, int n>
__global__ void behind(const uint8_t* memory, long long* cycles) {
  extern __shared__ __align__(128) uint8_t buffer[];
  const uint32_t to = kept(gen5::ptx::shared_address(buffer) + threadIdx.x * 16);
  const uint8_t* from = memory + place(threadIdx.x, 16, 4);
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    long long sum = 0;
#pragma unroll 1
    for (uint32_t i = 0; i < kPlaces; ++i) {
      const long long t0 = ticks();
#pragma unroll
      for (int k = 0; k < n; ++k) copy<16>(to + k * 512, from + i * kPlaceBytes + k * 128);
      if constexpr (what == Behind::fence) asm volatile("fence.acq_rel.cta;" ::: "memory");
      if constexpr (what == Behind::proxy_fence) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      if constexpr (what == Behind::barrier) __syncthreads();
      sum += ticks() - t0;
      landed();
    }
    if (threadIdx.x == 0) cycles[0] = sum;
  }
}
template <Behind what, int n>
void until_behind(benchmark::State& state) {
  for (auto _ : state)
    report(state,
           double(measured(1, [&](long long* c) { behind<what, n><<<1, 32, 8 * 512>>>(source_memory(), c); })[0]) /
               kPlaces);
}
#define GEN5_BEHIND(NAME, WHAT)                                                                 \
  BENCHMARK(until_behind<Behind::WHAT, 0>)->Name("behind/" NAME "/copies:0")->Apply(by_cycles); \
  BENCHMARK(until_behind<Behind::WHAT, 1>)->Name("behind/" NAME "/copies:1")->Apply(by_cycles); \
  BENCHMARK(until_behind<Behind::WHAT, 8>)->Name("behind/" NAME "/copies:8")->Apply(by_cycles)
GEN5_BEHIND("clock", clock);
GEN5_BEHIND("fence", fence);
GEN5_BEHIND("proxy_fence", proxy_fence);
GEN5_BEHIND("barrier", barrier);

}  // namespace

BENCHMARK_MAIN();
