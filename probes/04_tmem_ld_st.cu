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
  const uint32_t mine = slot + (threadIdx.x / 32 % 4 << 21);
  // Every cell is written before it is read.
  uint32_t v[128];
  for (int i = 0; i < 128; ++i) v[i] = threadIdx.x + i;
  for (uint32_t c = 0; c < 512; c += 128) tcgen05_st_32x32b(mine + c, v);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  return mine;
}

__device__ void free_all() {
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(0, 512);  // 512 columns always begin at 0
}

constexpr int kBurst = 16;  // accesses of a burst
enum Kind { kLoad, kStore, kBoth };

// cycles: a single access with its wait; a burst of kBurst with one wait. Accesses of a burst that write cells take
// turns on columns of their own; the address is computed before the clock starts.
template <Kind kKind, Shape kShape, int kRegisters>
__global__ void access(long long* cycles, uint32_t* sink) {
  const uint32_t mine = allocate_all();
  uint32_t in[kRegisters], out[kRegisters];
  for (int i = 0; i < kRegisters; ++i) in[i] = out[i] = threadIdx.x;
  const auto once = [&](uint32_t at) {
    if constexpr (kKind != kStore) load<kShape>(out, mine);
    if constexpr (kKind != kLoad) store<kShape>(mine + 256 + at, in);
  };
  const auto wait = [] {
    if constexpr (kKind != kStore) tcgen05_wait_ld();
    if constexpr (kKind != kLoad) tcgen05_wait_st();
  };
  const long long read = clock_cost();
  const long long t0 = clock64();
  once(0);
  wait();
  const long long t1 = clock64();
#pragma unroll
  for (int i = 0; i < kBurst; ++i) once(kRegisters <= 16 ? i * kRegisters : 0);
  wait();
  const long long t2 = clock64();
  for (int i = 0; i < kRegisters; ++i) sink[threadIdx.x * kRegisters + i] = out[i];
  if (threadIdx.x == 0) {
    cycles[0] = t1 - t0 - read;
    cycles[1] = t2 - t1 - read;
  }
  free_all();
}

template <Kind kKind, Shape kShape, int kRegisters>
std::vector<long long> run(uint32_t warps) {
  gen5::harness::DeviceBuffer<uint32_t> sink(size_t(warps) * 32 * kRegisters);
  return measured(2, [&](long long* c) { access<kKind, kShape, kRegisters><<<1, 32 * warps>>>(c, sink.get()); });
}

template <Kind kKind, Shape kShape, int kRegisters>
void add() {
  const std::string form = std::string(kNames[kShape]) + "_x" + std::to_string(kRegisters / kRegistersOf[kShape]);
  const std::string kind = kKind == kLoad ? "ld" : kKind == kStore ? "st" : "ld_st";
  benchmark::RegisterBenchmark((kind + "_latency/" + form).c_str(), [](benchmark::State& state) {
    for (auto _ : state) report(state, double(run<kKind, kShape, kRegisters>(1)[0]));
  })->Apply(by_cycles);
  for (uint32_t warps : {1u, 4u, 8u})
    benchmark::RegisterBenchmark((kind + "_interval/" + form + "/warps:" + std::to_string(warps)).c_str(),
                                 [warps](benchmark::State& state) {
                                   for (auto _ : state) {
                                     const auto c = run<kKind, kShape, kRegisters>(warps);
                                     const double each = double(c[1] - c[0]) / (kBurst - 1);
                                     report(state, each);
                                     state.counters["bytes_per_cycle"] = double(kRegisters) * 128 * warps / each;
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
