// Probe 16: chains of dependent grids as chapter 16's third step has them. How many of a chain are on the chip at once;
// what a layer's five grids take that load pages of their own ahead of griddepcontrol.wait, two CTAs on an SM: when
// each begins, is let past its wait, and ends; and whether a launch finds its kernel's code in the SM's cache.
//
//   probe_16_grids [--benchmark_format=json]
#include <array>
#include <map>

#include "common/ptx/barrier.h"
#include "common/ptx/bulk_tensor.h"
#include "common/ptx/fence.h"
#include "common/ptx/launch_control.h"
#include "common/ptx/mbarrier.h"
#include "probes/grid_chain.h"
#include "probes/median.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr uint32_t kPage = 16 * 1024, kSource = 256 << 20;

int sms() { return gen5::harness::current_device().sms; }
double cycles_of_a_nanosecond() {
  static const double ghz = gen5::harness::current_device().clock_ghz;
  return ghz;
}

/// A CTA's moments in nanoseconds: its first instruction, behind its wait, its last instruction.
struct Moments {
  long long began = 0, passed = 0, ended = 0;
};
/// Of all CTAs of a grid: the first and the last beginning, the first that is let past its wait, the last end.
struct OfGrid {
  long long first_began, last_began, first_passed, last_ended;
  OfGrid(const std::vector<Moments>& all, size_t first, size_t count) {
    first_began = last_began = all[first].began, first_passed = all[first].passed, last_ended = all[first].ended;
    for (size_t i = first; i < first + count; ++i) {
      first_began = std::min(first_began, all[i].began);
      last_began = std::max(last_began, all[i].began);
      first_passed = std::min(first_passed, all[i].passed);
      last_ended = std::max(last_ended, all[i].ended);
    }
  }
};

// ---- A chain of grids that do nothing

/// Lets the next grid start at once, or behind its own wait. The chain's first grid stays for `stay` nanoseconds.
__global__ void chained(Moments* moments, int number, bool at_once, long long stay) {
  Moments mine;
  if (at_once) griddepcontrol_launch_dependents();
  mine.began = nanoseconds_now();
  if (number)
    griddepcontrol_wait();
  else
    while (nanoseconds_now() - mine.began < stay) {
    }
  if (!at_once) griddepcontrol_launch_dependents();
  mine.passed = mine.ended = nanoseconds_now();
  if (threadIdx.x == 0) moments[uint32_t(number) * gridDim.x + blockIdx.x] = mine;
}
constexpr int kChain = 24;
/// Of each of its grids.
std::vector<OfGrid> run_chain(bool graph, int ctas, bool at_once) {
  gen5::harness::DeviceBuffer<Moments> moments{size_t(kChain * ctas)};
  const auto shape = [&](int) { return ChainShape{ctas, 64, 0}; };
  const auto arguments = [&](int i) { return std::tuple(moments.get(), i, at_once, 200'000ll); };  // time for the host
  run_grids(graph, kChain, true, chained, shape, arguments);
  const std::vector<Moments> all = moments.download();
  std::vector<OfGrid> grids;
  for (int i = 0; i < kChain; ++i) grids.emplace_back(all, size_t(i * ctas), size_t(ctas));
  return grids;
}

/// `cycles` is a count: grids, with the first one, that had begun when the first one ended.
void begun(benchmark::State& state) {
  for (auto _ : state) {
    const std::vector<OfGrid> grids = run_chain(state.range(0), state.range(1) ? int(state.range(1)) : sms(), true);
    report(state, double(std::ranges::count_if(
                      grids, [&](const OfGrid& g) { return g.first_began < grids.front().last_ended; })));
  }
}
BENCHMARK(begun)->ArgNames({"graph", "ctas"})->ArgsProduct({{0, 1}, {1, 0}})->Apply(by_cycles);

/// From the end of one grid until the next one is let past its wait: the median of a chain.
void passed(benchmark::State& state) {
  for (auto _ : state) {
    run_chain(state.range(0), state.range(1) ? int(state.range(1)) : sms(), state.range(2));
    const std::vector<OfGrid> grids =
        run_chain(state.range(0), state.range(1) ? int(state.range(1)) : sms(), state.range(2));
    std::vector<double> found;
    for (size_t i = 2; i < grids.size(); ++i) found.push_back(double(grids[i].first_passed - grids[i - 1].last_ended));
    report(state, median(found) * cycles_of_a_nanosecond());
  }
}
BENCHMARK(passed)->ArgNames({"graph", "ctas", "at_once"})->ArgsProduct({{0, 1}, {1, 0}, {0, 1}})->Apply(by_cycles);

// ---- A layer

/// CTAs of a layer's grids and pages of each CTA: qkv, attention, out, gate and up, down of chapter 16's layer like a
/// 1B model's, with one sequence and 512 keys.
struct Streams {
  int ctas;
  uint32_t pages;
};
constexpr Streams kLayer[] = {{192, 4}, {32, 4}, {128, 4}, {512, 8}, {128, 16}};
constexpr int kOfLayer = 5, kLayers = 6;
constexpr uint32_t kStages = 5, kInFlight = 3, kReaders = 4;
constexpr uint32_t kBytes = kStages * kPage, kThreads = 32 * (kReaders + 2);

/// Four warps read pages, a fourth of each; a thread loads them, three on their way at a time; another warp waits for
/// the grid before and reads what it made. Readers begin when that is there. Each stores a word.
__global__ void __launch_bounds__(kThreads, 2)
    streams(Moments* moments, uint32_t* memory, const uint8_t* from, uint32_t first_page, uint32_t pages, int number,
            bool dependent, uint32_t never) {
  extern __shared__ __align__(1024) uint8_t page[];
  __shared__ alignas(8) uint64_t full[kStages], empty[kStages], inputs;
  __shared__ Moments mine;
  if (dependent) griddepcontrol_launch_dependents();
  const uint32_t warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    mine.began = nanoseconds_now();
    for (uint32_t i = 0; i < kStages; ++i) {
      mbarrier_init(shared_address(&full[i]), 1);
      mbarrier_init(shared_address(&empty[i]), kReaders);
    }
    mbarrier_init(shared_address(&inputs), 1);
    fence_mbarrier_init();
  }
  __syncthreads();
  if (warp == kReaders) {
    if (lane) return;
    for (uint32_t i = 0; i < pages; ++i) {
      const uint32_t stage = i % kStages, bar = shared_address(&full[stage]);
      mbarrier_wait_parity(shared_address(&empty[stage]), i / kStages % 2 ^ 1);
      if (i >= kInFlight) {
        const uint32_t landed = i - kInFlight;
        mbarrier_wait_parity(shared_address(&full[landed % kStages]), landed / kStages % 2);
      }
      mbarrier_arrive_expect_tx(bar, kPage);
      const size_t at = first_page + blockIdx.x * pages + i;
      bulk_load(shared_address(page + stage * kPage), from + at % (kSource / kPage) * kPage, kPage, bar);
    }
    return;
  }
  if (warp > kReaders) {
    if (lane) return;
    if (dependent) griddepcontrol_wait();
    mine.passed = nanoseconds_now();
    wait_for_value(*const_cast<volatile uint32_t*>(memory + blockIdx.x * 32), never);
    mbarrier_arrive(shared_address(&inputs));
    return;
  }
  mbarrier_wait_parity(shared_address(&inputs), 0);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < pages; ++i) {
    const uint32_t stage = i % kStages;
    mbarrier_wait_parity(shared_address(&full[stage]), i / kStages % 2);
    const uint4* const words = reinterpret_cast<const uint4*>(page + stage * kPage + warp * (kPage / kReaders));
#pragma unroll
    for (uint32_t k = 0; k < kPage / kReaders / 512; ++k) {
      const uint4 w = words[k * 32 + lane];
      sum += w.x ^ w.y ^ w.z ^ w.w;
    }
    fence_proxy_async_shared();
    __syncwarp();
    if (lane == 0) mbarrier_arrive(shared_address(&empty[stage]));
  }
  bar_sync(1, kReaders * 32);
  wait_for_value(sum, never);
  if (threadIdx.x < 32) const_cast<volatile uint32_t*>(memory)[blockIdx.x * 32 + threadIdx.x] = uint32_t(number);
  if (threadIdx.x == 0) {
    mine.ended = nanoseconds_now();
    moments[blockIdx.x] = mine;
  }
}

enum class By { stream, graph, dependent, dependent_graph };
enum class Part { began, all_began, passed, ended };

/// Of each grid of the chain.
std::vector<OfGrid> run_layers(By by) {
  const bool dependent = by == By::dependent || by == By::dependent_graph;
  constexpr int kGrids = kOfLayer * kLayers;
  std::array<size_t, kGrids + 1> first{};
  std::array<uint32_t, kGrids + 1> first_page{};
  for (size_t i = 0; i < size_t(kGrids); ++i) {
    const Streams& s = kLayer[i % kOfLayer];
    first[i + 1] = first[i] + size_t(s.ctas);
    first_page[i + 1] = first_page[i] + uint32_t(s.ctas) * s.pages;
  }
  static gen5::harness::DeviceBuffer<uint8_t> source(kSource);
  static gen5::harness::DeviceBuffer<uint32_t> words(512 * 32);
  GEN5_CUDA(cudaFuncSetAttribute(streams, cudaFuncAttributeMaxDynamicSharedMemorySize, int(kBytes)));
  gen5::harness::DeviceBuffer<Moments> moments{first[kGrids]};
  const auto shape = [&](int i) { return ChainShape{kLayer[i % kOfLayer].ctas, int(kThreads), int(kBytes)}; };
  const auto arguments = [&](int i) {
    return std::tuple(moments.get() + first[size_t(i)], words.get(), source.get(), first_page[size_t(i)],
                      kLayer[i % kOfLayer].pages, i, dependent, 0xfffffffeu);
  };
  run_grids(by == By::graph || by == By::dependent_graph, kGrids, dependent, streams, shape, arguments);
  const std::vector<Moments> all = moments.download();
  std::vector<OfGrid> grids;
  for (size_t i = 0; i < size_t(kGrids); ++i) grids.emplace_back(all, first[i], first[i + 1] - first[i]);
  return grids;
}

/// Cycles from the end of the grid before (its last CTA's last instruction) until that moment of grid `of` of a layer:
/// the median over the layers but the first. All rows of `by` are of the same two runs, the second of which counts.
void layer(benchmark::State& state) {
  const auto by = By(state.range(0));
  const auto of = size_t(state.range(1));
  const auto part = Part(state.range(2));
  static std::map<By, std::vector<OfGrid>> runs;
  if (!runs.contains(by)) run_layers(by), runs[by] = run_layers(by);
  for (auto _ : state) {
    const std::vector<OfGrid>& grids = runs[by];
    std::vector<double> found;
    for (size_t i = kOfLayer + of; i < grids.size(); i += kOfLayer) {
      const OfGrid& now = grids[i];
      const long long at = part == Part::began       ? now.first_began
                           : part == Part::all_began ? now.last_began
                           : part == Part::passed    ? now.first_passed
                                                     : now.last_ended;
      found.push_back(double(at - grids[i - 1].last_ended));
    }
    report(state, median(found) * cycles_of_a_nanosecond());
  }
}
BENCHMARK(layer)
    ->ArgNames({"by", "grid", "part"})
    ->ArgsProduct({{0, 1, 2, 3}, {0, 1, 2, 3, 4}, {0, 1, 2, 3}})
    ->Apply(by_cycles);

// ---- Code

constexpr int kPieces = 12, kPiece = 128;  // pieces of code that are executed, of so many instructions: 24 KiB
template <int n>
__device__ __forceinline__ void multiplies(float (&v)[8]) {
#pragma unroll
  for (int i = 0; i < n; ++i) asm volatile("fma.rn.f32 %0, %0, %0, %0;" : "+f"(v[i % 8]));
}
/// Executes its pieces one behind the other, three times. Behind each lie `gap` lines (128 bytes) that no warp
/// executes. Leaves the cycles of each pass.
template <int gap>
__global__ void coded(long long* cycles, float x, bool never, bool dependent) {
  if (dependent) {
    griddepcontrol_launch_dependents();
    griddepcontrol_wait();
  }
  float v[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) v[i] = x + float(i);
#pragma unroll 1
  for (int pass = 0; pass < 3; ++pass) {
    const long long t0 = ticks();
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      multiplies<kPiece>(v);
      if (gap && never) multiplies<gap * 8>(v);
    }
    wait_for_value(__float_as_uint(v[0] + v[1] + v[2] + v[3] + v[4] + v[5] + v[6] + v[7]));
    if (threadIdx.x == 0) cycles[blockIdx.x * 3 + uint32_t(pass)] = ticks() - t0;
  }
}
/// A pass of the last of eight launches of that kernel alone, in the median CTA.
template <int gap>
void code(benchmark::State& state) {
  constexpr int kGrids = 8;
  const auto by = By(state.range(0));
  const auto pass = size_t(state.range(1));
  const bool dependent = by == By::dependent || by == By::dependent_graph;
  const int ctas = sms();
  for (auto _ : state) {
    const auto took = measured(size_t(kGrids * ctas) * 3, [&](long long* cycles) {
      const auto shape = [&](int) { return ChainShape{ctas, 32, 0}; };
      const auto arguments = [&](int i) { return std::tuple(cycles + i * ctas * 3, 0.5f, false, dependent); };
      run_grids(by == By::graph || by == By::dependent_graph, kGrids, dependent, coded<gap>, shape, arguments);
    });
    std::vector<double> passes;
    for (size_t c = size_t((kGrids - 1) * ctas); c < size_t(kGrids * ctas); ++c)
      passes.push_back(double(took[c * 3 + pass]));
    report(state, median(passes));
  }
}
void by_pass(benchmark::internal::Benchmark* b) {
  b->ArgNames({"by", "pass"})->ArgsProduct({{0, 3}, {0, 1, 2}});
  by_cycles(b);
}
BENCHMARK(code<0>)->Name("code/gap:0")->Apply(by_pass);
BENCHMARK(code<2>)->Name("code/gap:2")->Apply(by_pass);
BENCHMARK(code<4>)->Name("code/gap:4")->Apply(by_pass);
BENCHMARK(code<8>)->Name("code/gap:8")->Apply(by_pass);
BENCHMARK(code<24>)->Name("code/gap:24")->Apply(by_pass);
BENCHMARK(code<40>)->Name("code/gap:40")->Apply(by_pass);

}  // namespace

BENCHMARK_MAIN();
