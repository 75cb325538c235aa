// Probe 05: what tcgen05.mma costs: one instruction to its barrier, bursts, by kind, M, N and where A is; commit; the
// fences.
//
//   probe_05_mma [--benchmark_format=json] [--benchmark_filter=burst/…]
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/tcgen05_alloc.h"
#include "common/ptx/tcgen05_commit.h"
#include "common/ptx/tcgen05_ld_st.h"
#include "common/ptx/tcgen05_mma.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;
using gen5::layout::Element;
using gen5::layout::Major;
using gen5::layout::Swizzle;

enum Form : int { kShared, kTensorMemory, kTf32 };

struct Burst {
  uint64_t a, b;  // descriptors without start address
  uint32_t idesc, depth;
};

// One thread issues `depth` MMAs, commits and waits. Operands are zeros: hardware's clock then stays put. 128 threads.
template <Form kForm>
__global__ void burst(long long* cycles, Burst what) {
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  if (threadIdx.x < 32) tcgen05_alloc(shared_address(&slot), 512);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  for (uint32_t i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(shared)[i] = 0;
  fence_proxy_async_shared();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  const uint32_t address = slot;
  const uint32_t zeros[8] = {};
  tcgen05_st_32x32b(address + 256 + (threadIdx.x / 32 << 21), zeros);
  tcgen05_wait_st();
  tcgen05_fence_before_thread_sync();
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x == 0) {
    const uint64_t a = gen5::layout::at_address(what.a, shared_address(shared));
    const uint64_t b = gen5::layout::at_address(what.b, shared_address(shared) + 16 * 1024);
    const uint32_t at = shared_address(&barrier);
    const auto mma = [&] {
      if constexpr (kForm == kTensorMemory) tcgen05_mma_f16_tmem(address, address + 256, b, what.idesc, false);
      if constexpr (kForm == kShared) tcgen05_mma_f16(address, a, b, what.idesc, false);
      if constexpr (kForm == kTf32) tcgen05_mma_tf32(address, a, b, what.idesc, false);
    };
    const long long read = clock_cost();
    const long long start = clock64();
    mma();  // the first stands before the loop: a single MMA's time has no branch in it
    for (uint32_t i = 1; i < what.depth; ++i) mma();
    tcgen05_commit(at);
    mbarrier_wait_parity(at, 0);
    *cycles = clock64() - start - read;
  }
  __syncthreads();
  tcgen05_fence_after_thread_sync();
  if (threadIdx.x < 32) tcgen05_dealloc(address, 512);
}

constexpr uint64_t descriptor_of(Swizzle s) {
  switch (s) {
    case Swizzle::none: return gen5::layout::smem_descriptor({.swizzle = Swizzle::none, .leading = 128, .stride = 256});
    case Swizzle::b32: return gen5::layout::smem_descriptor({.swizzle = Swizzle::b32, .stride = 256});
    case Swizzle::b64: return gen5::layout::smem_descriptor({.swizzle = Swizzle::b64, .stride = 512});
    default: return gen5::layout::smem_descriptor({.swizzle = Swizzle::b128, .stride = 1024});
  }
}

template <Form kForm>
double run(uint32_t m, uint32_t n, uint32_t depth, Swizzle swizzle = Swizzle::b128) {
  constexpr uint32_t any_shape =
      kForm == kTf32 ? gen5::layout::instruction_descriptor(
                           {.kind = gen5::layout::Kind::tf32, .a = Element::tf32, .b = Element::tf32, .m = 64, .n = 8})
                     : gen5::layout::instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = 64, .n = 8});
  constexpr uint32_t shape = 63u << 17 | 31u << 24;
  const uint32_t idesc = (any_shape & ~shape) | (n >> 3) << 17 | (m >> 4) << 24;
  const uint64_t descriptor = descriptor_of(swizzle);
  GEN5_CUDA(cudaFuncSetAttribute(burst<kForm>, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  return double(measured(1, [&](long long* c) {
    burst<kForm><<<1, 128, 48 * 1024>>>(c, {descriptor, descriptor, idesc, depth});
  })[0]);
}

// M, N, MMAs under one commit.
template <Form kForm>
void bursts(benchmark::State& state) {
  constexpr double deep = kForm == kTf32 ? 8 : 16;
  for (auto _ : state) {
    const auto m = uint32_t(state.range(0)), n = uint32_t(state.range(1)), depth = uint32_t(state.range(2));
    const double cycles = run<kForm>(m, n, depth);
    report(state, cycles);
    state.counters["cycles_per_mma"] = cycles / depth;
    state.counters["flop_per_cycle"] = 2.0 * m * n * deep * depth / cycles;
  }
}
/// The operands' swizzle changes nothing that anybody has measured: here to see whether that holds.
void burst_swizzle(benchmark::State& state) {
  for (auto _ : state) report(state, run<kShared>(128, 128, 16, Swizzle(state.range(0))));
}
/// Cycles from one MMA to the next: the difference of two bursts.
template <Form kForm>
void interval(benchmark::State& state) {
  const auto m = uint32_t(state.range(0)), n = uint32_t(state.range(1));
  for (auto _ : state) report(state, (run<kForm>(m, n, 24) - run<kForm>(m, n, 8)) / 16);
}

// The shapes and depths of the published bursts (SemiAnalysisAI/microbench-blackwell).
void shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t m : {64, 128})
    for (int64_t n : {64, 80, 96, 112, 128, 256})
      for (int64_t depth : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1024})
        if (n * depth <= 64 * 1024) b->Args({m, n, depth});
}
void small_shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t m : {64, 128})
    for (int64_t n : {8, 16, 32, 64, 128, 256}) b->Args({m, n});
}
BENCHMARK(bursts<kShared>)->Name("burst_f16/shared")->Apply(shapes);
BENCHMARK(bursts<kTensorMemory>)->Name("burst_f16/tmem")->Apply(shapes);
BENCHMARK(bursts<kTf32>)
    ->Name("burst_tf32")
    ->Apply(by_cycles)
    ->Args({128, 128, 1})
    ->Args({128, 256, 1})
    ->Args({128, 256, 16});
BENCHMARK(burst_swizzle)->Apply(by_cycles)->Arg(0)->Arg(6)->Arg(4)->Arg(2);
BENCHMARK(interval<kShared>)->Name("interval/shared")->Apply(small_shapes);
BENCHMARK(interval<kTensorMemory>)->Name("interval/tmem")->Apply(small_shapes);

// Commit with nothing before it, to the end of the wait; the two fences.
__global__ void bare(long long* cycles) {
  __shared__ uint64_t barrier;
  mbarrier_init(shared_address(&barrier), 1);
  fence_mbarrier_init();
  const long long read = clock_cost();
  const long long t0 = clock64();
  tcgen05_commit(shared_address(&barrier));
  const long long t1 = clock64();
  mbarrier_wait_parity(shared_address(&barrier), 0);
  const long long t2 = clock64();
  tcgen05_fence_before_thread_sync();
  tcgen05_fence_after_thread_sync();
  const long long t3 = clock64();
  cycles[0] = t1 - t0 - read;
  cycles[1] = t2 - t0 - read;
  cycles[2] = t3 - t2 - read;
}
void bare_cost(benchmark::State& state, size_t which) {
  for (auto _ : state) report(state, double(measured(3, [](long long* c) { bare<<<1, 1>>>(c); })[which]));
}
BENCHMARK_CAPTURE(bare_cost, commit_issue, 0)->Apply(by_cycles);
BENCHMARK_CAPTURE(bare_cost, commit_to_wait, 1)->Apply(by_cycles);
BENCHMARK_CAPTURE(bare_cost, fences, 2)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
