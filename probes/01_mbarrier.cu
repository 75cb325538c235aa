// Probe 01: what mbarrier operations cost, and how long news takes through one.
//
//   probe_01_mbarrier [--benchmark_format=json]
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kRepeats = 32;

enum Operation { op_init, op_arrive, op_arrive_relaxed, op_expect, op_try_ready, op_test };

/// Cycles for kRepeats operations of one thread, one behind the other.
__global__ void repeated(long long* cycles, int operation) {
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  mbarrier_init(bar, 1000);
  __syncwarp();
  uint32_t sum = 0;
  const auto timed = [&](auto body) {
    const long long t0 = clock64();
#pragma unroll
    for (int i = 0; i < kRepeats; ++i) body();
    wait_for_value(sum);
    const long long t1 = clock64();
    cycles[0] = t1 - t0;
  };
  switch (operation) {
    case op_init: timed([&] { mbarrier_init(bar, 1000); }); break;
    case op_arrive:
      timed([&] { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory"); });
      break;
    case op_arrive_relaxed:
      timed([&] { asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory"); });
      break;
    case op_expect: timed([&] { mbarrier_expect_tx(bar, 16); }); break;
    case op_try_ready: timed([&] { sum += mbarrier_try_wait_parity(bar, 1); }); break;
    default: timed([&] { sum += mbarrier_test_wait_parity(bar, 1); }); break;
  }
  cycles[1] = sum;
}

template <int operation>
void cost(benchmark::State& state) {
  for (auto _ : state) {
    measured(2, [](long long* c) { repeated<<<1, 1>>>(c, operation); });  // once for the instruction cache
    report(state, double(measured(2, [](long long* c) { repeated<<<1, 1>>>(c, operation); })[0]) / kRepeats);
  }
}
BENCHMARK(cost<op_init>)->Name("init")->Apply(by_cycles);
BENCHMARK(cost<op_arrive>)->Name("arrive")->Apply(by_cycles);
BENCHMARK(cost<op_arrive_relaxed>)->Name("arrive_relaxed")->Apply(by_cycles);
BENCHMARK(cost<op_expect>)->Name("expect_tx")->Apply(by_cycles);
BENCHMARK(cost<op_try_ready>)->Name("try_wait_ready")->Apply(by_cycles);
BENCHMARK(cost<op_test>)->Name("test_wait_ready")->Apply(by_cycles);

// Two warps, of one CTA or of two, hand a phase back and forth: half a round trip from arrive to the waiter's next
// instruction.
__global__ void ping_pong(long long* cycles, bool remote) {
  __shared__ alignas(8) uint64_t barriers[2];
  const uint32_t rank = remote ? cluster_ctarank() : threadIdx.x / 32;
  const uint32_t mine = shared_address(&barriers[rank]), other = shared_address(&barriers[rank ^ 1]);
  if (threadIdx.x == 0) {
    mbarrier_init(shared_address(&barriers[0]), 1);
    mbarrier_init(shared_address(&barriers[1]), 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (remote) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
  if (threadIdx.x % 32 == 0 && (!remote || threadIdx.x == 0)) {
    const uint32_t there = remote ? mapa(other, rank ^ 1) : other;
    long long t0 = 0;
    for (int i = 0; i < kRepeats + 4; ++i) {
      if (i == 4) t0 = clock64();
      if (rank == 1) mbarrier_wait_parity(mine, i & 1);
      if (remote)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
      else
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(there) : "memory");
      if (rank == 0) mbarrier_wait_parity(mine, i & 1);
    }
    if (rank == 0) cycles[0] = clock64() - t0;
  }
  if (remote) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
}

void arrive_to_observe(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(1, [](long long* c) { ping_pong<<<1, 64>>>(c, false); })[0]) / (2 * kRepeats));
}
void arrive_to_observe_remote(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(1,
                                  [](long long* c) {
                                    cudaLaunchConfig_t config{};
                                    config.gridDim = dim3(2);
                                    config.blockDim = dim3(32);
                                    cudaLaunchAttribute cluster{};
                                    cluster.id = cudaLaunchAttributeClusterDimension;
                                    cluster.val.clusterDim = {2, 1, 1};
                                    config.attrs = &cluster;
                                    config.numAttrs = 1;
                                    GEN5_CUDA(cudaLaunchKernelEx(&config, ping_pong, c, true));
                                  })[0]) /
                      (2 * kRepeats));
}
BENCHMARK(arrive_to_observe)->Apply(by_cycles);
BENCHMARK(arrive_to_observe_remote)->Apply(by_cycles);

// How long one try_wait without a hint suspends when nothing comes.
__global__ void suspended(long long* cycles) {
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  mbarrier_init(bar, 1);
  const long long t0 = clock64();
  const bool done = mbarrier_try_wait_parity(bar, 0);
  wait_for_value(done);
  const long long t1 = clock64();
  cycles[0] = t1 - t0 + done;
}
void try_wait_limit(benchmark::State& state) {
  for (auto _ : state) report(state, double(measured(1, [](long long* c) { suspended<<<1, 1>>>(c); })[0]));
}
BENCHMARK(try_wait_limit)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
