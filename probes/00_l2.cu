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

enum class Way { read, write };

/// Each CTA goes `passes` times through kSmBytes of its own, 16 bytes a thread. `apart`: bytes from one CTA's to the
/// next's; 0: all the same; 1: one line is all that anybody reads.
template <Way way>
__global__ void __launch_bounds__(kThreads)
    pass_through(uint8_t* memory, uint64_t apart, int passes, int warm, long long* cycles) {
  const bool line = apart == 1;
  uint8_t* at = memory + (line ? 0 : blockIdx.x * apart) + (line ? threadIdx.x % 8 : threadIdx.x) * 16;
  const uint32_t step = line ? 0 : kThreads * 16;
  uint32_t result = 0;
  long long t0 = 0;
#pragma unroll 1
  for (int pass = -warm; pass < passes; ++pass) {
    if (pass == 0) {
      wait_for_value(result);
      __syncthreads();
      t0 = ticks();
    }
    uint8_t* from = apart > kSmBytes ? at + uint64_t(pass < 0 ? 0 : pass) * kSmBytes : at;
#pragma unroll
    for (uint32_t i = 0; i < kSmBytes / (kThreads * 16); ++i) {
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

uint8_t* large_memory() {
  static gen5::harness::DeviceBuffer<uint8_t> memory(uint64_t(256) << 20);
  [[maybe_unused]] static const bool zeroed = (memory.fill(0), true);
  return memory.get();
}

enum class Where { own, shared, line, dram };

/// Cycles in which each of `sms` SMs gets a KiB, as long as all of them want some.
template <Way way, Where where>
void rate(benchmark::State& state) {
  const int sms = int(state.range(0)), passes = where == Where::dram ? 8 : 24;
  const uint64_t apart = where == Where::own      ? kSmBytes
                         : where == Where::dram   ? kSmBytes * 12
                         : where == Where::shared ? 0
                                                  : 1;
  for (auto _ : state) {
    uint8_t* memory = large_memory();
    if (where == Where::dram) empty_l2();
    const auto c = measured(size_t(sms), [&](long long* p) {
      pass_through<way><<<sms, kThreads>>>(memory, apart, passes, where == Where::dram ? 0 : 2, p);
    });
    double sum = 0;
    for (long long cycles : c) sum += double(cycles);
    report(state, sum / sms / (passes * double(kSmBytes) / 1024));
  }
}
void by_sms(benchmark::internal::Benchmark* b) {
  b->ArgNames({"sms"})->Arg(1)->Arg(2)->Arg(8)->Arg(16)->Arg(32)->Arg(64)->Arg(96)->Arg(132);
  by_cycles(b);
}
BENCHMARK(rate<Way::read, Where::own>)->Name("l2_read")->Apply(by_sms);
BENCHMARK(rate<Way::read, Where::shared>)->Name("l2_read_shared")->Apply(by_sms);
BENCHMARK(rate<Way::read, Where::line>)->Name("l2_read_line")->Apply(by_sms);
BENCHMARK(rate<Way::write, Where::own>)->Name("l2_write")->Apply(by_sms);
BENCHMARK(rate<Way::read, Where::dram>)->Name("dram_read")->Apply(by_sms);
BENCHMARK(rate<Way::write, Where::dram>)->Name("dram_write")->Apply(by_sms);

}  // namespace

BENCHMARK_MAIN();
