// Probe 00: GPCs and CPCs. Which SMs lie in one GPC, as clusters tell; what a GPC reads of L2 and what three of its
// TPCs that share a way (a CPC) write; and for how long SMs of a GPC that ask for the same line share the answer.
//
//   probe_00_gpc [--benchmark_format=json]
#include <algorithm>
#include <numeric>

#include "common/ptx/bulk_tensor.h"
#include "common/ptx/cluster.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/l2_pass.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

// ---- Which SMs lie together

constexpr uint32_t kLargestCluster = 16;

/// Every CTA notes its SM, and stays until all of its grid that fit have begun.
__global__ void where(long long* sms) {
  const long long t0 = ticks();
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  sms[blockIdx.x] = sm;
  while (ticks() - t0 < 20000) {
  }
}

template <class... Arguments>
cudaError_t launch_clusters(void (*kernel)(Arguments...), uint32_t size, uint32_t ctas, uint32_t threads,
                            uint32_t shared, Arguments... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = ctas, config.blockDim = threads, config.dynamicSmemBytes = shared;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeClusterDimension;
  attribute.val.clusterDim.x = size, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
  config.attrs = &attribute, config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, arguments...);
}

/// SMs by GPC, in the order of their numbers; the GPC with the most is the first. Two SMs that have held one cluster
/// lie in one GPC, and clusters of many sizes cut GPCs in many ways.
const std::vector<std::vector<uint32_t>>& gpcs() {
  static const auto found = [] {
    const uint32_t count = uint32_t(gen5::harness::current_device().sms), shared = 160 * 1024;
    std::vector<uint32_t> with(count);
    std::iota(with.begin(), with.end(), 0u);
    const auto root = [&](uint32_t sm) {
      while (with[sm] != sm) sm = with[sm];
      return sm;
    };
    GEN5_CUDA(cudaFuncSetAttribute(where, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    GEN5_CUDA(cudaFuncSetAttribute(where, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
    for (uint32_t size = 2; size <= kLargestCluster; ++size) {
      const uint32_t ctas = count / size * size;
      bool runs = true;
      const auto sms = measured(ctas, [&](long long* out) {
        runs = launch_clusters(where, size, ctas, 32, shared, out) == cudaSuccess;
        if (!runs) (void)cudaGetLastError();  // a size that this chip does not take
      });
      for (uint32_t i = 0; runs && i < ctas; ++i) with[root(uint32_t(sms[i]))] = root(uint32_t(sms[i / size * size]));
    }
    std::vector<std::vector<uint32_t>> by_root(count), all;
    for (uint32_t sm = 0; sm < count; ++sm) by_root[root(sm)].push_back(sm);
    for (auto& sms : by_root)
      if (!sms.empty()) all.push_back(std::move(sms));
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
    return all;
  }();
  return found;
}

/// `cycles` is a count. A TPC that no cluster of more than two has held is left out: nobody knows where it lies.
void gpc_count(benchmark::State& state) {
  const auto known = std::count_if(gpcs().begin(), gpcs().end(), [](const auto& sms) { return sms.size() > 2; });
  for (auto _ : state) report(state, double(known));
}
BENCHMARK(gpc_count)->Name("gpcs")->Apply(by_cycles);

/// `cycles` is a count: SMs of the largest GPC.
void gpc_sms(benchmark::State& state) {
  for (auto _ : state) report(state, double(gpcs().front().size()));
}
BENCHMARK(gpc_sms)->Apply(by_cycles);

// ---- What they get: cycles of a KiB, of each SM

constexpr size_t kOfEach = 16;

/// 16 SMs of each of so many GPCs.
void gpc_read(benchmark::State& state) {
  Chosen some;
  for (size_t g = 0; g < std::min(size_t(state.range(0)), gpcs().size()); ++g)
    for (size_t i = 0; i < std::min(kOfEach, gpcs()[g].size()); ++i) some.add(gpcs()[g][i]);
  const int sms = gen5::harness::current_device().sms;
  for (auto _ : state) report(state, cycles_per_kib<Way::read, Where::own>(sms, some));
}
BENCHMARK(gpc_read)->ArgName("gpcs")->Arg(1)->Arg(2)->Arg(4)->Arg(8)->Apply(by_cycles);

/// All SMs of the largest GPC.
void gpc_write(benchmark::State& state) {
  const int sms = gen5::harness::current_device().sms;
  for (auto _ : state) report(state, cycles_per_kib<Way::write, Where::own>(sms, Chosen::of(gpcs()[0])));
}
BENCHMARK(gpc_write)->Apply(by_cycles);

/// Three TPCs of the largest GPC, the first of them and those two beside which it gets least: those of its CPC.
void cpc_write(benchmark::State& state) {
  const int sms = gen5::harness::current_device().sms;
  const std::vector<uint32_t>& gpc = gpcs()[0];
  const size_t tpcs = gpc.size() / 2;
  for (auto _ : state) {
    double slowest = 0;
    Chosen together;
    for (size_t a = 1; a < tpcs; ++a)
      for (size_t b = a + 1; b < tpcs; ++b) {
        const uint32_t six[] = {gpc[0], gpc[1], gpc[2 * a], gpc[2 * a + 1], gpc[2 * b], gpc[2 * b + 1]};
        const Chosen some = Chosen::of(six);
        const double cycles = cycles_per_kib<Way::write, Where::own>(sms, some, 6);
        if (cycles > slowest) slowest = cycles, together = some;
      }
    report(state, cycles_per_kib<Way::write, Where::own>(sms, together));
  }
}
BENCHMARK(cpc_write)->Apply(by_cycles);

// ---- Who shares what is read, and for how long

constexpr uint32_t kMostSlots = 8, kCopy = 16 * 1024, kRegionBytes = 192 * 1024, kPasses = 6;

/// By %smid: which region an SM reads.
struct Regions {
  static constexpr uint32_t kMost = 512;
  uint16_t of[kMost] = {};
};

/// One CTA each in clusters of two, and all at once: those that are chosen read their region by bulk copies, `slots` of
/// them on their way. The second of a cluster begins `lag` cycles behind the first.
__global__ void read_regions(const uint8_t* memory, Regions regions, Chosen chosen, uint32_t slots, uint32_t lag,
                             uint32_t* begun, long long* cycles) {
  extern __shared__ __align__(128) uint8_t buffer[];
  __shared__ uint64_t full[kMostSlots];
  constexpr uint32_t kCopies = kRegionBytes / kCopy * kPasses;
  if (threadIdx.x == 0) {
    for (uint64_t& m : full) mbarrier_init(shared_address(&m), 1);
    fence_proxy_async();
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    const uint8_t* from = memory + uint64_t(regions.of[sm]) * kRegionBytes;
    atomicAdd(begun, 1);
    while (*static_cast<volatile uint32_t*>(begun) < gridDim.x) {
    }
    cycles[blockIdx.x] = 0;
    if (!chosen.has(sm)) return;
    const long long begin = ticks();
    while (cluster_ctarank() && ticks() - begin < lag) {
    }
    const long long t0 = ticks();
    uint32_t slot = 0, parity = 1;
#pragma unroll 1
    for (uint32_t i = 0; i < kCopies + slots; ++i) {
      const uint32_t bar = shared_address(&full[slot]);
      if (i >= slots) mbarrier_wait_parity(bar, parity);
      if (i < kCopies) {
        mbarrier_arrive_expect_tx(bar, kCopy);
        bulk_load(shared_address(buffer + slot * kCopy), from + i * kCopy % kRegionBytes, kCopy, bar);
      }
      if (++slot == slots) slot = 0, parity ^= 1;
    }
    cycles[blockIdx.x] = ticks() - t0;
  }
}

/// Mean over the SMs that are chosen: cycles of a KiB, of each.
double region_reads(const Regions& regions, const Chosen& chosen, uint32_t slots, uint32_t lag) {
  const uint32_t ctas = uint32_t(gen5::harness::current_device().sms) / 2 * 2, shared = kMostSlots * kCopy;
  uint8_t* memory = stretches();
  GEN5_CUDA(cudaFuncSetAttribute(read_regions, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
  gen5::harness::DeviceBuffer<uint32_t> begun(2);
  begun.fill(0);
  const auto c = measured(ctas, [&](long long* p) {
    for (int warm = 0; warm < 2; ++warm)
      GEN5_CUDA(launch_clusters(read_regions, 2u, ctas, 32u, shared, static_cast<const uint8_t*>(memory), regions,
                                chosen, slots, lag, begun.get() + warm, p));
  });
  double sum = 0, worked = 0;
  for (long long cycles : c) sum += double(cycles), worked += cycles > 0;
  return sum / worked / (kPasses * double(kRegionBytes) / 1024);
}

Regions own_regions() {
  Regions regions;
  for (uint32_t sm = 0; sm < Regions::kMost; ++sm) regions.of[sm] = uint16_t(sm);
  return regions;
}

/// Bulk copies of the first SMs of the largest GPC, each its own: of `tpcs` TPCs, one SM or both.
void bulk_read(benchmark::State& state) {
  Chosen some;
  for (size_t tpc = 0; tpc < size_t(state.range(0)); ++tpc)
    for (size_t i = 0; i < size_t(state.range(1)); ++i) some.add(gpcs()[0][2 * tpc + i]);
  for (auto _ : state) report(state, region_reads(own_regions(), some, uint32_t(state.range(2)), 0));
}
BENCHMARK(bulk_read)->ArgNames({"tpcs", "sms", "slots"})->ArgsProduct({{1, 4}, {1, 2}, {2, 4, 8}})->Apply(by_cycles);

/// Groups of so many SMs that read the same: of a GPC, or `apart`, each of another one.
void shared_read(benchmark::State& state) {
  const size_t each = size_t(state.range(0));
  Regions regions;
  uint16_t next = 0;
  if (state.range(1)) {
    for (const auto& sms : gpcs())
      for (size_t i = 0; i < sms.size(); ++i) regions.of[sms[i]] = uint16_t(i);
  } else {
    for (const auto& sms : gpcs())
      for (size_t i = 0; i < sms.size(); ++i) {
        next = uint16_t(next + (i % each == 0));
        regions.of[sms[i]] = next;
      }
  }
  for (auto _ : state) report(state, region_reads(regions, Chosen::all(), kMostSlots, 0));
}
BENCHMARK(shared_read)
    ->ArgNames({"sms", "apart"})
    ->Args({1, 0})
    ->Args({2, 0})
    ->Args({4, 0})
    ->Args({8, 0})
    ->Args({16, 0})
    ->Args({8, 1})
    ->Apply(by_cycles);

/// The two SMs of a TPC read the same, one later than the other.
void late_read(benchmark::State& state) {
  Regions regions;
  for (uint32_t sm = 0; sm < Regions::kMost; ++sm) regions.of[sm] = uint16_t(sm / 2);
  for (auto _ : state) report(state, region_reads(regions, Chosen::all(), kMostSlots, uint32_t(state.range(0))));
}
BENCHMARK(late_read)->ArgName("lag")->Arg(0)->Arg(80)->Arg(160)->Arg(320)->Arg(640)->Arg(1280)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
