// Probe 12: starting grids and CTAs. How long an SM stands between a CTA's end and its successor's start, how fast the
// first CTAs of an SM follow each other, what lies between two kernels of a stream with and without programmatic
// launch, and the barriers of a CTA by its warps.
//
//   probe_12_launch [--benchmark_format=json]
#include <map>

#include "probes/probe.h"

namespace {

using namespace gen5::probe;

constexpr size_t kWords = 3;  // a CTA leaves: its SM, its first and its last clock

/// Stays for `stay` cycles.
__global__ void stamped(long long* stamps, long long stay, bool early) {
  const long long t0 = ticks();
  if (early) asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  while (ticks() - t0 < stay) {
  }
  if (threadIdx.x == 0) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamps[blockIdx.x * kWords] = sm;
    stamps[blockIdx.x * kWords + 1] = t0;
    stamps[blockIdx.x * kWords + 2] = ticks();
  }
}

struct Stay {
  long long from, to;
};

std::map<long long, std::vector<Stay>> by_sm(const std::vector<long long>& stamps, size_t first, size_t ctas) {
  std::map<long long, std::vector<Stay>> sms;
  for (size_t i = first; i < first + ctas; ++i)
    sms[stamps[i * kWords]].push_back({stamps[i * kWords + 1], stamps[i * kWords + 2]});
  for (auto& [sm, list] : sms) std::sort(list.begin(), list.end(), [](Stay a, Stay b) { return a.from < b.from; });
  return sms;
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  std::nth_element(v.begin(), v.begin() + ptrdiff_t(v.size() / 2), v.end());
  return v[v.size() / 2];
}

int sms() { return gen5::harness::current_device().sms; }

/// One CTA on an SM at a time, eight behind each other.
void refill(benchmark::State& state) {
  const int threads = int(state.range(0)), shared = int(state.range(1)) * 1024, ctas = sms() * 8;
  GEN5_CUDA(cudaFuncSetAttribute(stamped, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  for (auto _ : state) {
    const auto stamps =
        measured(size_t(ctas) * kWords, [&](long long* p) { stamped<<<ctas, threads, shared>>>(p, 2000, false); });
    std::vector<double> gaps;
    for (const auto& [sm, list] : by_sm(stamps, 0, size_t(ctas)))
      for (size_t i = 1; i < list.size(); ++i) gaps.push_back(double(list[i].from - list[i - 1].to));
    report(state, median(gaps));
  }
}
BENCHMARK(refill)
    ->ArgNames({"threads", "shared_kib"})
    ->Args({32, 200})
    ->Args({128, 200})
    ->Args({384, 200})
    ->Args({1024, 200})
    ->Args({1024, 120})
    ->Apply(by_cycles);

/// As many CTAs as fit are started at once: cycles from one's first instruction to the next one's, on an SM.
void first_ctas(benchmark::State& state) {
  const int threads = int(state.range(0)), each = 2048 / threads > 16 ? 16 : 2048 / threads, ctas = sms() * each;
  for (auto _ : state) {
    const auto stamps =
        measured(size_t(ctas) * kWords, [&](long long* p) { stamped<<<ctas, threads>>>(p, 20000, false); });
    std::vector<double> gaps;
    for (const auto& [sm, list] : by_sm(stamps, 0, size_t(ctas)))
      if (list.size() > 1) gaps.push_back(double(list.back().from - list.front().from) / double(list.size() - 1));
    report(state, median(gaps));
  }
}
BENCHMARK(first_ctas)->ArgNames({"threads"})->Arg(128)->Arg(256)->Arg(512)->Arg(1024)->Apply(by_cycles);

/// CTAs that are over at once, many to an SM: cycles a CTA and SM.
void short_ctas(benchmark::State& state) {
  const int threads = int(state.range(0)), ctas = sms() * 64;
  for (auto _ : state) {
    const auto stamps = measured(size_t(ctas) * kWords, [&](long long* p) { stamped<<<ctas, threads>>>(p, 0, false); });
    std::vector<double> gaps;
    for (const auto& [sm, list] : by_sm(stamps, 0, size_t(ctas)))
      if (list.size() > 1) gaps.push_back(double(list.back().from - list.front().from) / double(list.size() - 1));
    report(state, median(gaps));
  }
}
BENCHMARK(short_ctas)->ArgNames({"threads"})->Arg(32)->Arg(128)->Arg(512)->Arg(1024)->Apply(by_cycles);

/// Two kernels of a stream with one CTA an SM: from the last clock of the first to the first of the second, on an SM.
template <bool programmatic>
void next_kernel(benchmark::State& state) {
  const int ctas = sms();
  for (auto _ : state) {
    const auto stamps = measured(size_t(ctas) * 3 * kWords, [&](long long* p) {
      stamped<<<ctas, 128>>>(p, 40000, programmatic);  // time for the host to ask for the others
      for (int i = 1; i < 3; ++i) {
        cudaLaunchConfig_t config{};
        config.gridDim = ctas, config.blockDim = 128;
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute, config.numAttrs = programmatic ? 1 : 0;
        GEN5_CUDA(cudaLaunchKernelEx(&config, stamped, p + i * ctas * int(kWords), 20000ll, programmatic));
      }
    });
    const auto one = by_sm(stamps, size_t(ctas), size_t(ctas)), two = by_sm(stamps, 2 * size_t(ctas), size_t(ctas));
    std::vector<double> gaps;
    for (const auto& [sm, list] : one)
      if (const auto after = two.find(sm); after != two.end())
        gaps.push_back(double(after->second.front().from - list.back().to));
    report(state, median(gaps));
  }
}
BENCHMARK(next_kernel<false>)->Name("next_kernel")->Apply(by_cycles);
BENCHMARK(next_kernel<true>)->Name("next_kernel_programmatic")->Apply(by_cycles);

// ---- Whole grids

__global__ void empty_grid(uint32_t*) {}
__global__ void storing_grid(uint32_t* memory) { memory[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void loading_grid(uint32_t* memory) {
  uint32_t value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(memory + blockIdx.x * blockDim.x + threadIdx.x));
  wait_for_value(value, 0xfffffffe);
}
/// A grid of CTAs with nothing to do, by CUDA events: on silicon they take time themselves, and ncu's
/// sm__cycles_elapsed.max of these launches is the figure to use (scripts/calibrate reads it).
template <auto kernel>
void grid(benchmark::State& state) {
  const int ctas = int(state.range(0)), threads = int(state.range(1));
  gen5::harness::DeviceBuffer<uint32_t> memory(size_t(ctas) * size_t(threads));
  memory.fill(0);
  gen5::harness::Timer timer;
  for (auto _ : state) {
    timer.start();
    kernel<<<ctas, threads>>>(memory.get());
    report(state, gen5::harness::current_device().cycles(timer.stop().microseconds));
  }
}
BENCHMARK(grid<storing_grid>)
    ->Name("storing_grid")
    ->ArgNames({"ctas", "threads"})
    ->Args({1, 32})
    ->Args({132, 32})
    ->Args({132, 1024})
    ->Apply(by_cycles);
BENCHMARK(grid<loading_grid>)
    ->Name("loading_grid")
    ->ArgNames({"ctas", "threads"})
    ->Args({1, 32})
    ->Args({132, 32})
    ->Args({132, 1024})
    ->Apply(by_cycles);
BENCHMARK(grid<empty_grid>)
    ->Name("empty_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 8, 132, 264, 1056, 4224, 16896}, {32, 256, 1024}})
    ->Apply(by_cycles);

// ---- SMs that clusters of a size can use

__global__ void in_cluster() {}
/// `cycles` is a count: SMs with a CTA of clusters of this size when each SM has room for one.
void cluster_sms(benchmark::State& state) {
  const auto size = unsigned(state.range(0));
  GEN5_CUDA(cudaFuncSetAttribute(in_cluster, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
  GEN5_CUDA(cudaFuncSetAttribute(in_cluster, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 * 1024));
  for (auto _ : state) {
    cudaLaunchConfig_t config{};
    config.gridDim = size * 64, config.blockDim = 1024, config.dynamicSmemBytes = 200 * 1024;
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = size, attribute.val.clusterDim.y = 1, attribute.val.clusterDim.z = 1;
    config.attrs = &attribute, config.numAttrs = 1;
    int clusters = 0;
    GEN5_CUDA(cudaOccupancyMaxActiveClusters(&clusters, in_cluster, &config));
    report(state, clusters * double(size));
  }
}
BENCHMARK(cluster_sms)->ArgNames({"ctas"})->RangeMultiplier(2)->Range(2, 16)->Apply(by_cycles);

// ---- Barriers of a CTA

template <int n>
__global__ void barriers(long long* cycles) {
  uint32_t result = 0;
  timed<n>(cycles, result, [](int) { __syncthreads(); });
}
void barrier(benchmark::State& state) {
  const int threads = 32 * int(state.range(0));
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { barriers<16><<<1, threads>>>(c); });
    const auto many = measured(1, [&](long long* c) { barriers<48><<<1, threads>>>(c); });
    report(state, double(many[0] - few[0]) / 32);
  }
}
BENCHMARK(barrier)->ArgNames({"warps"})->RangeMultiplier(2)->Range(1, 32)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
