// Probe 04: what tcgen05.ld, st and wait cost, by shape, repeat and number of warps.
//
//   probe_04_tmem_ld_st [--benchmark_filter=ld_interval] [--benchmark_format=json]
//
// `latency` is one access and its wait; `interval` is what each further access of a burst costs; `pair` is a load and a
// store issued together against their sum.
#include <string>

#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

enum Shape { k32x32b, k16x64b, k16x128b, k16x256b, k16x32bx2 };
constexpr const char* kNames[] = {"32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2"};
constexpr int kRegistersOf[] = {1, 1, 2, 4, 1};

template <Shape kShape, int kRegisters>
__device__ __forceinline__ void load(uint32_t (&r)[kRegisters], uint32_t address) {
  if constexpr (kShape == k32x32b) tcgen05_ld_32x32b(r, address);
  if constexpr (kShape == k16x64b) tcgen05_ld_16x64b(r, address);
  if constexpr (kShape == k16x128b) tcgen05_ld_16x128b(r, address);
  if constexpr (kShape == k16x256b) tcgen05_ld_16x256b(r, address);
  if constexpr (kShape == k16x32bx2) tcgen05_ld_16x32bx2<kRegisters>(r, address);
}

template <Shape kShape, int kRegisters>
__device__ __forceinline__ void store(uint32_t address, const uint32_t (&r)[kRegisters]) {
  if constexpr (kShape == k32x32b) tcgen05_st_32x32b(address, r);
  if constexpr (kShape == k16x64b) tcgen05_st_16x64b(address, r);
  if constexpr (kShape == k16x128b) tcgen05_st_16x128b(address, r);
  if constexpr (kShape == k16x256b) tcgen05_st_16x256b(address, r);
  if constexpr (kShape == k16x32bx2) tcgen05_st_16x32bx2<kRegisters>(address, r);
}

__device__ uint32_t allocate_all() {
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), 512);
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t base = slot, mine = base + (threadIdx.x / 32 % 4 << 21);
  // Every cell is written before it is read.
  uint32_t v[128];
  for (int i = 0; i < 128; ++i) v[i] = threadIdx.x + i;
  for (uint32_t c = 0; c < 512; c += 128) tcgen05_st_32x32b(mine + c, v);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  return base;
}

__device__ void free_all(uint32_t base) {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(base, 512);
}

enum Kind { kLoad, kStore, kBoth };
constexpr uint32_t kStored = 256;  // stores go to columns from here on

/// Accesses of a burst. Stores under way together must not share cells, so there are as many as fit side by side.
template <Kind kKind, Shape kShape, int kRegisters>
constexpr int kBurst = kKind == kLoad ? 16 : std::min(16, 256 / (kRegisters * (kShape == k32x32b ? 1 : 2)));

/// The value is in a register before the clock starts.
__device__ uint32_t ready(uint32_t value) {
  asm volatile("add.u32 %0, %0, 0;" : "+r"(value));
  return value;
}

// cycles: warp 0's single access with its wait; then for each warp when its burst began and when it had been waited
// for.
template <Kind kKind, Shape kShape, int kRegisters>
__global__ void access(long long* cycles, uint32_t* sink) {
  constexpr int kCount = kBurst<kKind, kShape, kRegisters>;
  const uint32_t base = allocate_all(), mine = base + (threadIdx.x / 32 % 4 << 21), step = 256 / kCount;
  uint32_t in[kRegisters], out[kRegisters], at[kCount];
  for (int i = 0; i < kRegisters; ++i) in[i] = out[i] = threadIdx.x;
  for (int i = 0; i < kCount; ++i) at[i] = ready(mine + kStored + i * step);
  const auto once = [&](uint32_t stored) {
    if constexpr (kKind != kStore) load<kShape>(out, mine);
    if constexpr (kKind != kLoad) store<kShape>(stored, in);
  };
  const auto wait = [] {
    if constexpr (kKind != kStore) tcgen05_wait_ld();
    if constexpr (kKind != kLoad) tcgen05_wait_st();
  };
  const long long read = clock_cost();
  long long single = 0;
  if (threadIdx.x < 32) {
    const long long begin = clock64();
    once(at[0]);
    wait();
    single = clock64() - begin - read;
  }
  __syncthreads();
  const long long t0 = clock64();
#pragma unroll
  for (int i = 0; i < kCount; ++i) once(at[i]);
  wait();
  const long long t1 = clock64() - read;
  for (int i = 0; i < kRegisters; ++i) sink[threadIdx.x * kRegisters + i] = out[i];
  if (threadIdx.x == 0) cycles[0] = single;
  if (threadIdx.x % 32 == 0) {
    cycles[1 + threadIdx.x / 32 * 2] = t0;
    cycles[2 + threadIdx.x / 32 * 2] = t1;
  }
  free_all(base);
}

struct Cost {
  double single, interval;
};

template <Kind kKind, Shape kShape, int kRegisters>
Cost run(uint32_t warps) {
  gen5::harness::DeviceBuffer<uint32_t> sink(size_t(warps) * 32 * kRegisters);
  const auto c = measured(1 + 2 * warps,
                          [&](long long* p) { access<kKind, kShape, kRegisters><<<1, 32 * warps>>>(p, sink.get()); });
  long long begin = c[1], end = c[2];
  for (uint32_t w = 0; w < warps; ++w) {
    begin = std::min(begin, c[1 + 2 * w]);
    end = std::max(end, c[2 + 2 * w]);
  }
  const int accesses = kBurst<kKind, kShape, kRegisters> * int((warps + 3) / 4);
  return {double(c[0]), double(end - begin - c[0]) / (accesses - 1)};
}

template <Kind kKind, Shape kShape, int kRegisters>
void add() {
  const std::string form = std::string(kNames[kShape]) + "_x" + std::to_string(kRegisters / kRegistersOf[kShape]);
  const std::string kind = kKind == kLoad ? "ld" : kKind == kStore ? "st" : "ld_st";
  benchmark::RegisterBenchmark((kind + "_latency/" + form).c_str(), [](benchmark::State& state) {
    for (auto _ : state) report(state, run<kKind, kShape, kRegisters>(1).single);
  })->Apply(by_cycles);
  for (uint32_t warps : {1u, 4u, 8u})
    benchmark::RegisterBenchmark((kind + "_interval/" + form + "/warps:" + std::to_string(warps)).c_str(),
                                 [warps](benchmark::State& state) {
                                   for (auto _ : state) {
                                     const double each = run<kKind, kShape, kRegisters>(warps).interval;
                                     report(state, each);
                                     const uint32_t quarters = std::min(warps, 4u);
                                     state.counters["bytes_per_cycle"] = double(kRegisters) * 128 * quarters / each;
                                   }
                                 })
        ->Apply(by_cycles);
}

// cycles: wait::ld and wait::st with nothing under way.
__global__ void waits(long long* cycles) {
  const long long read = clock_cost();
  const long long t0 = clock64();
  tcgen05_wait_ld();
  const long long t1 = clock64();
  tcgen05_wait_st();
  const long long t2 = clock64();
  if (threadIdx.x == 0) {
    cycles[0] = t1 - t0 - read;
    cycles[1] = t2 - t1 - read;
  }
}

void wait_ld_idle(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(2, [](long long* c) { waits<<<1, 32>>>(c); })[0]));
}
void wait_st_idle(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(2, [](long long* c) { waits<<<1, 32>>>(c); })[1]));
}
BENCHMARK(wait_ld_idle)->Apply(by_cycles);
BENCHMARK(wait_st_idle)->Apply(by_cycles);

template <Kind kKind>
void add_forms() {
  add<kKind, k32x32b, 1>();
  add<kKind, k32x32b, 2>();
  add<kKind, k32x32b, 4>();
  add<kKind, k32x32b, 8>();
  add<kKind, k32x32b, 16>();
  add<kKind, k32x32b, 32>();
  add<kKind, k32x32b, 64>();
  add<kKind, k32x32b, 128>();
  add<kKind, k16x64b, 1>();
  add<kKind, k16x64b, 4>();
  add<kKind, k16x128b, 2>();
  add<kKind, k16x128b, 32>();
  add<kKind, k16x256b, 4>();
  add<kKind, k16x256b, 32>();
  add<kKind, k16x32bx2, 4>();
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  add_forms<kLoad>();
  add_forms<kStore>();
  add<kBoth, k32x32b, 4>();
  add<kBoth, k32x32b, 16>();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
