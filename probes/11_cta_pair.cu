// Probe 11: what a cluster and a CTA pair cost: the cluster's barrier, loads from another CTA's shared memory, and
// tcgen05.mma.cta_group::2 by M, N and where A is.
//
//   probe_11_cta_pair [--benchmark_format=json] [--benchmark_filter=burst_pair/…]
#include "common/layout/instruction_descriptor.h"
#include "common/layout/smem_descriptor.h"
#include "common/ptx/cluster.h"
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
using gen5::layout::Swizzle;

// ---- The cluster's barrier and its shared memory

constexpr int kRounds = 64;

// One warp in each of `%cluster_nctarank` CTAs: rounds of the barrier, behind each other.
template <bool kRelaxed>
__global__ void rounds(long long* cycles) {
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const long long t0 = ticks();
  for (int i = 0; i < kRounds; ++i) {
    if (kRelaxed)
      barrier_cluster_arrive_relaxed();
    else
      barrier_cluster_arrive();
    barrier_cluster_wait();
  }
  const long long t1 = ticks();
  if (threadIdx.x == 0 && blockIdx.x == 0) *cycles = t1 - t0;
}

// A chase: each load's address is what the one before has read. All words hold their own address in CTA `rank`.
__global__ void chase(long long* cycles, uint32_t rank, uint32_t never) {
  __shared__ uint32_t word;
  if (threadIdx.x == 0) word = mapa(shared_address(&word), rank);
  barrier_cluster_arrive();
  barrier_cluster_wait();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    uint32_t at = mapa(shared_address(&word), rank);
    for (int round = 0; round < 2; ++round) {  // the first fills the instruction cache
      const long long t0 = ticks();
#pragma unroll
      for (int i = 0; i < kRounds; ++i) at = ld_shared_cluster(at);
      wait_for_value(at, never);
      *cycles = ticks() - t0;
    }
  }
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

/// A launch in one cluster of `ctas` CTAs.
template <class Kernel, class... Arguments>
void launch_cluster(Kernel kernel, uint32_t ctas, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(ctas);
  config.blockDim = dim3(32);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {ctas, 1, 1};
  config.attrs = &cluster;
  config.numAttrs = 1;
  GEN5_CUDA(cudaLaunchKernelEx(&config, kernel, arguments...));
}

template <bool kRelaxed>
void barrier(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(
                      1, [&](long long* c) { launch_cluster(rounds<kRelaxed>, uint32_t(state.range(0)), c); })[0]) /
                      kRounds);
}
BENCHMARK(barrier<false>)->Name("barrier/release/ctas")->Apply(by_cycles)->Arg(2)->Arg(4)->Arg(8);
BENCHMARK(barrier<true>)->Name("barrier/relaxed/ctas")->Apply(by_cycles)->Arg(2)->Arg(4)->Arg(8);

void load_latency(benchmark::State& state) {
  for (auto _ : state)
    report(state,
           double(measured(
               1, [&](long long* c) { launch_cluster(chase, 4u, c, uint32_t(state.range(0)), 0xfffffffeu); })[0]) /
               kRounds);
}
BENCHMARK(load_latency)->Name("load_latency/rank")->Apply(by_cycles)->Arg(0)->Arg(1)->Arg(2)->Arg(3);

// ---- The pair's MMA

#if !defined(__CUDA_ARCH__) || defined(__CUDA_ARCH_FEAT_SM100_ALL)
#define GEN5_BLACKWELL 1
#endif

// One thread of the even CTA issues `depth` MMAs for both, commits and waits. Operands are zeros. 128 threads.
template <bool kTensorMemory>
__global__ void __cluster_dims__(2) burst(long long* cycles, uint64_t operand, uint32_t idesc, uint32_t depth) {
#ifdef GEN5_BLACKWELL
  extern __shared__ __align__(1024) uint8_t shared[];
  __shared__ uint64_t barrier;
  __shared__ uint32_t slot;
  const uint32_t rank = cluster_ctarank();
  if (threadIdx.x < 32) tcgen05_alloc<2>(shared_address(&slot), 512);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barrier), 1);
    fence_mbarrier_init();
  }
  for (uint32_t i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(shared)[i] = 0;
  fence_proxy_async_shared();
  __syncthreads();
  const uint32_t address = slot;
  const uint32_t zeros[8] = {};
  tcgen05_st_32x32b(address + 256 + (threadIdx.x / 32 << 21), zeros);
  tcgen05_wait_st();
  const auto meet = [] {
    tcgen05_fence_before_thread_sync();
    barrier_cluster_arrive();
    barrier_cluster_wait();
    tcgen05_fence_after_thread_sync();
  };
  meet();
  if (threadIdx.x == 0 && rank == 0) {
    const uint64_t a = gen5::layout::at_address(operand, shared_address(shared));
    const uint64_t b = gen5::layout::at_address(operand, shared_address(shared) + 16 * 1024);
    const uint32_t at = shared_address(&barrier);
    const auto mma = [&] {
      if constexpr (kTensorMemory)
        tcgen05_mma_f16_tmem<2>(address, address + 256, b, idesc, false);
      else
        tcgen05_mma_f16<2>(address, a, b, idesc, false);
    };
    const long long read = clock_cost();
    const long long start = clock64();
    mma();  // the first stands before the loop: a single MMA's time has no branch in it
    for (uint32_t i = 1; i < depth; ++i) mma();
    tcgen05_commit_pair(at, 0b01);
    mbarrier_wait_parity(at, 0);
    *cycles = clock64() - start - read;
  }
  __syncthreads();
  meet();
  if (threadIdx.x < 32) tcgen05_dealloc<2>(address, 512);
#endif
}

template <bool kTensorMemory>
double run(uint32_t m, uint32_t n, uint32_t depth) {
  constexpr uint32_t any_shape =
      gen5::layout::instruction_descriptor({.a = Element::bf16, .b = Element::bf16, .m = 128, .n = 16, .cta_group = 2});
  constexpr uint32_t shape = 63u << 17 | 31u << 24;
  const uint32_t idesc = (any_shape & ~shape) | (n >> 3) << 17 | (m >> 4) << 24;
  constexpr uint64_t operand = gen5::layout::smem_descriptor({.swizzle = Swizzle::b128, .stride = 1024});
  GEN5_CUDA(cudaFuncSetAttribute(burst<kTensorMemory>, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  return double(
      measured(1, [&](long long* c) { burst<kTensorMemory><<<2, 128, 48 * 1024>>>(c, operand, idesc, depth); })[0]);
}

// M, N, MMAs under one commit.
template <bool kTensorMemory>
void bursts(benchmark::State& state) {
  if (gen5::harness::current_device().major < 10) return state.SkipWithError("needs a Blackwell");
  for (auto _ : state) {
    const auto m = uint32_t(state.range(0)), n = uint32_t(state.range(1)), depth = uint32_t(state.range(2));
    const double cycles = run<kTensorMemory>(m, n, depth);
    report(state, cycles);
    state.counters["flop_per_cycle_and_sm"] = 1.0 * m * n * 16 * depth / cycles;
  }
}

// The shapes and depths of the published bursts (SemiAnalysisAI/microbench-blackwell).
void shapes(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  for (int64_t m : {128, 256})
    for (int64_t n : {64, 80, 96, 112, 128, 256})
      for (int64_t depth : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 16, 32, 64, 128, 256, 512, 1024})
        if (n * depth <= 64 * 1024) b->Args({m, n, depth});
}
BENCHMARK(bursts<false>)->Name("burst_pair/shared")->Apply(shapes);
BENCHMARK(bursts<true>)->Name("burst_pair/tmem")->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
