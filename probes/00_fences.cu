// Probe 0: what fences cost: fence.acq_rel by scope, fence.proxy.async and the cluster's barrier, by how many warps
// come to one together, and by what they have under way. A fence of the cluster's or the GPU's scope is MEMBAR.ALL.GPU
// in the code of ptxas, and so is the release of barrier.cluster.arrive.
//
//   probe_00_fences [--benchmark_format=json] [--benchmark_filter=fence/gpu/…]
//
// `cycles`: of one warp, the mean of a CTA's warps, rounds behind the first four. `slowest`: of its last warp. `first`:
// of the last warp in the kernel's first round.
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

enum Kind { kCta, kCluster, kGpu, kSystem, kMbarrierInit, kProxyShared, kProxyAll, kClusterBarrier, kClusterRelaxed };
/// What a warp does right before: a store to shared memory, one to lines of L2 that it wrote before or never, a load
/// that is still under way, one that has arrived, or that and a store; or one thread's bulk store that has read its
/// source (kBulk: by the first warp; kBulkLast: by the last; kBulkTwo: by both) or is done.
enum Before { kNothing, kShared, kAgain, kFresh, kLoad, kLoaded, kLoadedAgain, kBulk, kBulkLast, kBulkTwo, kBulkDone };

constexpr int kRounds = 12, kSkipped = 4;

template <Kind kind>
__device__ void fence() {
  if (kind == kCta) asm volatile("fence.acq_rel.cta;" ::: "memory");
  if (kind == kCluster) asm volatile("fence.acq_rel.cluster;" ::: "memory");
  if (kind == kGpu) asm volatile("fence.acq_rel.gpu;" ::: "memory");
  if (kind == kSystem) asm volatile("fence.acq_rel.sys;" ::: "memory");
  if (kind == kMbarrierInit) fence_mbarrier_init();
  if (kind == kProxyShared) fence_proxy_async_shared();
  if (kind == kProxyAll) fence_proxy_async();
  if (kind == kClusterBarrier) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
  if (kind == kClusterRelaxed) {
    barrier_cluster_arrive_relaxed();
    barrier_cluster_wait();
  }
}

// Every warp: `before`, then the fence, from one read of the clock to the other. Results wait in shared memory: a store
// of them would be under way at the next round's fence. Words: 32 of each warp and round.
template <Kind kind, Before before>
__global__ void fences(long long* cycles, uint32_t* words, uint32_t bytes, uint32_t never) {
  extern __shared__ __align__(128) uint8_t tile[];
  __shared__ uint32_t took[kRounds][32];
  constexpr bool kOfBulk = before >= kBulk;
  const uint32_t warps = blockDim.x / 32, warp = threadIdx.x / 32;
  uint32_t* mine = words + size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const size_t round = size_t(gridDim.x) * blockDim.x;
  const bool first = threadIdx.x == 0 && before != kBulkLast;
  const bool last = threadIdx.x == blockDim.x - 32 && (before == kBulkLast || before == kBulkTwo);
  uint32_t loaded = 0;
#pragma unroll 1
  for (int i = 0; i < kRounds; ++i) {
    __syncthreads();
    if (kOfBulk && (first || last)) {
      const size_t copy = (size_t(blockIdx.x) * kRounds + i) * 2 + (first ? 0 : 1);
      fence_proxy_async_shared();
      bulk_store(words + copy * (bytes / 4), kept(shared_address(tile)), bytes);
      bulk_commit_group();
      if (before == kBulkDone)
        bulk_wait_group<0>();
      else
        bulk_wait_group_read<0>();
    }
    if (kOfBulk) __syncthreads();
    if (before == kShared) reinterpret_cast<volatile uint32_t*>(tile)[threadIdx.x] = uint32_t(i);
    if (before == kLoaded || before == kLoadedAgain) {
      loaded = __ldcg(mine);
      wait_for_value(loaded, never);
    }
    if (before == kAgain || before == kLoadedAgain) *reinterpret_cast<volatile uint32_t*>(mine) = uint32_t(i);
    if (before == kFresh) *reinterpret_cast<volatile uint32_t*>(mine + i * round) = uint32_t(i);
    if (before == kLoad) loaded = __ldcg(mine + i * round);
    __syncwarp();
    const long long t0 = ticks();
    fence<kind>();
    const long long t1 = ticks();
    if (before == kLoad) wait_for_value(loaded, never);
    if (threadIdx.x % 32 == 0) took[i][warp] = uint32_t(t1 - t0);
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < warps * kRounds; i += blockDim.x)
    cycles[size_t(blockIdx.x) * warps * kRounds + i] = took[i % kRounds][i / kRounds];
}

template <Kind kind, Before before>
void run(benchmark::State& state) {
  const uint32_t warps = uint32_t(state.range(0)), bytes = uint32_t(state.range(2));
  const uint32_t ctas = state.range(1) ? uint32_t(gen5::harness::current_device().sms) : 2;
  for (auto _ : state) {
    const size_t threads = size_t(ctas) * warps * 32;
    gen5::harness::DeviceBuffer<uint32_t> words(std::max(threads * kRounds, size_t(ctas) * kRounds * 2 * bytes / 4));
    const auto took = measured(size_t(ctas) * warps * kRounds, [&](long long* c) {
      cudaLaunchConfig_t config{};
      config.gridDim = dim3(ctas);
      config.blockDim = dim3(warps * 32);
      config.dynamicSmemBytes = std::max(bytes, warps * 128);
      cudaLaunchAttribute cluster{};
      cluster.id = cudaLaunchAttributeClusterDimension;
      cluster.val.clusterDim = {2, 1, 1};
      config.attrs = &cluster;
      config.numAttrs = 1;
      GEN5_CUDA(cudaLaunchKernelEx(&config, fences<kind, before>, c, words.get(), bytes, uint32_t(-2)));
    });
    double sum = 0, slowest = 0, fastest = 0, issuer = 0;
    long long first = 0;
    for (int i = 0; i < kRounds; ++i) {
      long long last = 0, least = took[i];
      for (uint32_t w = 0; w < warps; ++w) {
        const long long t = took[w * kRounds + i];
        last = std::max(last, t);
        least = std::min(least, t);
        if (i >= kSkipped) sum += double(t);
      }
      if (i == 0) first = last;
      if (i < kSkipped) continue;
      slowest += double(last);
      fastest += double(least);
      issuer += double(took[(before == kBulkLast ? warps - 1 : 0) * kRounds + i]);
    }
    constexpr int kCounted = kRounds - kSkipped;
    report(state, sum / (warps * kCounted));
    state.counters["slowest"] = slowest / kCounted;
    state.counters["fastest"] = fastest / kCounted;
    state.counters["issuer"] = issuer / kCounted;
    state.counters["first"] = double(first);
  }
}

template <Kind kind, Before before>
void add(const char* name, const char* what, uint32_t bytes = 0) {
  auto* b = benchmark::RegisterBenchmark((std::string("fence/") + name + "/" + what).c_str(), run<kind, before>);
  by_cycles(b->ArgNames({"warps", "everywhere", "bytes"}));
  for (int everywhere : {0, 1})
    for (int warps : {1, 4, 12, 32}) b->Args({warps, everywhere, bytes});
}

const bool added = [] {
  add<kCta, kNothing>("cta", "nothing");
  add<kCta, kShared>("cta", "shared");
  add<kCta, kAgain>("cta", "store");
  add<kCluster, kNothing>("cluster", "nothing");
  add<kCluster, kAgain>("cluster", "store");
  add<kGpu, kNothing>("gpu", "nothing");
  add<kGpu, kShared>("gpu", "shared");
  add<kGpu, kAgain>("gpu", "store");
  add<kGpu, kFresh>("gpu", "fresh");
  add<kGpu, kLoad>("gpu", "load");
  add<kGpu, kLoaded>("gpu", "loaded");
  add<kGpu, kLoadedAgain>("gpu", "loaded_store");
  for (uint32_t bytes : {1024u, 16384u, 32768u}) {
    add<kGpu, kBulk>("gpu", "bulk", bytes);
    add<kGpu, kBulkLast>("gpu", "bulk_of_last", bytes);
    add<kGpu, kBulkTwo>("gpu", "bulk_of_two", bytes);
  }
  add<kGpu, kBulkDone>("gpu", "bulk_done", 16384);
  add<kSystem, kNothing>("sys", "nothing");
  add<kSystem, kAgain>("sys", "store");
  add<kMbarrierInit, kShared>("mbarrier_init", "shared");
  add<kProxyShared, kNothing>("proxy_shared", "nothing");
  add<kProxyShared, kShared>("proxy_shared", "shared");
  add<kProxyAll, kNothing>("proxy_all", "nothing");
  add<kProxyAll, kShared>("proxy_all", "shared");
  add<kProxyAll, kAgain>("proxy_all", "store");
  add<kClusterRelaxed, kNothing>("cluster_barrier_relaxed", "nothing");
  add<kClusterBarrier, kNothing>("cluster_barrier", "nothing");
  add<kClusterBarrier, kAgain>("cluster_barrier", "store");
  add<kClusterBarrier, kBulk>("cluster_barrier", "bulk", 16384);
  return true;
}();

}  // namespace

BENCHMARK_MAIN();
