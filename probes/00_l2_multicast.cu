// Probe 00: how much of L2 comes into an SM by bulk copies that its cluster asks for together. Each CTA has a ring of
// stages: a part of a stage it copies for itself, the rest all CTAs of the cluster copy for all, an equal share each.
// One warp asks, another gives stages back.
//
//   probe_00_l2_multicast [--benchmark_format=json]
//
// `cycles` of a KiB that a CTA receives, the median of all CTAs.
#include <algorithm>

#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/l2_pass.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr uint32_t kStages = 4, kStage = 48 * 1024, kPeriod = 2, kSteps = 120, kSkipped = 24;

struct Ring {
  const uint8_t *own, *shared;
  uint32_t own_bytes;      // of a stage
  uint32_t ctas;           // of a cluster
  uint32_t same_clusters;  // so many clusters read equal data in the part that comes for all
};

__global__ void __launch_bounds__(64) receive(Ring r, long long* cycles) {
  extern __shared__ __align__(128) uint8_t buffer[];
  __shared__ uint64_t full[kStages], empty[kStages];
  const uint32_t rank = r.ctas > 1 ? cluster_ctarank() : 0, rest = kStage - r.own_bytes, part = rest / r.ctas;
  const bool together = rest && r.ctas > 1;
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&full[i]), 1);
      mbarrier_init(shared_address(&empty[i]), together ? r.ctas : 1);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  if (r.ctas > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
  const uint8_t* own = r.own + uint64_t(blockIdx.x) * kPeriod * r.own_bytes;
  const uint8_t* shared = r.shared + uint64_t(blockIdx.x / r.ctas / r.same_clusters) * kPeriod * rest;
  if (threadIdx.x == 0) {
    uint32_t slot = 0, parity = 1;
    for (uint32_t i = 0; i < kSteps; ++i) {
      const uint32_t bar = shared_address(&full[slot]), at = shared_address(buffer) + slot * kStage, p = i % kPeriod;
      mbarrier_wait_parity_cluster(shared_address(&empty[slot]), parity);
      mbarrier_arrive_expect_tx(bar, kStage);
      if (r.own_bytes) bulk_load(at, own + p * r.own_bytes, r.own_bytes, bar);
      if (together)
        asm volatile(
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
            "[%3], %4;" ::"r"(at + r.own_bytes + rank * part),
            "l"(shared + p * rest + rank * part), "r"(part), "r"(bar), "h"(uint16_t((1 << r.ctas) - 1))
            : "memory");
      if (++slot == kStages) slot = 0, parity ^= 1;
    }
  } else if (threadIdx.x == 32) {
    uint32_t slot = 0, parity = 0;
    long long begin = 0;
    for (uint32_t i = 0; i < kSteps; ++i) {
      mbarrier_wait_parity(shared_address(&full[slot]), parity);
      if (i == kSkipped) begin = ticks();
      if (together)
        for (uint32_t c = 0; c < r.ctas; ++c) mbarrier_arrive_remote(mapa(shared_address(&empty[slot]), c));
      else
        mbarrier_arrive(shared_address(&empty[slot]));
      if (++slot == kStages) slot = 0, parity ^= 1;
    }
    cycles[blockIdx.x] = ticks() - begin;
  }
  __syncthreads();
  if (r.ctas > 1) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
}

void received(benchmark::State& state) {
  const uint32_t cluster = uint32_t(state.range(0)), sms = uint32_t(gen5::harness::current_device().sms);
  const uint32_t ctas = state.range(2) ? sms / cluster * cluster : cluster;
  Ring r{};
  r.own_bytes = kStage / 4 * uint32_t(state.range(1));
  r.ctas = cluster;
  r.same_clusters = uint32_t(state.range(3));
  r.own = stretches(), r.shared = stretches() + kStretch;
  constexpr int kBytes = kStages * kStage;
  GEN5_CUDA(cudaFuncSetAttribute(receive, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  cudaLaunchConfig_t config{};
  config.gridDim = ctas, config.blockDim = 64, config.dynamicSmemBytes = kBytes;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
  config.attrs = &attribute, config.numAttrs = 1;
  for (auto _ : state) {
    auto c = measured(ctas, [&](long long* p) {
      for (int launch = 0; launch < 2; ++launch) GEN5_CUDA(cudaLaunchKernelEx(&config, receive, r, p));
    });
    std::ranges::nth_element(c, c.begin() + ctas / 2);
    report(state, double(c[ctas / 2]) / (double(kSteps - kSkipped) * kStage / 1024));
  }
}
void rings(benchmark::internal::Benchmark* b) {
  b->ArgNames({"cluster", "own_quarters", "everywhere", "same"});
  for (int everywhere : {0, 1}) {
    b->Args({1, 4, everywhere, 1});
    for (int own : {0, 2, 3}) b->Args({2, own, everywhere, 1})->Args({4, own, everywhere, 1});
  }
  for (int same : {4, 66}) b->Args({2, 2, 1, same});
  by_cycles(b);
}
BENCHMARK(received)->Name("received")->Apply(rings);

}  // namespace

BENCHMARK_MAIN();
