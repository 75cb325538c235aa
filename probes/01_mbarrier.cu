// Probe 01: what mbarrier operations cost, how long news takes through one, and how long a try_wait suspends.
//
//   probe_01_mbarrier [--benchmark_format=json]
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

// ---- One thread, one operation behind the other: a difference of two numbers of them

enum Operation {
  op_init,
  op_arrive,
  op_arrive_relaxed,
  op_expect_and_arrive,
  op_arrive_expect,
  op_try,
  op_test,
  op_try_chain,
  op_test_chain
};

constexpr int kFew = 32, kMany = 64;
constexpr uint32_t kNobody = 1 << 19;  // arrivals that never come together

template <int operation, int n>
__global__ void repeated(long long* cycles) {
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  mbarrier_init(bar, kNobody);
  __syncwarp();
  uint32_t result = operation == op_try_chain || operation == op_test_chain;
  timed<n>(cycles, result, [&](int) {
    if constexpr (operation == op_init) mbarrier_init(bar, kNobody);
    if constexpr (operation == op_arrive)
      asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
    if constexpr (operation == op_arrive_relaxed)
      asm volatile("mbarrier.arrive.relaxed.cta.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
    // ptxas makes one of neighbouring expect_tx, so there is an arrive between them.
    if constexpr (operation == op_expect_and_arrive)
      asm volatile(
          "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 16;\n\t"
          "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar)
          : "memory");
    if constexpr (operation == op_arrive_expect)
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;" ::"r"(bar) : "memory");
    // Parity 1 is that of the phase before the first, which counts as over.
    if constexpr (operation == op_try)
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 1;}" ::"r"(bar) : "memory");
    if constexpr (operation == op_test)
      asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%0], 1;}" ::"r"(bar) : "memory");
    // The answer, 1, is the parity that the next one asks for.
    if constexpr (operation == op_try_chain)
      asm volatile("{.reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %0; selp.u32 %0, 1, 0, p;}"
                   : "+r"(result)
                   : "r"(bar)
                   : "memory");
    if constexpr (operation == op_test_chain)
      asm volatile("{.reg .pred p; mbarrier.test_wait.parity.shared::cta.b64 p, [%1], %0; selp.u32 %0, 1, 0, p;}"
                   : "+r"(result)
                   : "r"(bar)
                   : "memory");
  });
}

template <int operation>
void cost(benchmark::State& state) {
  for (auto _ : state) {
    const auto few = measured(1, [](long long* c) { repeated<operation, kFew><<<1, 1>>>(c); });
    const auto many = measured(1, [](long long* c) { repeated<operation, kMany><<<1, 1>>>(c); });
    report(state, double(many[0] - few[0]) / (kMany - kFew));
  }
}
BENCHMARK(cost<op_init>)->Name("init")->Apply(by_cycles);
BENCHMARK(cost<op_arrive>)->Name("arrive")->Apply(by_cycles);
BENCHMARK(cost<op_arrive_relaxed>)->Name("arrive_relaxed")->Apply(by_cycles);
BENCHMARK(cost<op_expect_and_arrive>)->Name("expect_tx_and_arrive")->Apply(by_cycles);
BENCHMARK(cost<op_arrive_expect>)->Name("arrive_expect_tx")->Apply(by_cycles);
// On a finished phase: one behind the other, and each after the answer of the one before.
BENCHMARK(cost<op_try>)->Name("try_wait_ready")->Apply(by_cycles);
BENCHMARK(cost<op_test>)->Name("test_wait_ready")->Apply(by_cycles);
BENCHMARK(cost<op_try_chain>)->Name("try_wait_ready_latency")->Apply(by_cycles);
BENCHMARK(cost<op_test_chain>)->Name("test_wait_ready_latency")->Apply(by_cycles);

// ---- From an arrive to the next instruction of a warp that waits

constexpr int kDelays = 64;

__device__ __forceinline__ void spin_parity(uint32_t bar, uint32_t parity) {
  while (!mbarrier_test_wait_parity(bar, parity)) {
  }
}

/// Warp 1 arrives while warp 0 waits: a little later every time, so that all moments of a loop of polls have their
/// turn. Sum over the delays; the first of two rounds fills the instruction cache.
template <bool spins>
__global__ void heard(long long* cycles) {
  __shared__ alignas(8) uint64_t barrier;
  __shared__ long long arrived;
  const uint32_t bar = kept(shared_address(&barrier)), lane = threadIdx.x % 32;
  if (threadIdx.x == 0) mbarrier_init(bar, 1);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    long long sum = 0;
#pragma unroll 1
    for (int delay = 0; delay < kDelays; ++delay) {
      long long seen = 0;
      __syncthreads();
      if (threadIdx.x < 32) {
        if constexpr (spins)
          spin_parity(bar, uint32_t(delay) & 1);
        else
          mbarrier_wait_parity(bar, uint32_t(delay) & 1);
        seen = ticks();
      } else {
        uint32_t x = 1;
#pragma unroll 1
        for (int i = 0; i < 8 + delay; ++i) asm volatile("add.u32 %0, %0, %0;" : "+r"(x));
        const long long t = ticks();
        if (lane == 0) {
          asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(bar) : "memory");
          arrived = t;
        }
      }
      __syncthreads();
      sum += seen - arrived;
    }
    if (threadIdx.x == 0) cycles[0] = sum;
  }
}

template <bool spins>
void arrive_to_observe(benchmark::State& state) {
  for (auto _ : state)
    report(state, double(measured(1, [](long long* c) { heard<spins><<<1, 64>>>(c); })[0]) / kDelays);
}
BENCHMARK(arrive_to_observe<false>)->Name("arrive_to_observe")->Apply(by_cycles);
// By a loop of test_wait, whose answers come one behind the other.
BENCHMARK(arrive_to_observe<true>)->Name("arrive_to_observe_spinning")->Apply(by_cycles);

// ---- Two CTAs, whose clocks differ, hand a phase back and forth

enum How {
  remote,         // .release.cluster and .acquire.cluster
  remote_relaxed  // without ordering of other memory
};

__device__ __forceinline__ void wait_parity_relaxed(uint32_t bar, uint32_t parity) {
  uint32_t done = 0;
  while (!done)
    asm volatile(
        "{\n\t"
        ".reg .pred p;\n\t"
        "mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 p, [%1], %2;\n\t"
        "selp.u32 %0, 1, 0, p;\n\t"
        "}"
        : "=r"(done)
        : "r"(bar), "r"(parity)
        : "memory");
}

template <int how>
__global__ void __cluster_dims__(2, 1, 1) ping_pong(long long* cycles, int rounds) {
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t rank = cluster_ctarank(), mine = kept(shared_address(&barrier)), there = mapa(mine, rank ^ 1);
  mbarrier_init(mine, 1);
  fence_mbarrier_init();
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const auto wait = [&](uint32_t parity) {
    if constexpr (how == remote) mbarrier_wait_parity_cluster(mine, parity);
    if constexpr (how == remote_relaxed) wait_parity_relaxed(mine, parity);
  };
  const long long t0 = ticks();
#pragma unroll 1
  for (int i = 0; i < rounds; ++i) {
    if (rank == 1) wait(i & 1);
    if constexpr (how == remote)
      mbarrier_arrive_cluster(there);
    else
      asm volatile("mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%0];" ::"r"(there) : "memory");
    if (rank == 0) wait(i & 1);
  }
  const long long t1 = ticks();
  if (rank == 0) cycles[0] = t1 - t0;
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

/// Half a round trip.
template <int how>
void half_round_trip(benchmark::State& state) {
  const auto launch = [](int rounds) {
    return double(measured(1, [rounds](long long* c) { ping_pong<how><<<2, 1>>>(c, rounds); })[0]);
  };
  for (auto _ : state) {
    const double few = launch(16), many = launch(48);
    report(state, (many - few) / (2 * 32));
  }
}
BENCHMARK(half_round_trip<remote>)->Name("arrive_to_observe_remote")->Apply(by_cycles);
BENCHMARK(half_round_trip<remote_relaxed>)->Name("arrive_to_observe_remote_relaxed")->Apply(by_cycles);

// ---- How long one try_wait suspends when nothing comes

/// hint: suspendTimeHint in nanoseconds.
template <bool with_hint>
__global__ void suspended(long long* cycles, uint32_t hint, uint32_t never) {
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier);
  mbarrier_init(bar, 1);
  __syncwarp();
  for (int round = 0; round < 2; ++round) {  // the second time from the instruction cache
    uint32_t done;
    const long long t0 = ticks();
    if constexpr (!with_hint)
      done = mbarrier_try_wait_parity(bar, 0);
    else
      asm volatile(
          "{\n\t"
          ".reg .pred p;\n\t"
          "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], 0, %2;\n\t"
          "selp.u32 %0, 1, 0, p;\n\t"
          "}"
          : "=r"(done)
          : "r"(bar), "r"(hint)
          : "memory");
    wait_for_value(done, never);
    const long long t1 = ticks();
    cycles[0] = t1 - t0;
  }
}
void try_wait_limit(benchmark::State& state) {
  for (auto _ : state) {
    const uint32_t hint = uint32_t(state.range(0));
    const double cycles = double(measured(1, [hint](long long* c) {
      hint ? suspended<true><<<1, 1>>>(c, hint, 2) : suspended<false><<<1, 1>>>(c, hint, 2);
    })[0]);
    report(state, cycles);
    state.counters["nanoseconds"] = cycles / gen5::harness::current_device().clock_ghz;
  }
}
BENCHMARK(try_wait_limit)
    ->ArgNames({"hint_ns"})
    ->Arg(0)
    ->Arg(1)
    ->Arg(100)
    ->Arg(1000)
    ->Arg(10'000)
    ->Arg(1'000'000)
    ->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
