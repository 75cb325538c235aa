// Probe 12: starting grids and CTAs. How long an SM stands between a CTA's end and its successor's start, how fast the
// first CTAs of an SM follow each other, what lies between two kernels of a stream with and without programmatic
// launch, what a kernel meets cold (code, parameters, translations of addresses, tensor maps), and the barriers of a
// CTA by its warps.
//
//   probe_12_launch [--benchmark_format=json]
#include <array>
#include <map>

#include "common/ptx/barrier.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "probes/level.h"
#include "probes/median.h"
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

/// Lets its dependents start in the middle of its stay, or waits for what it depends on.
__global__ void dependent(long long* stamps, long long stay, bool waits) {
  const long long t0 = ticks();
  if (waits) asm volatile("griddepcontrol.wait;" ::: "memory");
  const long long waited = ticks();
  while (ticks() - waited < stay / 2) {
  }
  const long long trigger = ticks();
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  while (ticks() - waited < stay) {
  }
  if (threadIdx.x == 0) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    long long* mine = stamps + blockIdx.x * 5;
    mine[0] = sm, mine[1] = t0, mine[2] = waited, mine[3] = trigger, mine[4] = ticks();
  }
}

enum class Gap { started, waited };
/// Three programmatic launches with one CTA an SM: from when the second lets the third start until it does, on an SM;
/// from the last end of the second until the third's wait is over.
template <Gap gap>
void programmatic(benchmark::State& state) {
  const int ctas = sms();
  for (auto _ : state) {
    const auto stamps = measured(size_t(ctas) * 3 * 5, [&](long long* p) {
      dependent<<<ctas, 128>>>(p, 60000, false);  // time for the host to ask for the others
      for (int i = 1; i < 3; ++i) {
        cudaLaunchConfig_t config{};
        config.gridDim = ctas, config.blockDim = 128;
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute, config.numAttrs = 1;
        GEN5_CUDA(cudaLaunchKernelEx(&config, dependent, p + i * ctas * 5, 20000ll, true));
      }
    });
    std::map<long long, std::array<long long, 2>> second;  // of an SM: trigger, end
    for (int c = ctas; c < 2 * ctas; ++c)
      second[stamps[size_t(c) * 5]] = {stamps[size_t(c) * 5 + 3], stamps[size_t(c) * 5 + 4]};
    std::vector<double> gaps;
    for (int c = 2 * ctas; c < 3 * ctas; ++c)
      if (const auto before = second.find(stamps[size_t(c) * 5]); before != second.end())
        gaps.push_back(gap == Gap::started ? double(stamps[size_t(c) * 5 + 1] - before->second[0])
                                           : double(stamps[size_t(c) * 5 + 2] - before->second[1]));
    report(state, median(gaps));
  }
}
BENCHMARK(programmatic<Gap::started>)->Name("programmatic_start")->Apply(by_cycles);
BENCHMARK(programmatic<Gap::waited>)->Name("programmatic_wait")->Apply(by_cycles);

// ---- What a kernel meets cold

/// Code without a branch: two passes, of which the first finds nothing of it in the SM.
template <int n>
__global__ void straight(long long* cycles, float x) {
  float v[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = x + float(i);
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    const long long t0 = ticks();
#pragma unroll
    for (int i = 0; i < n; ++i) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(v[i % 8]));
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 8; ++i) sum += v[i];
    wait_for_value(__float_as_uint(sum));
    if (threadIdx.x == 0) cycles[blockIdx.x * 2 + uint32_t(pass)] = ticks() - t0;
  }
}
/// What the first pass takes longer, the median CTA's, in a second launch.
template <int n>
void first_code(benchmark::State& state) {
  const int ctas = int(state.range(0));
  for (auto _ : state) {
    std::vector<double> extra;
    for (int launch = 0; launch < 2; ++launch) {
      const auto c = measured(size_t(ctas) * 2, [&](long long* p) { straight<n><<<ctas, 32>>>(p, 0.5f); });
      extra.clear();
      for (int i = 0; i < ctas; ++i) extra.push_back(double(c[size_t(i) * 2] - c[size_t(i) * 2 + 1]));
    }
    report(state, median(extra));
  }
}
BENCHMARK(first_code<64>)->Name("first_code/instructions:64")->ArgNames({"ctas"})->Arg(1)->Arg(132)->Apply(by_cycles);
BENCHMARK(first_code<256>)->Name("first_code/instructions:256")->ArgNames({"ctas"})->Arg(1)->Arg(132)->Apply(by_cycles);
BENCHMARK(first_code<1024>)
    ->Name("first_code/instructions:1024")
    ->ArgNames({"ctas"})
    ->Arg(1)
    ->Arg(132)
    ->Apply(by_cycles);
BENCHMARK(first_code<4096>)
    ->Name("first_code/instructions:4096")
    ->ArgNames({"ctas"})
    ->Arg(1)
    ->Arg(132)
    ->Apply(by_cycles);

struct ManyParameters {
  uint32_t words[512];
};
/// Three words of the parameters: the first of 2 KiB, its neighbour, one 1 KiB on.
__global__ void parameters(const __grid_constant__ ManyParameters many, long long* cycles) {
  long long t[4];
  t[0] = ticks();
  wait_for_value(many.words[128]);
  t[1] = ticks();
  wait_for_value(many.words[129]);
  t[2] = ticks();
  wait_for_value(many.words[384]);
  t[3] = ticks();
  if (threadIdx.x == 0)
    for (int i = 0; i < 3; ++i) cycles[blockIdx.x * 3 + uint32_t(i)] = t[i + 1] - t[i];
}
/// The same by the uniform datapath, as most kernels do: the first word, its neighbour, a CTA's threads, the grid's
/// CTAs, a word one KiB on; or the two of the launch before those of the parameters.
#define GEN5_LOOK(what, ...)                                                                     \
  asm volatile("{\n\t.reg .pred p;\n\t.reg .b32 v;\n\tmov.u32 v, " what                          \
               ";\n\tmad.lo.u32 v, v, %0, %0;\n\tsetp.eq.u32 p, v, 0xfffffffe;\n\t@p trap;\n\t}" \
               :                                                                                 \
               : "r"(even)__VA_OPT__(, ) __VA_ARGS__                                             \
               : "memory")
template <bool dimensions>
__global__ void looks(const __grid_constant__ ManyParameters many, long long* cycles) {
  const uint32_t even = kept(threadIdx.x * 2 + 2);
  long long t[6];
  const auto parameters = [&](int at) {
    GEN5_LOOK("%1", "r"(many.words[0]));
    t[at] = ticks();
    GEN5_LOOK("%1", "r"(many.words[1]));
    t[at + 1] = ticks();
  };
  const auto of_the_launch = [&](int at) {
    GEN5_LOOK("%%ntid.x");
    t[at] = ticks();
    GEN5_LOOK("%%nctaid.x");
    t[at + 1] = ticks();
  };
  t[0] = ticks();
  if constexpr (dimensions) {
    of_the_launch(1);
    parameters(3);
  } else {
    parameters(1);
    of_the_launch(3);
  }
  GEN5_LOOK("%1", "r"(many.words[384]));
  t[5] = ticks();
  if (threadIdx.x == 0)
    for (int i = 0; i < 5; ++i) cycles[blockIdx.x * 5 + uint32_t(i)] = t[i + 1] - t[i];
}
/// Three loads: the first at all, another line, a line of another stretch of 64 MiB.
__global__ void loads(const uint8_t* memory, long long* cycles) {
  long long t[4];
  uint32_t value;
  t[0] = ticks();
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    asm volatile("ld.global.cg.u32 %0, [%1];"
                 : "=r"(value)
                 : "l"(memory + (i == 2 ? 64u << 20 : i * 4096u + blockIdx.x * 8192u))
                 : "memory");
    wait_for_value(value);
    t[i + 1] = ticks();
  }
  if (threadIdx.x == 0)
    for (int i = 0; i < 3; ++i) cycles[blockIdx.x * 3 + uint32_t(i)] = t[i + 1] - t[i];
}
/// Three copies of a row of 16 bytes: the first at all, another one, the first by another map.
__global__ void maps(const __grid_constant__ CUtensorMap one, const __grid_constant__ CUtensorMap other,
                     long long* cycles) {
  using namespace gen5::ptx;
  __shared__ __align__(128) uint8_t buffer[128];
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = shared_address(&barrier), to = shared_address(buffer);
  mbarrier_init(bar, 1);
  fence_proxy_async();
  long long t[4];
  t[0] = ticks();
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    mbarrier_arrive_expect_tx(bar, 16);
    tensor_load_2d(to, i == 2 ? &other : &one, 0, int(blockIdx.x) * 8 + i, bar);
    mbarrier_wait_parity(bar, uint32_t(i) & 1);
    t[i + 1] = ticks();
  }
  for (int i = 0; i < 3; ++i) cycles[blockIdx.x * 3 + uint32_t(i)] = t[i + 1] - t[i];
}

enum class Cold { parameters, loads, maps };
/// The median CTA's cycles for access `which`, in a second launch.
template <Cold what>
void cold(benchmark::State& state) {
  const int ctas = int(state.range(0));
  const size_t which = size_t(state.range(1));
  static gen5::harness::DeviceBuffer<uint8_t> memory(size_t(128) << 20);
  const CUtensorMap map = gen5::harness::matrix_map(CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, source_memory(), 4096, 256, 256,
                                                    1, 16, CU_TENSOR_MAP_SWIZZLE_NONE);
  for (auto _ : state) {
    std::vector<double> took;
    for (int launch = 0; launch < 2; ++launch) {
      const auto c = measured(size_t(ctas) * 3, [&](long long* p) {
        if constexpr (what == Cold::parameters) parameters<<<ctas, 32>>>(ManyParameters{}, p);
        if constexpr (what == Cold::loads) loads<<<ctas, 32>>>(memory.get(), p);
        if constexpr (what == Cold::maps) maps<<<ctas, 1>>>(map, map, p);
      });
      took.clear();
      for (int i = 0; i < ctas; ++i) took.push_back(double(c[size_t(i) * 3 + which]));
    }
    report(state, median(took));
  }
}
void by_ctas(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ctas", "access"})->ArgsProduct({{1, 132}, {0, 1, 2}});
  by_cycles(b);
}
BENCHMARK(cold<Cold::parameters>)->Name("cold_parameter")->Apply(by_ctas);
/// The median CTA's cycles for look `which`, in a second launch behind a kernel of other parameters.
template <bool dimensions>
void look(benchmark::State& state) {
  const int ctas = int(state.range(0));
  const size_t which = size_t(state.range(1));
  for (auto _ : state) {
    std::vector<double> took;
    for (int launch = 0; launch < 2; ++launch) {
      measured(size_t(ctas) * 3, [&](long long* p) { parameters<<<ctas, 32>>>(ManyParameters{}, p); });
      const auto c =
          measured(size_t(ctas) * 5, [&](long long* p) { looks<dimensions><<<ctas, 32>>>(ManyParameters{}, p); });
      took.clear();
      for (int i = 0; i < ctas; ++i) took.push_back(double(c[size_t(i) * 5 + which]));
    }
    report(state, median(took));
  }
}
void five_looks(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ctas", "look"})->ArgsProduct({{1, 132}, {0, 1, 2, 3, 4}});
  by_cycles(b);
}
BENCHMARK(look<false>)->Name("look_at_parameters")->Apply(five_looks);
BENCHMARK(look<true>)->Name("look_at_dimensions")->Apply(five_looks);
BENCHMARK(cold<Cold::loads>)->Name("cold_load")->Apply(by_ctas);
BENCHMARK(cold<Cold::maps>)->Name("cold_map")->Apply(by_ctas);

// ---- Whole grids

__global__ void empty_grid(uint32_t*) {}
__global__ void parameter_grid(uint32_t* memory) { wait_for_value(uint32_t(uintptr_t(memory)), 0xfffffffe); }
__global__ void storing_grid(uint32_t* memory) { memory[blockIdx.x * blockDim.x + threadIdx.x] = 1; }
__global__ void loading_grid(uint32_t* memory) {
  uint32_t value;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(memory + blockIdx.x * blockDim.x + threadIdx.x));
  wait_for_value(value, 0xfffffffe);
}
/// Stores behind a load: what an SM meets cold is over by then. 16 bytes a thread, so often.
template <int times>
__device__ __forceinline__ void load_and_store(uint32_t* memory) {
  uint32_t value;
  uint32_t* mine = memory + (blockIdx.x * blockDim.x * times + threadIdx.x) * 4;
  asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(mine));
  wait_for_value(value, 0xfffffffe);
  for (int i = 0; i < times; ++i)
    asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(mine + i * blockDim.x * 4), "r"(i) : "memory");
}
__global__ void stored_grid(uint32_t* memory) { load_and_store<1>(memory); }
__global__ void stored4_grid(uint32_t* memory) { load_and_store<4>(memory); }
__global__ void stored8_grid(uint32_t* memory) { load_and_store<8>(memory); }
/// A warp whose first access is a bulk copy of 128 bytes; `times` of them, one behind the other.
template <int times, bool behind_load>
__device__ __forceinline__ void copy_in(uint32_t* memory) {
  __shared__ alignas(128) uint32_t line[32];
  __shared__ alignas(8) uint64_t barrier;
  uint32_t* mine = memory + blockIdx.x * 32;
  if (behind_load) {
    uint32_t value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(mine));
    wait_for_value(value, 0xfffffffe);
  }
  if (threadIdx.x) return;
  const uint32_t bar = gen5::ptx::shared_address(&barrier);
  gen5::ptx::mbarrier_init(bar, 1);
  gen5::ptx::fence_mbarrier_init();
  for (int i = 0; i < times; ++i) {
    gen5::ptx::mbarrier_arrive_expect_tx(bar, 128);
    gen5::ptx::bulk_load(gen5::ptx::shared_address(line), mine, 128, bar);
    gen5::ptx::mbarrier_wait_parity(bar, uint32_t(i & 1));
  }
}
__global__ void copied_grid(uint32_t* memory) { copy_in<1, false>(memory); }
__global__ void copied2_grid(uint32_t* memory) { copy_in<2, false>(memory); }
__global__ void load_copied_grid(uint32_t* memory) { copy_in<1, true>(memory); }
/// One whose first access is a bulk store of 128 bytes.
__global__ void bulk_stored_grid(uint32_t* memory) {
  __shared__ alignas(128) uint32_t line[32];
  line[threadIdx.x] = 1;
  gen5::ptx::fence_proxy_async_shared();
  __syncwarp();
  if (threadIdx.x) return;
  gen5::ptx::bulk_store(memory + blockIdx.x * 32, gen5::ptx::shared_address(line), 128);
  gen5::ptx::bulk_commit_group();
  gen5::ptx::bulk_wait_group_read<0>();
}
/// A grid of CTAs with nothing to do, by CUDA events: on silicon they take time themselves, and ncu's
/// sm__cycles_elapsed.max of these launches is the figure to use (scripts/calibrate reads it).
template <auto kernel, int words = 1>
void grid(benchmark::State& state) {
  const int ctas = int(state.range(0)), threads = int(state.range(1));
  gen5::harness::DeviceBuffer<uint32_t> memory(size_t(ctas) * size_t(threads) * words);
  memory.fill(0);
  gen5::harness::Timer timer;
  for (auto _ : state) {
    timer.start();
    kernel<<<ctas, threads>>>(memory.get());
    report(state, timer.stop().cycles);
  }
}
BENCHMARK(grid<parameter_grid>)
    ->Name("parameter_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 8, 32, 66, 132}, {32}})
    ->Apply(by_cycles);
BENCHMARK(grid<storing_grid>)
    ->Name("storing_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 8, 32, 66, 132}, {32}})
    ->Args({132, 1024})
    ->Apply(by_cycles);
BENCHMARK(grid<loading_grid>)
    ->Name("loading_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 8, 32, 66, 132}, {32}})
    ->Args({132, 1024})
    ->Apply(by_cycles);
void by_warps(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ctas", "threads"})->ArgsProduct({{1, 8, 32, 132}, {32}});
  by_cycles(b);
}
BENCHMARK(grid<copied_grid>)->Name("copied_grid")->Apply(by_warps);
BENCHMARK(grid<copied2_grid>)->Name("copied2_grid")->Apply(by_warps);
BENCHMARK(grid<load_copied_grid>)->Name("load_copied_grid")->Apply(by_warps);
BENCHMARK(grid<bulk_stored_grid>)->Name("bulk_stored_grid")->Apply(by_warps);
BENCHMARK(grid<stored_grid, 4>)
    ->Name("stored_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 132}, {32, 1024}})
    ->Apply(by_cycles);
BENCHMARK(grid<stored4_grid, 16>)
    ->Name("stored4_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 132}, {1024}})
    ->Apply(by_cycles);
BENCHMARK(grid<stored8_grid, 32>)
    ->Name("stored8_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 132}, {1024}})
    ->Apply(by_cycles);
BENCHMARK(grid<empty_grid>)
    ->Name("empty_grid")
    ->ArgNames({"ctas", "threads"})
    ->ArgsProduct({{1, 8, 132, 264, 1056, 4224, 16896}, {32, 256, 1024}})
    ->Apply(by_cycles);

// ---- Stores that are on their way when a CTA, or a grid, ends

/// A CTA's last act: threads store 16 bytes each, `kib` KiB in all, which nobody waits for.
__device__ __forceinline__ void leave_behind(uint8_t* memory, uint32_t kib) {
  uint8_t* to = memory + uint64_t(blockIdx.x) * kib * 1024 + threadIdx.x * 16;
  for (uint32_t at = threadIdx.x * 16; at < kib * 1024; at += blockDim.x * 16, to += blockDim.x * 16)
    asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to), "r"(at) : "memory");
}

/// Writes its stamps first, stays for `stay` cycles from then on, and stores at the end. Its last clock is one before
/// its last stores issue, and what a next CTA of the SM sees.
__global__ void leaves_stores(long long* stamps, uint8_t* memory, uint32_t kib, long long stay) {
  const long long t0 = ticks(), end = t0 + stay;
  if (threadIdx.x == 0) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamps[blockIdx.x * kWords] = sm;
    stamps[blockIdx.x * kWords + 1] = t0;
    stamps[blockIdx.x * kWords + 2] = end;
  }
  while (ticks() < end) {
  }
  leave_behind(memory, kib);
}
/// One CTA on an SM at a time, eight behind each other: from when it would end, if it stored nothing, to the next one's
/// start.
void refill_behind_stores(benchmark::State& state) {
  const int shared = 200 * 1024, ctas = sms() * 8;
  const auto kib = uint32_t(state.range(0));
  static gen5::harness::DeviceBuffer<uint8_t> memory(size_t(64) << 20);
  GEN5_CUDA(cudaFuncSetAttribute(leaves_stores, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
  for (auto _ : state) {
    std::vector<long long> stamps;
    for (int launch = 0; launch < 2; ++launch)
      stamps = measured(size_t(ctas) * kWords,
                        [&](long long* p) { leaves_stores<<<ctas, 512, shared>>>(p, memory.get(), kib, 4000); });
    std::vector<double> gaps;
    for (const auto& [sm, list] : by_sm(stamps, 0, size_t(ctas)))
      for (size_t i = 1; i < list.size(); ++i) gaps.push_back(double(list[i].from - list[i - 1].to));
    report(state, median(gaps));
  }
}
BENCHMARK(refill_behind_stores)->ArgNames({"kib"})->Arg(0)->Arg(8)->Arg(16)->Arg(32)->Apply(by_cycles);

/// A grid that lets the next one start at once, stays and stores; behind it one that waits for what it depends on.
__global__ void stores_and_ends(long long* stamps, uint8_t* memory, uint32_t kib, long long stay) {
  const long long t0 = ticks(), end = t0 + stay;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (threadIdx.x == 0) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamps[blockIdx.x * 2] = sm;
    stamps[blockIdx.x * 2 + 1] = end;
  }
  while (ticks() < end) {
  }
  leave_behind(memory, kib);
}
/// The same by bulk stores, of up to 16 KiB each: it ends when the engine has read the last of them.
__global__ void bulk_stores_and_ends(long long* stamps, uint8_t* memory, uint32_t kib, long long stay) {
  using namespace gen5::ptx;
  extern __shared__ __align__(128) uint8_t buffer[];
  const long long t0 = ticks(), end = t0 + stay;
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  if (threadIdx.x == 0) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamps[blockIdx.x * 2] = sm;
    stamps[blockIdx.x * 2 + 1] = end;
  }
  while (ticks() < end) {
  }
  if (threadIdx.x != 0 || !kib) return;
  const uint32_t bytes = kib < 16 ? kib * 1024 : 16384;
  for (uint32_t at = 0; at < kib * 1024; at += bytes)
    bulk_store(memory + uint64_t(blockIdx.x) * kib * 1024 + at, shared_address(buffer), bytes);
  bulk_commit_group();
  bulk_wait_group_read<0>();
}
__global__ void waits(long long* stamps) {
  asm volatile("griddepcontrol.wait;" ::: "memory");
  const long long waited = ticks();
  if (threadIdx.x == 0) {
    uint32_t sm;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
    stamps[blockIdx.x * 2] = sm;
    stamps[blockIdx.x * 2 + 1] = waited;
  }
}
/// From when the first grid would end, if it stored nothing, until the wait of the second is over, on an SM.
template <bool bulk>
void drain(benchmark::State& state) {
  const int ctas = int(state.range(0));
  const auto kib = uint32_t(state.range(1));
  static gen5::harness::DeviceBuffer<uint8_t> memory(size_t(64) << 20);
  const auto kernel = bulk ? bulk_stores_and_ends : stores_and_ends;
  for (auto _ : state) {
    std::vector<long long> stamps;
    for (int launch = 0; launch < 2; ++launch)
      stamps = measured(size_t(ctas) * 2 * 2, [&](long long* p) {
        kernel<<<ctas, 512, bulk ? 16384 : 0>>>(p, memory.get(), kib, 60000);  // time for the host to ask for the other
        cudaLaunchConfig_t config{};
        config.gridDim = ctas, config.blockDim = 32;
        cudaLaunchAttribute attribute{};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        config.attrs = &attribute, config.numAttrs = 1;
        GEN5_CUDA(cudaLaunchKernelEx(&config, waits, p + ctas * 2));
      });
    std::map<long long, long long> ended;
    for (int c = 0; c < ctas; ++c) ended[stamps[size_t(c) * 2]] = stamps[size_t(c) * 2 + 1];
    std::vector<double> gaps;
    for (int c = ctas; c < 2 * ctas; ++c)
      if (const auto before = ended.find(stamps[size_t(c) * 2]); before != ended.end())
        gaps.push_back(double(stamps[size_t(c) * 2 + 1] - before->second));
    report(state, median(gaps));
  }
}
void by_ctas_and_kib(benchmark::internal::Benchmark* b) {
  b->ArgNames({"ctas", "kib"})->ArgsProduct({{132}, {0, 1, 8, 32, 64, 128}});
  by_cycles(b);
}
BENCHMARK(drain<false>)->Name("drain")->Apply(by_ctas_and_kib);
BENCHMARK(drain<true>)->Name("drain_bulk")->Apply(by_ctas_and_kib);

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

/// Two halves of a CTA hand each other a turn, and a word of shared memory with it or not: cycles of one hand-off.
/// Named barriers, of two warps a half; or mbarriers, of one warp a half, on which all lanes arrive or one does.
enum class By { named, lane, warp };
template <By by, bool word>
__global__ void hands_off(long long* cycles, int rounds) {
  using namespace gen5::ptx;
  __shared__ uint32_t words[64];
  __shared__ alignas(8) uint64_t barriers[2];
  const uint32_t half = threadIdx.x / (blockDim.x / 2), t = threadIdx.x % (blockDim.x / 2);
  const uint32_t first = kept(shared_address(&barriers[0])), second = kept(shared_address(&barriers[1]));
  if (threadIdx.x == 0) {
    mbarrier_init(first, by == By::warp ? 32 : 1);
    mbarrier_init(second, by == By::warp ? 32 : 1);
    fence_mbarrier_init();
  }
  words[t] = 0;
  __syncthreads();
  const auto give = [&](int which) {
    if constexpr (by == By::named)
      bar_arrive(1 + which, 128);
    else if (by == By::warp || t == 0)
      mbarrier_arrive(which ? second : first);
  };
  const auto take = [&](int which, uint32_t parity) {
    if constexpr (by == By::named)
      bar_sync(1 + which, 128);
    else
      mbarrier_wait_parity(which ? second : first, parity);
  };
  const long long t0 = ticks();
#pragma unroll 1
  for (int r = 0; r < rounds; ++r) {
    if (half == 0) {
      if (word) words[t] += 1;
      give(0);
      take(1, uint32_t(r) & 1);
    } else {
      take(0, uint32_t(r) & 1);
      if (word) words[t] += 1;
      give(1);
    }
  }
  if (threadIdx.x == 0) cycles[0] = ticks() - t0;
}
template <By by, bool word>
void handoff(benchmark::State& state) {
  const int threads = by == By::named ? 128 : 64;
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { hands_off<by, word><<<1, threads>>>(c, 32); });
    const auto many = measured(1, [&](long long* c) { hands_off<by, word><<<1, threads>>>(c, 96); });
    report(state, double(many[0] - few[0]) / 128);
  }
}
BENCHMARK(handoff<By::named, false>)->Name("handoff_named")->Apply(by_cycles);
BENCHMARK(handoff<By::named, true>)->Name("handoff_named_word")->Apply(by_cycles);
BENCHMARK(handoff<By::lane, false>)->Name("handoff_lane")->Apply(by_cycles);
BENCHMARK(handoff<By::lane, true>)->Name("handoff_lane_word")->Apply(by_cycles);
BENCHMARK(handoff<By::warp, false>)->Name("handoff_warp")->Apply(by_cycles);
BENCHMARK(handoff<By::warp, true>)->Name("handoff_warp_word")->Apply(by_cycles);

/// Arrivals behind each other, of so many lanes: cycles of one.
template <int lanes, int n>
__global__ void arrives(long long* cycles) {
  using namespace gen5::ptx;
  __shared__ alignas(8) uint64_t barrier;
  const uint32_t bar = kept(shared_address(&barrier));
  if (threadIdx.x == 0) mbarrier_init(bar, 1u << 18);
  __syncthreads();
  uint32_t result = 0;
  if (threadIdx.x < lanes) timed<n>(cycles, result, [&](int) { mbarrier_arrive(bar); });
}
template <int lanes>
void arrive(benchmark::State& state) {
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { arrives<lanes, 16><<<1, lanes>>>(c); });
    const auto many = measured(1, [&](long long* c) { arrives<lanes, 48><<<1, lanes>>>(c); });
    report(state, double(many[0] - few[0]) / 32);
  }
}
BENCHMARK(arrive<1>)->Name("arrive/lanes:1")->Apply(by_cycles);
BENCHMARK(arrive<8>)->Name("arrive/lanes:8")->Apply(by_cycles);
BENCHMARK(arrive<32>)->Name("arrive/lanes:32")->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
