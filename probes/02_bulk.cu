// Probe 02, linear copies: cp.async.bulk and cp.reduce.async.bulk by one SM. Latency by size and level, cost of issue,
// throughput by size, stores, reductions, copies to another CTA.
//
//   probe_02_bulk [--benchmark_format=json]
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr uint32_t kBuffer = 128 * 1024;
constexpr int kFew = 8, kMany = 40;  // copies, in eights

template <class Kernel>
void allow_buffer(Kernel* kernel) {
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBuffer));
}

// ---- Loads

/// From before the issue to behind the wait, summed over places 64 KiB apart: L2 is nearer for some than for others.
/// `passes` 2: the first brings all of them into L2. 1: they come from where they are, and the first place, which finds
/// no translation of its address, is not counted.
__global__ void single_loads(const uint8_t* from, uint32_t bytes, int passes, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), to = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    long long sum = 0;
#pragma unroll 1
    for (uint32_t place = 0; place < kPlaces; ++place) {
      const uint8_t* source = from + place * kPlaceBytes;
      mbarrier_arrive_expect_tx(bar, bytes);
      const long long t0 = ticks();
      bulk_load(to, source, bytes, bar);
      mbarrier_wait_parity(bar, place & 1);
      const long long t1 = ticks();
      if (passes > 1 || place > 0) sum += t1 - t0;
    }
    cycles[0] = sum;
  }
}

double mean_load(uint32_t bytes, int passes) {
  allow_buffer(single_loads);
  const auto c = measured(1, [&](long long* p) { single_loads<<<1, 1, kBuffer>>>(source_memory(), bytes, passes, p); });
  return double(c[0]) / (passes > 1 ? kPlaces : kPlaces - 1);
}

void load_latency(benchmark::State& state) {
  for (auto _ : state) report(state, mean_load(uint32_t(state.range(0)), 2));
}
BENCHMARK(load_latency)->ArgNames({"bytes"})->RangeMultiplier(2)->Range(16, 65536)->Apply(by_cycles);

void load_latency_dram(benchmark::State& state) {
  for (auto _ : state) {
    empty_l2();
    report(state, mean_load(uint32_t(state.range(0)), 1));
  }
}
BENCHMARK(load_latency_dram)->ArgNames({"bytes"})->RangeMultiplier(2)->Range(128, 65536)->Apply(by_cycles);

enum Step { issue_loads, issue_stores, issue_reductions, issue_prefetches };

/// Cycles until the thread has issued n operations of 16 bytes.
template <int step, int n>
__global__ void issues(uint8_t* memory, long long* cycles) {
  __shared__ alignas(128) uint8_t buffer[128];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), at = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
#pragma unroll 1
  for (uint32_t round = 0; round < 2; ++round) {
    if (step == issue_loads) mbarrier_arrive_expect_tx(bar, 16 * n);
    const long long t0 = ticks();
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if constexpr (step == issue_loads) bulk_load(at, memory, 16, bar);
      if constexpr (step == issue_stores) bulk_store(memory, at, 16);
      if constexpr (step == issue_reductions)
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%0], [%1], 16;" ::"l"(memory), "r"(at)
                     : "memory");
      if constexpr (step == issue_prefetches)
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], 16;" ::"l"(memory) : "memory");
    }
    const long long t1 = ticks();
    cycles[0] = t1 - t0;
    if (step == issue_loads) mbarrier_wait_parity(bar, round);
    bulk_commit_group();
    bulk_wait_group<0>();
  }
}

template <int step>
void issue(benchmark::State& state) {
  for (auto _ : state) {
    const auto few = measured(1, [](long long* c) { issues<step, 4><<<1, 1>>>(source_memory(), c); });
    const auto many = measured(1, [](long long* c) { issues<step, 8><<<1, 1>>>(source_memory(), c); });
    report(state, double(many[0] - few[0]) / 4);
  }
}
BENCHMARK(issue<issue_loads>)->Name("issue/load")->Apply(by_cycles);
BENCHMARK(issue<issue_stores>)->Name("issue/store")->Apply(by_cycles);
BENCHMARK(issue<issue_reductions>)->Name("issue/reduce")->Apply(by_cycles);
BENCHMARK(issue<issue_prefetches>)->Name("issue/prefetch")->Apply(by_cycles);

/// 8 `eights` loads of `bytes` in flight, from the first issue to the last byte; all of them in L2 after the first
/// round.
__global__ void many_loads(const uint8_t* memory, uint32_t bytes, int eights, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), to = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
#pragma unroll 1
  for (uint32_t round = 0; round < 2; ++round) {
    const long long t0 = ticks();
    mbarrier_arrive_expect_tx(bar, bytes * 8 * uint32_t(eights));
#pragma unroll 1
    for (int i = 0; i < eights; ++i)
#pragma unroll
      for (uint32_t k = 0; k < 8; ++k) bulk_load(to + k % 4 * (kBuffer / 4), memory + k % 4 * kPlaceBytes, bytes, bar);
    mbarrier_wait_parity(bar, round);
    const long long t1 = ticks();
    cycles[0] = t1 - t0;
  }
}

// Cycles of one copy among many.
void load_rate(benchmark::State& state) {
  allow_buffer(many_loads);
  const uint32_t bytes = uint32_t(state.range(0));
  for (auto _ : state) {
    const auto run = [&](int count) {
      return double(
          measured(1, [&](long long* c) { many_loads<<<1, 1, kBuffer>>>(source_memory(), bytes, count / 8, c); })[0]);
    };
    const double cycles = (run(kMany) - run(kFew)) / (kMany - kFew);
    report(state, cycles);
    state.counters["bytes_per_cycle"] = bytes / cycles;
  }
}
BENCHMARK(load_rate)->ArgNames({"bytes"})->RangeMultiplier(2)->Range(16, 16384)->Apply(by_cycles);

// ---- Stores and reductions

enum Operation { plain_store, add_u32, add_u64, add_f32, add_f16, min_s32 };

template <int operation>
__device__ __forceinline__ void put(uint8_t* to, uint32_t from, uint32_t bytes) {
#define GEN5_REDUCE(WHAT)                                                                                          \
  asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." WHAT " [%0], [%1], %2;" ::"l"(to), "r"(from), \
               "r"(bytes)                                                                                          \
               : "memory")
  if constexpr (operation == plain_store) bulk_store(to, from, bytes);
  if constexpr (operation == add_u32) GEN5_REDUCE("add.u32");
  if constexpr (operation == add_u64) GEN5_REDUCE("add.u64");
  if constexpr (operation == add_f32) GEN5_REDUCE("add.f32");
  if constexpr (operation == add_f16) GEN5_REDUCE("add.noftz.f16");
  if constexpr (operation == min_s32) GEN5_REDUCE("min.s32");
#undef GEN5_REDUCE
}

__device__ __forceinline__ void zero(uint8_t* buffer, uint32_t bytes) {
  for (uint32_t k = 0; k < 4; ++k)
    for (uint32_t i = 0; i < bytes / 4; ++i) reinterpret_cast<uint32_t*>(buffer + k * (kBuffer / 4))[i] = 0;
  fence_proxy_async();
}

/// One operation: the clock before it, when its source has been read, and when all is written. Subtracting waits for
/// the clock, so that is the host's work.
template <int operation>
__global__ void one_put(uint8_t* memory, uint32_t bytes, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  const uint32_t from = shared_address(buffer);
  zero(buffer, bytes);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const long long t0 = ticks();
    put<operation>(memory, from, bytes);
    bulk_commit_group();
    bulk_wait_group_read<0>();
    const long long t1 = ticks();
    bulk_wait_group<0>();
    const long long t2 = ticks();
    cycles[0] = t0;
    cycles[1] = t1;
    cycles[2] = t2;
  }
}

/// 8 `eights` operations, on four places, in one group until all is written.
template <int operation>
__global__ void many_puts(uint8_t* memory, uint32_t bytes, int eights, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  const uint32_t from = shared_address(buffer);
  zero(buffer, bytes);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const long long t0 = ticks();
#pragma unroll 1
    for (int i = 0; i < eights; ++i)
#pragma unroll
      for (uint32_t k = 0; k < 8; ++k)
        put<operation>(memory + k % 4 * kPlaceBytes, from + k % 4 * (kBuffer / 4), bytes);
    bulk_commit_group();
    bulk_wait_group<0>();
    const long long t1 = ticks();
    cycles[0] = t1 - t0;
  }
}

/// which: 1 source read, 2 all written.
template <int operation, int which>
void put_latency(benchmark::State& state) {
  allow_buffer(one_put<operation>);
  for (auto _ : state) {
    const auto c = measured(
        3, [&](long long* p) { one_put<operation><<<1, 1, kBuffer>>>(source_memory(), uint32_t(state.range(0)), p); });
    report(state, double(c[which] - c[0]));
  }
}
BENCHMARK(put_latency<plain_store, 1>)
    ->Name("store_read")
    ->ArgNames({"bytes"})
    ->RangeMultiplier(2)
    ->Range(16, 32768)
    ->Apply(by_cycles);
BENCHMARK(put_latency<plain_store, 2>)
    ->Name("store_done")
    ->ArgNames({"bytes"})
    ->RangeMultiplier(2)
    ->Range(16, 32768)
    ->Apply(by_cycles);
void some_sizes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"bytes"})->Arg(16)->Arg(128)->Arg(1024)->Arg(8192);
}
BENCHMARK(put_latency<add_u32, 1>)->Name("reduce_read/add_u32")->Apply(some_sizes);
BENCHMARK(put_latency<add_u32, 2>)->Name("reduce_done/add_u32")->Apply(some_sizes);
BENCHMARK(put_latency<add_f32, 2>)->Name("reduce_done/add_f32")->Apply(some_sizes);
BENCHMARK(put_latency<add_f16, 2>)->Name("reduce_done/add_f16")->Apply(some_sizes);

// Cycles of one operation among many, until all is written.
template <int operation>
void put_rate(benchmark::State& state) {
  allow_buffer(many_puts<operation>);
  const uint32_t bytes = uint32_t(state.range(0));
  for (auto _ : state) {
    const auto run = [&](int count) {
      return double(measured(
          1, [&](long long* c) { many_puts<operation><<<1, 1, kBuffer>>>(source_memory(), bytes, count / 8, c); })[0]);
    };
    const double cycles = (run(kMany) - run(kFew)) / (kMany - kFew);
    report(state, cycles);
    state.counters["bytes_per_cycle"] = bytes / cycles;
  }
}
BENCHMARK(put_rate<plain_store>)->Name("store_rate")->Apply(some_sizes);
BENCHMARK(put_rate<add_u32>)->Name("reduce_rate/add_u32")->Apply(some_sizes);
BENCHMARK(put_rate<add_u64>)->Name("reduce_rate/add_u64")->Apply(some_sizes);
BENCHMARK(put_rate<add_f32>)->Name("reduce_rate/add_f32")->Apply(some_sizes);
BENCHMARK(put_rate<add_f16>)->Name("reduce_rate/add_f16")->Apply(some_sizes);
BENCHMARK(put_rate<min_s32>)->Name("reduce_rate/min_s32")->Apply(some_sizes);

// ---- To another CTA of the cluster

/// Two CTAs throw `bytes` at each other, `rounds` times.
__global__ void __cluster_dims__(2, 1, 1) throws(uint32_t bytes, int rounds, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), at = shared_address(buffer), rank = cluster_ctarank();
  mbarrier_init(bar, 1);
  fence_mbarrier_init();
  fence_proxy_async();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const uint32_t to = mapa(at, rank ^ 1), there = mapa(bar, rank ^ 1);
  const long long t0 = ticks();
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    mbarrier_arrive_expect_tx(bar, bytes);
    if (rank == 1) mbarrier_wait_parity(bar, i & 1);
    bulk_copy_to_cluster(to, at, bytes, there);
    if (rank == 0) mbarrier_wait_parity(bar, i & 1);
  }
  const long long t1 = ticks();
  if (rank == 0) cycles[0] = t1 - t0;
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

// Half a round trip: issue to the receiver's next instruction.
void to_cluster(benchmark::State& state) {
  allow_buffer(throws);
  const uint32_t bytes = uint32_t(state.range(0));
  for (auto _ : state) {
    const auto run = [&](int rounds) {
      return double(measured(1, [&](long long* c) { throws<<<2, 1, kBuffer>>>(bytes, rounds, c); })[0]);
    };
    report(state, (run(kMany) - run(kFew)) / (2 * (kMany - kFew)));
  }
}
BENCHMARK(to_cluster)
    ->ArgNames({"bytes"})
    ->Arg(16)
    ->Arg(128)
    ->Arg(1024)
    ->Arg(4096)
    ->Arg(8192)
    ->Arg(32768)
    ->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
