// Kernels that wait for each other: barriers of a CTA, mbarriers, clusters and their shared memory.
#include "common/ptx/barrier.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

using namespace gen5::ptx;

/// Each round every thread reads what its neighbour of the next warp wrote.
__global__ void cta_rounds(uint32_t* out, uint32_t rounds) {
  __shared__ uint32_t values[2][1024];
  uint32_t v = threadIdx.x;
  for (uint32_t r = 0; r < rounds; ++r) {
    values[r & 1][threadIdx.x] = v;
    __syncthreads();
    v = values[r & 1][(threadIdx.x + 32) % blockDim.x] + 1;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

/// Two halves of a CTA hand a word back and forth through named barriers.
__global__ void named_rounds(uint32_t* out, uint32_t rounds) {
  __shared__ uint32_t word[64];
  const uint32_t half = threadIdx.x / 64, t = threadIdx.x % 64;
  if (half == 0) word[t] = t;
  for (uint32_t r = 0; r < rounds; ++r) {
    if (half == 0) {
      word[t] += 1;
      bar_arrive(1, 128);
      bar_sync(2, 128);
    } else {
      bar_sync(1, 128);
      word[t] += 1;
      bar_arrive(2, 128);
    }
  }
  if (half == 0) out[blockIdx.x * 64 + t] = word[t];
}

/// A warp produces, a warp consumes, through a ring of mbarriers.
template <int Depth>
__global__ void ring_rounds(uint32_t* out, uint32_t rounds) {
  __shared__ uint32_t slot[Depth][32];
  __shared__ alignas(8) uint64_t full[Depth], empty[Depth];
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < Depth; ++i) {
      mbarrier_init(shared_address(&full[i]), 32);
      mbarrier_init(shared_address(&empty[i]), 32);
    }
    fence_mbarrier_init();
  }
  __syncthreads();
  uint32_t sum = 0;
  for (uint32_t r = 0; r < rounds; ++r) {
    const uint32_t s = r % Depth, parity = r / Depth & 1;
    if (warp == 0) {
      mbarrier_wait_parity(shared_address(&empty[s]), parity ^ 1);
      slot[s][lane] = r + lane;
      mbarrier_arrive(shared_address(&full[s]));
    } else {
      mbarrier_wait_parity(shared_address(&full[s]), parity);
      sum += slot[s][lane];
      mbarrier_arrive(shared_address(&empty[s]));
    }
  }
  if (warp == 1) out[blockIdx.x * 32 + lane] = sum;
}

/// Each round every CTA of the cluster reads what the next one wrote.
__global__ void cluster_rounds(uint32_t* out, uint32_t rounds) {
  __shared__ uint32_t values[2][128];
  const uint32_t rank = cluster_ctarank(), ctas = cluster_nctarank();
  uint32_t v = threadIdx.x;
  for (uint32_t r = 0; r < rounds; ++r) {
    values[r & 1][threadIdx.x] = v;
    barrier_cluster_arrive();
    barrier_cluster_wait();
    v = ld_shared_cluster(mapa(shared_address(&values[r & 1][threadIdx.x]), (rank + 1) % ctas)) + 1;
  }
  out[blockIdx.x * 128 + threadIdx.x] = v;
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

/// Sums of the other CTAs' shared memory: streams of loads from a peer.
__global__ void cluster_sum(uint32_t* out, uint32_t rounds) {
  __shared__ uint32_t values[1024];
  const uint32_t rank = cluster_ctarank(), ctas = cluster_nctarank();
  for (uint32_t i = threadIdx.x; i < 1024; i += blockDim.x) values[i] = i;
  barrier_cluster_arrive();
  barrier_cluster_wait();
  const uint32_t peer = mapa(shared_address(values), (rank + 1) % ctas);
  uint32_t sum = 0;
  for (uint32_t r = 0; r < rounds; ++r)
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) sum += ld_shared_cluster(peer + ((threadIdx.x + i * 128) % 1024) * 4);
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
  barrier_cluster_arrive();
  barrier_cluster_wait();
}

template <class Kernel>
void launch_cluster(Kernel* kernel, uint32_t grid, uint32_t threads, uint32_t cluster, uint32_t* out, uint32_t rounds) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = threads;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
  config.attrs = &attribute, config.numAttrs = 1;
  GEN5_CUDA(cudaLaunchKernelEx(&config, kernel, out, rounds));
}

/// All words of the result follow from their place.
template <class Launch, class Want>
Instance rounds_of(uint32_t count, Launch launch, Want want) {
  auto out = empty<uint32_t>(count);
  return {[=] { launch(out->get()); },
          [=] {
            const auto v = out->download();
            return compare(
                count, 4000, 0, [&](size_t i) { return v[i]; }, want);
          }};
}

template <int Depth>
void add_ring(Cases& cases) {
  cases.push_back({text("mbarrier_ring/depth:%d", Depth), "barriers", false, [] {
                     return rounds_of(
                         132 * 32, [](uint32_t* out) { ring_rounds<Depth><<<132, 64>>>(out, 200); },
                         [](size_t i) { return 199 * 200 / 2 + 200 * (i % 32); });
                   }});
}

}  // namespace

void add_synchronisation(Cases& cases) {
  for (const uint32_t threads : {64u, 256u, 1024u})
    for (const uint32_t ctas : {132u, 264u})
      cases.push_back({text("cta_rounds/threads:%u/ctas:%u", threads, ctas), "barriers", false, [=] {
                         return rounds_of(
                             ctas * threads, [=](uint32_t* out) { cta_rounds<<<ctas, threads>>>(out, 200); },
                             [=](size_t i) { return (i % threads + 200 * 32) % threads + 200; });
                       }});
  cases.push_back({"named_rounds", "barriers", false, [] {
                     return rounds_of(
                         132 * 64, [](uint32_t* out) { named_rounds<<<132, 128>>>(out, 200); },
                         [](size_t i) { return i % 64 + 400; });
                   }});
  add_ring<1>(cases);
  add_ring<4>(cases);
  for (const uint32_t cluster : {2u, 4u, 8u}) {
    cases.push_back({text("cluster_rounds/ctas:%u", cluster), "clusters", false, [=] {
                       return rounds_of(
                           64 * 128, [=](uint32_t* out) { launch_cluster(cluster_rounds, 64, 128, cluster, out, 100); },
                           [](size_t i) { return i % 128 + 100; });
                     }});
    cases.push_back({text("cluster_sum/ctas:%u", cluster), "clusters", false, [=] {
                       return rounds_of(
                           64 * 128, [=](uint32_t* out) { launch_cluster(cluster_sum, 64, 128, cluster, out, 50); },
                           [](size_t i) {
                             uint32_t sum = 0;
                             for (uint32_t j = 0; j < 8; ++j) sum += (i % 128 + j * 128) % 1024;
                             return sum * 50;
                           });
                     }});
  }
}

}  // namespace prediction
