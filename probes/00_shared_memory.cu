// Probe 00: shared memory. Latency, passes by stride and access width, broadcast, transposes.
//
//   probe_00_shared_memory [--benchmark_format=json]
#include "common/ptx/address.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kLoads = 64, kWords = 8192, kWarps = 16;

// One warp follows pointers: each load waits for the one before.
__global__ void chase(long long* cycles) {
  __shared__ uint32_t next[32];
  next[threadIdx.x] = shared_address(&next[threadIdx.x]);
  __syncwarp();
  uint32_t at = next[threadIdx.x];
  const long long t0 = clock64();
#pragma unroll
  for (int i = 0; i < kLoads; ++i) asm volatile("ld.shared.u32 %0, [%0];" : "+r"(at)::"memory");
  wait_for_value(at);
  const long long t1 = clock64();
  if (threadIdx.x == 0) cycles[0] = t1 - t0, cycles[1] = at;
}

void latency(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(2, [](long long* c) { chase<<<1, 32>>>(c); })[0]) / kLoads);
}
BENCHMARK(latency)->Apply(by_cycles);

// Independent loads, `width` words each, lane i at i * stride accesses; 16 warps keep the port busy.
template <int width>
__global__ void strided(long long* cycles, uint32_t stride) {
  __shared__ alignas(16) uint32_t words[kWords];
  for (uint32_t i = threadIdx.x; i < kWords; i += blockDim.x) words[i] = i;
  const uint32_t at = shared_address(words) + threadIdx.x % 32 * stride * 4 * width % (kWords * 4);
  uint32_t sum = 0;
  __syncthreads();
  const long long t0 = clock64();
#pragma unroll 16
  for (int i = 0; i < kLoads; ++i) {
    uint32_t a, b, c, d;
    if constexpr (width == 1) {
      asm volatile("ld.shared.u32 %0, [%1];" : "=r"(a) : "r"(at) : "memory");
      sum += a;
    } else if constexpr (width == 2) {
      asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(a), "=r"(b) : "r"(at) : "memory");
      sum += a ^ b;
    } else {
      asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
                   : "r"(at)
                   : "memory");
      sum += a ^ b ^ c ^ d;
    }
  }
  wait_for_value(sum);
  __syncthreads();
  const long long t1 = clock64();
  if (threadIdx.x == 0) cycles[0] = t1 - t0;
  if (sum == 0xffffffff) cycles[1] = sum;
}

// Cycles of the port for one warp's access: the passes.
void passes(benchmark::State& state) {
  const uint32_t stride = uint32_t(state.range(1));
  for (auto _ : state) {
    const auto c = measured(2, [&](long long* p) {
      if (state.range(0) == 32) strided<1><<<1, kWarps * 32>>>(p, stride);
      if (state.range(0) == 64) strided<2><<<1, kWarps * 32>>>(p, stride);
      if (state.range(0) == 128) strided<4><<<1, kWarps * 32>>>(p, stride);
    });
    report(state, double(c[0]) / (kWarps * kLoads));
  }
}
BENCHMARK(passes)
    ->ArgNames({"bits", "stride"})
    ->ArgsProduct({{32, 64, 128}, {0, 1, 2, 3, 4, 8, 16, 32}})
    ->Apply(by_cycles);

// A 32 × 32 tile written by rows and read by columns: naive, with a padded pitch, and with columns XOR rows.
__global__ void transposed(long long* cycles, int how) {
  __shared__ uint32_t tile[32 * 33];
  const uint32_t lane = threadIdx.x;
  const auto at = [&](uint32_t row, uint32_t column) {
    return how == 0 ? row * 32 + column : how == 1 ? row * 33 + column : row * 32 + (column ^ row);
  };
  uint32_t sum = 0;
  for (uint32_t row = 0; row < 32; ++row) tile[at(row, lane)] = row * lane;
  __syncwarp();
  const long long t0 = clock64();
#pragma unroll
  for (uint32_t column = 0; column < 32; ++column) {
    uint32_t v;
    asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(shared_address(&tile[at(lane, column)])) : "memory");
    sum += v;
  }
  wait_for_value(sum);
  const long long t1 = clock64();
  if (lane == 0) cycles[0] = t1 - t0;
  if (sum == 0xffffffff) cycles[1] = sum;
}
void transpose(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(2, [&](long long* c) { transposed<<<1, 32>>>(c, int(state.range(0))); })[0]) / 32);
}
BENCHMARK(transpose)->ArgNames({"how"})->DenseRange(0, 2)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
