// Probe 00: tiles of a product, read from L2 without the product. CTAs (m, n) read block m of A and block n of B, step
// after step, into a ring of stages: by cp.async or bulk copies, alone or one for two CTAs of a cluster. So the
// SMs read much that others read too, at times that lie apart by what a CTA starts late and by what its steps take.
// `cycles` of a KiB that a CTA receives.
//
//   probe_00_l2_tiles [--benchmark_format=json]
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

enum class Means { cp_async, bulk, multicast };

constexpr uint32_t kStages = 4, kSteps = 48, kThreads = 256;

struct Tiles {
  const uint8_t *a, *b;
  uint32_t a_bytes, b_bytes;  // of a step
  uint32_t columns;           // CTAs in a row; 0: each reads tiles of its own
  uint32_t period;            // steps until the same tiles come again
  uint32_t late;              // a CTA starts up to so many cycles later than others,
  uint32_t work;              // and works so long at a step
};

__device__ __forceinline__ void wait_until(long long t) {
  while (ticks() < t) {
  }
}

/// 16 bytes a thread, in turns.
template <class Copy>
__device__ __forceinline__ void each_piece(uint32_t bytes, Copy copy) {
  for (uint32_t at = threadIdx.x * 16; at < bytes; at += kThreads * 16) copy(at);
}

template <Means means>
__global__ void __launch_bounds__(kThreads) read_tiles(Tiles t, uint32_t* begun, long long* cycles) {
  extern __shared__ __align__(128) uint8_t buffer[];
  __shared__ uint64_t full[kStages], empty[kStages];
  const uint32_t rank = means == Means::multicast ? cluster_ctarank() : 0;
  const uint32_t cta = blockIdx.x, stage_bytes = t.a_bytes + t.b_bytes;
  // The two of a cluster lie in one column.
  const uint32_t row = !t.columns ? cta : means == Means::multicast ? cta / 2 / t.columns * 2 + rank : cta / t.columns;
  const uint32_t column = !t.columns ? cta : means == Means::multicast ? cta / 2 % t.columns : cta % t.columns;
  const uint8_t *a = t.a + uint64_t(row) * t.period * t.a_bytes, *b = t.b + uint64_t(column) * t.period * t.b_bytes;
  const uint32_t to = shared_address(buffer);
  if (threadIdx.x == 0) {
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&full[i]), 1);
      mbarrier_init(shared_address(&empty[i]), 2);
    }
    fence_mbarrier_init();
    atomicAdd(begun, 1);
    while (*static_cast<volatile uint32_t*>(begun) < gridDim.x) {
    }
    if (t.late) wait_until(ticks() + (cta / 2 * 2654435761u >> 8) % t.late);
  }
  __syncthreads();
  if (means == Means::multicast) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
  const long long t0 = ticks();
  if constexpr (means == Means::bulk || means == Means::multicast) {
    if (threadIdx.x == 0) {
#pragma unroll 1
      for (uint32_t i = 0; i < kSteps + kStages; ++i) {
        const uint32_t slot = i % kStages, bar = shared_address(&full[slot]);
        if (i >= kStages) {
          mbarrier_wait_parity(bar, (i / kStages - 1) & 1);
          if (t.work) wait_until(ticks() + t.work);
          if (means == Means::multicast && i < kSteps) {
            mbarrier_arrive_remote(mapa(shared_address(&empty[slot]), 0));
            mbarrier_arrive_remote(mapa(shared_address(&empty[slot]), 1));
            mbarrier_wait_parity_cluster(shared_address(&empty[slot]), (i / kStages - 1) & 1);
          }
        }
        if (i >= kSteps) continue;
        mbarrier_arrive_expect_tx(bar, stage_bytes);
        const uint32_t at = to + slot * stage_bytes;
        bulk_load(at, a + i % t.period * t.a_bytes, t.a_bytes, bar);
        if (means == Means::bulk) {
          bulk_load(at + t.a_bytes, b + i % t.period * t.b_bytes, t.b_bytes, bar);
        } else {
          // Half of B, for both.
          const uint32_t half = t.b_bytes / 2, from = rank * half;
          asm volatile(
              "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, "
              "[%3], %4;" ::"r"(at + t.a_bytes + from),
              "l"(b + i % t.period * t.b_bytes + from), "r"(half), "r"(bar), "h"(uint16_t(3))
              : "memory");
        }
      }
    }
  } else {
#pragma unroll 1
    for (uint32_t i = 0; i < kSteps + kStages - 1; ++i) {
      if (i >= kStages - 1) {
        asm volatile("cp.async.wait_group %0;" ::"n"(kStages - 2) : "memory");
        __syncthreads();
        if (t.work) wait_until(ticks() + t.work);
      }
      if (i < kSteps) {
        const uint32_t at = to + i % kStages * stage_bytes;
        const auto copy = [](uint32_t dst, const uint8_t* src) {
          asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(dst), "l"(src) : "memory");
        };
        each_piece(t.a_bytes, [&](uint32_t x) { copy(at + x, a + i % t.period * t.a_bytes + x); });
        each_piece(t.b_bytes, [&](uint32_t x) { copy(at + t.a_bytes + x, b + i % t.period * t.b_bytes + x); });
      }
      asm volatile("cp.async.commit_group;" ::: "memory");
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");
  }
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
  if (means == Means::multicast) {
    barrier_cluster_arrive();
    barrier_cluster_wait();
  }
}

/// Rows of A and columns of B that a step reads (of 128 bytes each).
template <Means means>
void tiles(benchmark::State& state) {
  const uint32_t sms = uint32_t(gen5::harness::current_device().sms) / 2 * 2,
                 cluster = means == Means::multicast ? 2 : 1;
  Tiles t{};
  t.a_bytes = uint32_t(state.range(0)) * 128, t.b_bytes = uint32_t(state.range(1)) * 128;
  t.columns = uint32_t(state.range(2)), t.late = uint32_t(state.range(3)), t.work = uint32_t(state.range(4));
  t.period = t.columns ? 24 : 4;  // L2 holds them
  t.a = stretches(), t.b = stretches() + kStretch;
  const uint32_t shared = kStages * (t.a_bytes + t.b_bytes);
  GEN5_CUDA(cudaFuncSetAttribute(read_tiles<means>, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
  gen5::harness::DeviceBuffer<uint32_t> begun(2);
  cudaLaunchConfig_t config{};
  config.gridDim = sms, config.blockDim = kThreads, config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = cluster, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
  config.attrs = &attribute, config.numAttrs = 1;
  for (auto _ : state) {
    begun.fill(0);
    const auto c = measured(sms, [&](long long* p) {
      for (int warm = 0; warm < 2; ++warm)
        GEN5_CUDA(cudaLaunchKernelEx(&config, read_tiles<means>, t, begun.get() + warm, p));
    });
    double sum = 0;
    for (long long cycles : c) sum += double(cycles);
    report(state, sum / sms / (kSteps * double(t.a_bytes + t.b_bytes) / 1024));
  }
}

void shapes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"a", "b", "columns", "late", "work"});
  for (int columns : {0, 12, 33}) b->Args({128, 128, columns, 0, 0});
  for (int late : {300, 1000, 3000, 10000}) b->Args({128, 128, 12, late, 0});
  b->Args({128, 128, 12, 1000, 256})
      ->Args({128, 128, 12, 1000, 512})
      ->Args({128, 128, 0, 0, 512})
      ->Args({128, 128, 0, 0, 1024});
  b->Args({64, 128, 12, 0, 0})->Args({64, 128, 12, 1000, 0})->Args({64, 128, 12, 1000, 256});
  b->Args({128, 64, 12, 1000, 0})->Args({64, 64, 12, 0, 0})->Args({64, 64, 12, 1000, 0});
  by_cycles(b);
}
BENCHMARK(tiles<Means::cp_async>)->Name("cp_async")->Apply(shapes);
BENCHMARK(tiles<Means::bulk>)->Name("bulk")->Apply(shapes);
BENCHMARK(tiles<Means::multicast>)->Name("multicast")->Apply(shapes);

}  // namespace

BENCHMARK_MAIN();
