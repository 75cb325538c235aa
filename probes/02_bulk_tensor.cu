// Probe 02: tensor copies by one SM. Latency by box and level, cost of issue, throughput by row bytes, swizzle, box
// height and stages in flight, multicast, stores, reductions. Linear copies are in 02_bulk.cu.
//
//   probe_02_bulk_tensor [--benchmark_format=json]
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr uint32_t kBuffer = 128 * 1024, kPitch = 256, kTensorRows = kSourceBytes / kPitch;
constexpr int kPlaceRows = int(kPlaceBytes / kPitch);
constexpr int kFew = 8, kMany = 40;  // boxes, in eights

CUtensorMap map_of(uint32_t row_bytes, uint32_t rows, CUtensorMapSwizzle swizzle) {
  return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, source_memory(), kTensorRows, kPitch, kPitch, rows,
                                   row_bytes, swizzle);
}
CUtensorMap map_of_words(uint32_t row_bytes, uint32_t rows, CUtensorMapSwizzle swizzle) {
  return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, source_memory(), kTensorRows, kPitch / 4,
                                   kPitch / 4, rows, row_bytes / 4, swizzle);
}

template <class Kernel>
void allow_buffer(Kernel* kernel) {
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBuffer));
}

// ---- Loads: latency and issue

/// From before the issue to behind the wait, summed over places 64 KiB apart: L2 is nearer for some than for others.
/// `passes` 2: the first brings all of them into L2. 1: they come from where they are, and the first place, which finds
/// neither the map nor a translation of its address, is not counted.
__global__ void single_loads(const __grid_constant__ CUtensorMap map, int x, uint32_t bytes, int passes,
                             long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), to = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    long long sum = 0;
#pragma unroll 1
    for (int place = 0; place < int(kPlaces); ++place) {
      const int row = place * kPlaceRows;
      mbarrier_arrive_expect_tx(bar, bytes);
      const long long t0 = ticks();
      tensor_load_2d(to, &map, x, row, bar);
      mbarrier_wait_parity(bar, uint32_t(place) & 1);
      const long long t1 = ticks();
      if (passes > 1 || place > 0) sum += t1 - t0;
    }
    cycles[0] = sum;
  }
}

double mean_load(benchmark::State& state, int passes) {
  allow_buffer(single_loads);
  const uint32_t row_bytes = uint32_t(state.range(0)), rows = uint32_t(state.range(1));
  const CUtensorMap map = map_of(row_bytes, rows, CU_TENSOR_MAP_SWIZZLE_NONE);
  const auto c =
      measured(1, [&](long long* p) { single_loads<<<1, 1, kBuffer>>>(map, 0, row_bytes * rows, passes, p); });
  return double(c[0]) / (passes > 1 ? kPlaces : kPlaces - 1);
}

void load_latency(benchmark::State& state) {
  for (auto _ : state) report(state, mean_load(state, 2));
}
BENCHMARK(load_latency)
    ->ArgNames({"row_bytes", "rows"})
    ->ArgsProduct({{16, 32, 64, 128, 256}, {1, 2, 4, 8, 16, 32, 64, 128, 256}})
    ->Apply(by_cycles);

void load_latency_dram(benchmark::State& state) {
  for (auto _ : state) {
    empty_l2();
    report(state, mean_load(state, 1));
  }
}
BENCHMARK(load_latency_dram)
    ->ArgNames({"row_bytes", "rows"})
    ->ArgsProduct({{32, 128}, {1, 2, 4, 8, 16, 32, 64, 128, 256}})
    ->Apply(by_cycles);

enum Step { issue_loads, issue_stores, issue_reductions, issue_prefetches };

/// Cycles until the thread has issued n operations of one row of 32 bytes.
template <int step, int n>
__global__ void issues(const __grid_constant__ CUtensorMap map, long long* cycles) {
  __shared__ alignas(128) uint8_t buffer[128];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), at = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
#pragma unroll 1
  for (uint32_t round = 0; round < 2; ++round) {
    if (step == issue_loads) mbarrier_arrive_expect_tx(bar, 32 * n);
    const long long t0 = ticks();
#pragma unroll
    for (int i = 0; i < n; ++i) {
      if constexpr (step == issue_loads) tensor_load_2d(at, &map, 0, 0, bar);
      if constexpr (step == issue_stores) tensor_store_2d(&map, 0, 0, at);
      if constexpr (step == issue_reductions) tensor_reduce_add_2d(&map, 0, 0, at);
      if constexpr (step == issue_prefetches)
        asm volatile("cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%0, {0, 0}];" ::"l"(&map) : "memory");
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
  const CUtensorMap map = map_of_words(32, 1, CU_TENSOR_MAP_SWIZZLE_NONE);
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { issues<step, 4><<<1, 1>>>(map, c); });
    const auto many = measured(1, [&](long long* c) { issues<step, 8><<<1, 1>>>(map, c); });
    report(state, double(many[0] - few[0]) / 4);
  }
}
BENCHMARK(issue<issue_loads>)->Name("issue/load")->Apply(by_cycles);
BENCHMARK(issue<issue_stores>)->Name("issue/store")->Apply(by_cycles);
BENCHMARK(issue<issue_reductions>)->Name("issue/reduce")->Apply(by_cycles);
BENCHMARK(issue<issue_prefetches>)->Name("issue/prefetch")->Apply(by_cycles);

// ---- Loads: throughput

/// 8 `eights` boxes, of four places, in flight, from the first issue to the last byte; all of them in L2 after the
/// first round.
__global__ void many_loads(const __grid_constant__ CUtensorMap map, uint32_t bytes, int eights, long long* cycles) {
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
      for (uint32_t k = 0; k < 8; ++k)
        tensor_load_2d(to + k % 4 * (kBuffer / 4), &map, 0, int(k % 4) * kPlaceRows, bar);
    mbarrier_wait_parity(bar, round);
    const long long t1 = ticks();
    cycles[0] = t1 - t0;
  }
}

/// Cycles of one box among many.
double box_cycles(uint32_t row_bytes, uint32_t rows, CUtensorMapSwizzle swizzle) {
  allow_buffer(many_loads);
  const CUtensorMap map = map_of(row_bytes, rows, swizzle);
  const auto run = [&](int count) {
    return double(
        measured(1, [&](long long* c) { many_loads<<<1, 1, kBuffer>>>(map, row_bytes * rows, count / 8, c); })[0]);
  };
  return (run(kMany) - run(kFew)) / (kMany - kFew);
}

// Cycles of a row; swizzle: CUtensorMapSwizzle, 0 none, 1 to 3 of 32, 64, 128 bytes.
void load_row(benchmark::State& state) {
  const uint32_t row_bytes = uint32_t(state.range(0)), rows = 64;
  for (auto _ : state) {
    const double cycles = box_cycles(row_bytes, rows, CUtensorMapSwizzle(state.range(1))) / rows;
    report(state, cycles);
    state.counters["bytes_per_cycle"] = row_bytes / cycles;
  }
}
void rows_and_swizzles(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"row_bytes", "swizzle"});
  for (int row_bytes : {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 192, 224, 256}) b->Args({row_bytes, 0});
  for (int row_bytes : {16, 32}) b->Args({row_bytes, 1});
  for (int row_bytes : {32, 64}) b->Args({row_bytes, 2});
  for (int row_bytes : {32, 64, 96, 128}) b->Args({row_bytes, 3});
}
BENCHMARK(load_row)->Apply(rows_and_swizzles);

// Cycles of a box of `rows` rows of 128 bytes, swizzled.
void load_box(benchmark::State& state) {
  for (auto _ : state) {
    const double cycles = box_cycles(128, uint32_t(state.range(0)), CU_TENSOR_MAP_SWIZZLE_128B);
    report(state, cycles);
    state.counters["bytes_per_cycle"] = 128 * double(state.range(0)) / cycles;
  }
}
BENCHMARK(load_box)->ArgNames({"rows"})->RangeMultiplier(2)->Range(1, 64)->Apply(by_cycles);

constexpr uint32_t kStageRows = 256, kStageBytes = kStageRows * 128;
constexpr int kMostStages = 6;

/// A ring: a stage is loaded again as soon as its bytes are there.
__global__ void ring(const __grid_constant__ CUtensorMap map, int stages, int count, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barriers[kMostStages];
  const uint32_t to = shared_address(buffer), first = shared_address(barriers);
  for (int i = 0; i < kMostStages; ++i) mbarrier_init(first + 8 * i, 1);
  fence_proxy_async();
  const auto load = [&](int i, int stage) {
    mbarrier_arrive_expect_tx(first + 8 * stage, kStageBytes);
    tensor_load_2d(to + stage * kStageBytes, &map, 0, i % 16 * int(kStageRows), first + 8 * stage);
  };
  const long long t0 = ticks();
  for (int i = 0; i < stages; ++i) load(i, i);
  int stage = 0;
  uint32_t parity = 0;
#pragma unroll 1
  for (int i = 0; i < count; ++i) {
    // What the next load needs is computed before the wait.
    const uint32_t bar = kept(first + 8 * stage), buffer_at = kept(to + stage * kStageBytes);
    const int row = int(kept(uint32_t((i + stages) % 16 * int(kStageRows))));
    const uint32_t bytes = kept(i + stages < count ? kStageBytes : 0);
    mbarrier_wait_parity(bar, parity);
    if (bytes) {
      mbarrier_arrive_expect_tx(bar, bytes);
      tensor_load_2d(buffer_at, &map, 0, row, bar);
    }
    if (++stage == stages) stage = 0, parity ^= 1;
  }
  const long long t1 = ticks();
  cycles[0] = t1 - t0;
}

// Cycles of a box of 256 rows of 128 bytes with so many stages in flight.
void stages_in_flight(benchmark::State& state) {
  GEN5_CUDA(cudaFuncSetAttribute(ring, cudaFuncAttributeMaxDynamicSharedMemorySize, kMostStages * kStageBytes));
  const int stages = int(state.range(0));
  const CUtensorMap map = map_of(128, kStageRows, CU_TENSOR_MAP_SWIZZLE_128B);
  const auto run = [&](int count) {
    return double(
        measured(1, [&](long long* c) { ring<<<1, 1, kMostStages * kStageBytes>>>(map, stages, count, c); })[0]);
  };
  for (auto _ : state) {
    run(64);  // into L2
    const double cycles = (run(96) - run(64)) / 32;
    report(state, cycles);
    state.counters["bytes_per_cycle"] = kStageBytes / cycles;
  }
}
BENCHMARK(stages_in_flight)->ArgNames({"stages"})->Arg(1)->Arg(2)->Arg(3)->Arg(4)->Arg(6)->Apply(by_cycles);

// ---- Multicast

constexpr uint32_t kCastRows = 64;

enum Cast { one_plain, one_multicast, many_multicast };

/// CTA 0 loads boxes of 64 rows into every CTA of the cluster, or into itself alone, and waits for its own. One box at
/// a time: the sum over places 64 KiB apart, all of them in L2 after a first pass. Many: 8 `eights` of them.
template <int cast>
__global__ void casts(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t ctas, int eights,
                      long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = kept(shared_address(&barrier)), to = kept(shared_address(buffer));
  const uint32_t rank = cluster_ctarank();
  const uint16_t all = uint16_t((1u << ctas) - 1);
  mbarrier_init(bar, 1);
  fence_mbarrier_init();
  fence_proxy_async();
  constexpr uint32_t rounds = cast == many_multicast ? 2 : 2 * kPlaces;
  long long sum = 0;
#pragma unroll 1
  for (uint32_t round = 0; round < rounds; ++round) {
    if (cast != one_plain || rank == 0)
      mbarrier_arrive_expect_tx(bar, kCastRows * 128 * (cast == many_multicast ? 8 * uint32_t(eights) : 1));
    barrier_cluster_arrive();
    barrier_cluster_wait();
    if (rank == 0) {
      const int row = y + int(round % kPlaces) * kPlaceRows;
      const long long t0 = ticks();
      if constexpr (cast == one_plain) {
        tensor_load_2d(to, &map, x, row, bar);
      } else if constexpr (cast == one_multicast) {
        tensor_load_2d_multicast(to, &map, x, row, bar, all);
      } else {
#pragma unroll 1
        for (int i = 0; i < eights; ++i)
#pragma unroll
          for (uint32_t k = 0; k < 8; ++k)
            tensor_load_2d_multicast(to + k % 4 * (kBuffer / 4), &map, 0, int(k % 4) * kPlaceRows, bar, all);
      }
      mbarrier_wait_parity(bar, round & 1);
      const long long t1 = ticks();
      if (round >= rounds / 2) sum += t1 - t0;
    } else if (cast != one_plain) {
      mbarrier_wait_parity(bar, round & 1);
    }
  }
  if (rank == 0) cycles[0] = sum;
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

template <int cast>
double cast_cycles(uint32_t ctas, int count) {
  allow_buffer(casts<cast>);
  const CUtensorMap map = map_of(128, kCastRows, CU_TENSOR_MAP_SWIZZLE_128B);
  return double(measured(1, [&](long long* c) {
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(ctas);
    config.blockDim = dim3(1);
    config.dynamicSmemBytes = kBuffer;
    cudaLaunchAttribute cluster{};
    cluster.id = cudaLaunchAttributeClusterDimension;
    cluster.val.clusterDim = {ctas, 1, 1};
    config.attrs = &cluster;
    config.numAttrs = 1;
    GEN5_CUDA(cudaLaunchKernelEx(&config, casts<cast>, map, 0, 0, ctas, count / 8, c));
  })[0]);
}

// One box of 64 rows of 128 bytes until the issuing CTA has it.
template <int cast>
void cast_latency(benchmark::State& state) {
  for (auto _ : state) report(state, cast_cycles<cast>(uint32_t(state.range(0)), 0) / kPlaces);
}
BENCHMARK(cast_latency<one_plain>)->Name("cast_latency/plain")->ArgNames({"ctas"})->Arg(1)->Arg(2)->Apply(by_cycles);
BENCHMARK(cast_latency<one_multicast>)
    ->Name("cast_latency/multicast")
    ->ArgNames({"ctas"})
    ->Arg(1)
    ->Arg(2)
    ->Arg(4)
    ->Arg(8)
    ->Apply(by_cycles);
// Cycles of a row among many boxes.
void multicast_row(benchmark::State& state) {
  const uint32_t ctas = uint32_t(state.range(0));
  for (auto _ : state)
    report(state, (cast_cycles<many_multicast>(ctas, kMany) - cast_cycles<many_multicast>(ctas, kFew)) /
                      ((kMany - kFew) * kCastRows));
}
BENCHMARK(multicast_row)->ArgNames({"ctas"})->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Apply(by_cycles);

// ---- Stores and reductions

template <bool reduces>
__device__ __forceinline__ void put(const CUtensorMap* map, int x, int y, uint32_t from) {
  if constexpr (reduces)
    tensor_reduce_add_2d(map, x, y, from);
  else
    tensor_store_2d(map, x, y, from);
}
__device__ __forceinline__ void zero(uint8_t* buffer, uint32_t bytes) {
  for (uint32_t i = 0; i < bytes / 4; ++i) reinterpret_cast<uint32_t*>(buffer)[i] = 0;
  fence_proxy_async();
}

/// One box: the clock before it, when its source has been read, and when all is written. Subtracting waits for the
/// clock, so that is the host's work.
template <bool reduces>
__global__ void one_put(const __grid_constant__ CUtensorMap map, int x, int y, uint32_t bytes, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  const uint32_t from = shared_address(buffer);
  zero(buffer, bytes);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const long long t0 = ticks();
    put<reduces>(&map, x, y, from);
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

/// 8 `eights` boxes, in four places, in one group until all is written.
template <bool reduces>
__global__ void many_puts(const __grid_constant__ CUtensorMap map, uint32_t bytes, int eights, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  const uint32_t from = shared_address(buffer);
  zero(buffer, bytes);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    const long long t0 = ticks();
#pragma unroll 1
    for (int i = 0; i < eights; ++i)
#pragma unroll
      for (int k = 0; k < 8; ++k) put<reduces>(&map, 0, k % 4 * kPlaceRows, from);
    bulk_commit_group();
    bulk_wait_group<0>();
    const long long t1 = ticks();
    cycles[0] = t1 - t0;
  }
}

/// which: 1 source read, 2 all written.
template <bool reduces, int which>
void put_latency(benchmark::State& state) {
  allow_buffer(one_put<reduces>);
  const uint32_t row_bytes = uint32_t(state.range(0)), rows = uint32_t(state.range(1));
  const CUtensorMap map = map_of_words(row_bytes, rows, CU_TENSOR_MAP_SWIZZLE_NONE);
  for (auto _ : state) {
    const auto c =
        measured(3, [&](long long* p) { one_put<reduces><<<1, 1, kBuffer>>>(map, 0, 0, row_bytes * rows, p); });
    report(state, double(c[which] - c[0]));
  }
}
void boxes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"row_bytes", "rows"})->ArgsProduct({{32, 128}, {1, 8, 64}});
}
BENCHMARK(put_latency<false, 1>)->Name("store_read")->Apply(boxes);
BENCHMARK(put_latency<false, 2>)->Name("store_done")->Apply(boxes);
BENCHMARK(put_latency<true, 1>)->Name("reduce_read")->Apply(boxes);
BENCHMARK(put_latency<true, 2>)->Name("reduce_done")->Apply(boxes);

// Cycles of a row among many boxes, until all is written.
template <bool reduces>
void put_row(benchmark::State& state) {
  allow_buffer(many_puts<reduces>);
  const uint32_t row_bytes = uint32_t(state.range(0)), rows = 64;
  const CUtensorMap map = map_of_words(row_bytes, rows, CUtensorMapSwizzle(state.range(1)));
  const auto run = [&](int count) {
    return double(measured(
        1, [&](long long* c) { many_puts<reduces><<<1, 1, kBuffer>>>(map, row_bytes * rows, count / 8, c); })[0]);
  };
  for (auto _ : state) {
    const double cycles = (run(kMany) - run(kFew)) / ((kMany - kFew) * rows);
    report(state, cycles);
    state.counters["bytes_per_cycle"] = row_bytes / cycles;
  }
}
void put_rows(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"row_bytes", "swizzle"})
      ->Args({16, 0})
      ->Args({32, 0})
      ->Args({48, 0})
      ->Args({64, 0})
      ->Args({96, 0})
      ->Args({128, 0})
      ->Args({256, 0})
      ->Args({128, 3});
}
BENCHMARK(put_row<false>)->Name("store_row")->Apply(put_rows);
BENCHMARK(put_row<true>)->Name("reduce_row")->Apply(put_rows);

}  // namespace

BENCHMARK_MAIN();
