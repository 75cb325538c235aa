// Probe 00: L2 and device memory beyond one load. Which lines are near and which far; what so many SMs at once get of
// L2 and of device memory, reading and writing.
//
//   probe_00_l2 [--benchmark_format=json]
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

// ---- Near and far

constexpr int kLines = 256;

/// Latency of each line by itself, from an SM: 4 KiB and a line apart, so that they lie in all slices.
__global__ void each_line(const uint8_t* memory, long long* cycles) {
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass)
#pragma unroll 1
    for (int i = 0; i < kLines; ++i) {
      uint32_t value;
      const long long t0 = ticks();
      asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(memory + i * (4096 - 128)) : "memory");
      wait_for_value(value);
      cycles[blockIdx.x * kLines + i] = ticks() - t0;
    }
}

/// The latency below which so many per cent of the lines are, read by one SM.
void lines(benchmark::State& state) {
  for (auto _ : state) {
    auto c = measured(kLines, [](long long* p) { each_line<<<1, 1>>>(source_memory(), p); });
    std::sort(c.begin(), c.end());
    report(state, double(c[size_t(state.range(0)) * (kLines - 1) / 100]));
  }
}
BENCHMARK(lines)->ArgNames({"percent"})->Arg(0)->Arg(25)->Arg(50)->Arg(75)->Arg(100)->Apply(by_cycles);

// ---- Rates

constexpr int kThreads = 1024;
constexpr uint32_t kSmBytes = 128 * 1024;  // of an SM: 132 of them fit into half of the L2
constexpr uint32_t kPiece = kThreads * 16;

enum class Way { read, write };
/// What the SMs work at: 128 KiB of their own each, all the same 128 KiB, one line, or a stretch that they share out
/// among them in pieces of 16 KiB.
enum class Where { own, shared, line, stretch };

/// SMs from `first` on, every `step`th, `count` of them; the others' CTAs end at once.
struct Chosen {
  uint32_t first, step, count;
  __device__ bool has(uint32_t sm) const {
    return sm >= first && (sm - first) % step == 0 && (sm - first) / step < count;
  }
};

/// Each CTA `passes` times 128 KiB, 16 bytes a thread, behind `warm` passes that nobody times.
template <Way way, Where where>
__global__ void __launch_bounds__(kThreads)
    pass_through(uint8_t* memory, int passes, int warm, Chosen chosen, long long* cycles) {
  uint32_t sm;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(sm));
  if (threadIdx.x == 0) cycles[blockIdx.x] = 0;
  if (!chosen.has(sm)) return;
  const uint8_t* at = memory + (where == Where::own       ? blockIdx.x * kSmBytes + threadIdx.x * 16
                                : where == Where::line    ? threadIdx.x % 8 * 16
                                : where == Where::stretch ? blockIdx.x * kPiece + threadIdx.x * 16
                                                          : threadIdx.x * 16);
  const uint64_t step = where == Where::stretch ? uint64_t(gridDim.x) * kPiece : where == Where::line ? 0 : kPiece;
  uint32_t result = 0;
  long long t0 = 0;
#pragma unroll 1
  for (int pass = -warm; pass < passes; ++pass) {
    if (pass == 0) {
      wait_for_value(result);
      __syncthreads();
      t0 = ticks();
    }
    const uint8_t* from = at + (where == Where::stretch ? uint64_t(pass) * 8 * step : 0);
#pragma unroll
    for (uint32_t i = 0; i < kSmBytes / kPiece; ++i) {
      if constexpr (way == Way::read) {
        uint32_t r[4];
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                     : "l"(from + i * step)
                     : "memory");
        result ^= r[0] ^ r[1] ^ r[2] ^ r[3];
      } else {
        asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(from + i * step), "r"(uint32_t(pass)) : "memory");
      }
    }
  }
  wait_for_value(result);
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}

constexpr uint64_t kStretch = uint64_t(256) << 20;

/// Two stretches: reading the second leaves nothing of the first in L2, and nothing that waits to be written.
uint8_t* stretches() {
  static gen5::harness::DeviceBuffer<uint8_t> memory(2 * kStretch);
  [[maybe_unused]] static const bool zeroed = (memory.fill(0), true);
  return memory.get();
}

/// Mean over the SMs that worked of the cycles in which each of them got a KiB.
template <Way way, Where where>
double cycles_per_kib(int ctas, Chosen chosen) {
  constexpr bool far = where == Where::stretch;
  const int passes =
      far ? int(kStretch / (uint64_t(ctas) * kSmBytes)) > 14 ? 14 : int(kStretch / (uint64_t(ctas) * kSmBytes)) : 24;
  uint8_t* memory = stretches();
  if (far)
    measured(132, [&](long long* p) {
      pass_through<Way::read, Where::stretch><<<132, kThreads>>>(memory + kStretch, 14, 0, {0, 1, 1000}, p);
    });
  const auto c = measured(size_t(ctas), [&](long long* p) {
    pass_through<way, where><<<ctas, kThreads>>>(memory, passes, far ? 0 : 2, chosen, p);
  });
  double sum = 0, worked = 0;
  for (long long cycles : c) sum += double(cycles), worked += cycles > 0;
  return worked > 0 ? sum / worked / (passes * double(kSmBytes) / 1024) : 0;
}

template <Way way, Where where>
void rate(benchmark::State& state) {
  for (auto _ : state) report(state, cycles_per_kib<way, where>(int(state.range(0)), {0, 1, 1000}));
}
void by_sms(benchmark::internal::Benchmark* b) {
  b->ArgNames({"sms"})->Arg(1)->Arg(2)->Arg(8)->Arg(16)->Arg(32)->Arg(64)->Arg(96)->Arg(132);
  by_cycles(b);
}
BENCHMARK(rate<Way::read, Where::own>)->Name("l2_read")->Apply(by_sms);
BENCHMARK(rate<Way::read, Where::shared>)->Name("l2_read_shared")->Apply(by_sms);
BENCHMARK(rate<Way::read, Where::line>)->Name("l2_read_line")->Apply(by_sms);
BENCHMARK(rate<Way::write, Where::own>)->Name("l2_write")->Apply(by_sms);
BENCHMARK(rate<Way::read, Where::stretch>)->Name("dram_read")->Apply(by_sms);
BENCHMARK(rate<Way::write, Where::stretch>)->Name("dram_write")->Apply(by_sms);

/// SMs by their number: neighbours share what leads to L2.
template <Way way>
void neighbours(benchmark::State& state) {
  const int sms = gen5::harness::current_device().sms;
  for (auto _ : state)
    report(state, cycles_per_kib<way, Where::own>(sms, {0, uint32_t(state.range(0)), uint32_t(state.range(1))}));
}
void chosen(benchmark::internal::Benchmark* b) {
  b->ArgNames({"step", "count"});
  for (const int step : {1, 2, 16})
    for (const int count : {2, 4, 8}) b->Args({step, count});
  b->Args({1, 16})->Args({2, 16})->Args({2, 32})->Args({2, 66});
  by_cycles(b);
}
BENCHMARK(neighbours<Way::read>)->Name("l2_read_chosen")->Apply(chosen);
BENCHMARK(neighbours<Way::write>)->Name("l2_write_chosen")->Apply(chosen);

}  // namespace

BENCHMARK_MAIN();
