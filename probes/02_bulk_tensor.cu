// Probe 02: bulk and tensor copies by one SM. Latency by size, issue cost, throughput by row bytes, swizzle and copies
// in flight, stores, reductions.
//
//   probe_02_bulk_tensor [--benchmark_format=json]
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr uint32_t kBuffer = 64 * 1024, kTensorRows = 4096;

CUtensorMap map_of(void* data, uint32_t row_bytes, uint32_t rows, CUtensorMapSwizzle swizzle) {
  return gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, data, kTensorRows, 256, 256, rows, row_bytes,
                                   swizzle);
}

/// The program's memory: L2 holds it after one pass.
uint8_t* tensor_memory() {
  static gen5::harness::DeviceBuffer<uint8_t> memory(kTensorRows * 256);
  return memory.get();
}

// Loads one box twice (the second time map and bytes are in the caches), then `count` boxes in flight. cycles: latency
// of the second, issue of one, all `count` from the first issue to the last byte.
__global__ void loads(const __grid_constant__ CUtensorMap map, uint32_t rows, uint32_t bytes, int count,
                      long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), to = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
  const uint32_t box = (bytes + 1023) / 1024 * 1024;
  uint32_t phase = 0;
  long long t0 = 0, t1 = 0, t2 = 0;
  for (int i = 0; i < 3; ++i) {
    mbarrier_arrive_expect_tx(bar, bytes);
    t0 = clock64();
    tensor_load_2d(to, &map, 0, 0, bar);
    t1 = clock64();
    mbarrier_wait_parity(bar, phase++ & 1);
    t2 = clock64();
  }
  cycles[0] = t2 - t0;
  cycles[1] = t1 - t0;
  for (int pass = 0; pass < 2; ++pass) {
    t0 = clock64();
    mbarrier_arrive_expect_tx(bar, bytes * uint32_t(count));
    for (int i = 0; i < count; ++i) tensor_load_2d(to + uint32_t(i) * box % kBuffer, &map, 0, i * int(rows), bar);
    mbarrier_wait_parity(bar, phase++ & 1);
    t2 = clock64();
  }
  cycles[2] = t2 - t0;
}

std::vector<long long> run_loads(uint32_t row_bytes, uint32_t rows, CUtensorMapSwizzle swizzle, int count) {
  cudaFuncSetAttribute(loads, cudaFuncAttributeMaxDynamicSharedMemorySize, kBuffer);
  const CUtensorMap map = map_of(tensor_memory(), row_bytes, rows, swizzle);
  return measured(3, [&](long long* c) { loads<<<1, 1, kBuffer>>>(map, rows, row_bytes * rows, count, c); });
}

void load_latency(benchmark::State& state) {
  for (auto _ : state)
    report(state,
           double(run_loads(uint32_t(state.range(0)), uint32_t(state.range(1)), CU_TENSOR_MAP_SWIZZLE_NONE, 1)[0]));
}
void load_issue(benchmark::State& state) {
  for (auto _ : state) report(state, double(run_loads(128, 8, CU_TENSOR_MAP_SWIZZLE_128B, 1)[1]));
}
BENCHMARK(load_latency)
    ->ArgNames({"row_bytes", "rows"})
    ->ArgsProduct({{32, 64, 128}, {1, 8, 64, 128}})
    ->Apply(by_cycles);
BENCHMARK(load_issue)->Apply(by_cycles);

// Cycles a box row, with enough boxes in flight: two runs of different length, so that the latency drops out.
void load_row(benchmark::State& state) {
  const auto swizzle = CUtensorMapSwizzle(state.range(1));
  const uint32_t row_bytes = uint32_t(state.range(0));
  for (auto _ : state) {
    const double few = double(run_loads(row_bytes, 64, swizzle, 8)[2]),
                 many = double(run_loads(row_bytes, 64, swizzle, 40)[2]);
    report(state, (many - few) / (32 * 64));
    state.counters["bytes_per_cycle"] = row_bytes * 32 * 64 / (many - few);
  }
}
BENCHMARK(load_row)
    ->ArgNames({"row_bytes", "swizzle"})
    ->Args({32, 0})
    ->Args({64, 0})
    ->Args({128, 0})
    ->Args({32, 1})
    ->Args({64, 2})
    ->Args({128, 3})
    ->Apply(by_cycles);

// Linear copies: latency, and stores until the source has been read and until all is written.
__global__ void linear(uint8_t* memory, uint32_t bytes, long long* cycles) {
  extern __shared__ __align__(1024) uint8_t buffer[];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), at = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
  for (uint32_t i = 0; i < 3; ++i) {
    mbarrier_arrive_expect_tx(bar, bytes);
    const long long t0 = clock64();
    bulk_load(at, memory, bytes, bar);
    const long long t1 = clock64();
    mbarrier_wait_parity(bar, i & 1);
    const long long t2 = clock64();
    bulk_store(memory, at, bytes);
    bulk_commit_group();
    bulk_wait_group_read<0>();
    const long long t3 = clock64();
    bulk_wait_group<0>();
    const long long t4 = clock64();
    cycles[0] = t2 - t0;
    cycles[1] = t1 - t0;
    cycles[2] = t3 - t2;
    cycles[3] = t4 - t2;
  }
}

template <int which>
void bulk(benchmark::State& state) {
  cudaFuncSetAttribute(linear, cudaFuncAttributeMaxDynamicSharedMemorySize, kBuffer);
  for (auto _ : state)
    report(state, double(measured(4, [&](long long* c) {
             linear<<<1, 1, kBuffer>>>(tensor_memory(), uint32_t(state.range(0)), c);
           })[which]));
}
BENCHMARK(bulk<0>)
    ->Name("bulk_load_latency")
    ->ArgNames({"bytes"})
    ->Arg(128)
    ->Arg(1024)
    ->Arg(8192)
    ->Arg(32768)
    ->Apply(by_cycles);
BENCHMARK(bulk<1>)->Name("bulk_load_issue")->ArgNames({"bytes"})->Arg(1024)->Apply(by_cycles);
BENCHMARK(bulk<2>)
    ->Name("bulk_store_read")
    ->ArgNames({"bytes"})
    ->Arg(128)
    ->Arg(1024)
    ->Arg(8192)
    ->Arg(32768)
    ->Apply(by_cycles);
BENCHMARK(bulk<3>)
    ->Name("bulk_store_done")
    ->ArgNames({"bytes"})
    ->Arg(128)
    ->Arg(1024)
    ->Arg(8192)
    ->Arg(32768)
    ->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
