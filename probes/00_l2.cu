// Probe 00: L2 and device memory beyond one load. Which lines are near and which far, and which device memory gives
// late; what so many SMs at once get of L2 and of device memory, reading, writing, and both at once.
//
//   probe_00_l2 [--benchmark_format=json]
#include "probes/l2_pass.h"
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

// ---- Lines of device memory

__global__ void read_through(const uint8_t* memory, uint64_t bytes) {
  uint32_t all = 0;
  for (uint64_t at = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) * 16; at < bytes;
       at += uint64_t(gridDim.x) * blockDim.x * 16) {
    uint32_t r[4];
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "l"(memory + at)
                 : "memory");
    all ^= r[0] ^ r[1] ^ r[2] ^ r[3];
  }
  wait_for_value(all);
}

constexpr int kScattered = 2048;
constexpr uint64_t kPage = uint64_t(2) << 20;

/// Latency of lines all over `bytes`, each read once, behind a look at every page for its translation.
__global__ void scattered_lines(const uint8_t* memory, uint64_t bytes, long long* cycles) {
  uint32_t value;
#pragma unroll 1
  for (uint64_t page = 0; page < bytes; page += kPage) {
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(memory + page + kPage - 128) : "memory");
    wait_for_value(value);
  }
  uint32_t at = 1;
#pragma unroll 1
  for (int i = 0; i < kScattered; ++i) {
    at = at * 1664525 + 1013904223;
    const uint8_t* from = memory + uint64_t(at >> 8) % (bytes / 128) * 128;
    const long long t0 = ticks();
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
    wait_for_value(value);
    cycles[i] = ticks() - t0;
  }
}

/// The latency below which so many per cent of the lines are that device memory has to give.
void dram_lines(benchmark::State& state) {
  for (auto _ : state) {
    read_through<<<264, 1024>>>(stretches() + kStretch, kStretch);
    auto c = measured(kScattered, [](long long* p) { scattered_lines<<<1, 1>>>(stretches(), kStretch, p); });
    std::sort(c.begin(), c.end());
    report(state, double(c[size_t(state.range(0)) * (kScattered - 1) / 100]));
  }
}
void by_percent(benchmark::internal::Benchmark* b) {
  b->ArgName("percent");
  for (const int percent : {5, 10, 25, 50, 75, 90, 95, 99}) b->Arg(percent);
  by_cycles(b);
}
BENCHMARK(dram_lines)->Apply(by_percent);

// ---- Rates

template <Way way, Where where>
void rate(benchmark::State& state) {
  for (auto _ : state) report(state, cycles_per_kib<way, where>(int(state.range(0)), Chosen::all()));
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

/// Reading and writing L2 side by side: all SMs, each `reads` times 16 bytes a thread from 64 KiB of its own, and
/// `writes` times to another 64 KiB, again and again.
template <int reads, int writes>
__global__ void __launch_bounds__(kPassThreads) mixed(uint8_t* memory, int rounds, long long* cycles) {
  uint8_t* const from = memory + blockIdx.x * kSmBytes + threadIdx.x * 16;
  uint8_t* const to = from + kSmBytes / 2;
  uint32_t read = 0, written = 0, result = 0;
  long long t0 = 0;
#pragma unroll 1
  for (int round = -4; round < rounds; ++round) {
    if (round == 0) {
      wait_for_value(result);
      __syncthreads();
      t0 = ticks();
    }
#pragma unroll
    for (int i = 0; i < reads; ++i) {
      uint32_t r[4];
      asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                   : "l"(from + read)
                   : "memory");
      result ^= r[0] ^ r[1] ^ r[2] ^ r[3];
      read = (read + kPiece) % (kSmBytes / 2);
    }
#pragma unroll
    for (int i = 0; i < writes; ++i) {
      asm volatile("st.global.v4.u32 [%0], {%1, %1, %1, %1};" ::"l"(to + written), "r"(round) : "memory");
      written = (written + kPiece) % (kSmBytes / 2);
    }
  }
  wait_for_value(result);
  __syncthreads();
  if (threadIdx.x == 0) cycles[blockIdx.x] = ticks() - t0;
}
/// Cycles of a KiB read or written, of each SM.
template <int reads, int writes>
void mix(benchmark::State& state) {
  constexpr int rounds = 256 / (reads + writes);
  const int sms = int(state.range(0));
  uint8_t* memory = stretches();
  for (auto _ : state) {
    const auto c =
        measured(size_t(sms), [&](long long* p) { mixed<reads, writes><<<sms, kPassThreads>>>(memory, rounds, p); });
    double sum = 0;
    for (long long cycles : c) sum += double(cycles);
    report(state, sum / sms / (rounds * (reads + writes) * double(kPiece) / 1024));
  }
}
void by_few_sms(benchmark::internal::Benchmark* b) {
  b->ArgName("sms")->Arg(1)->Arg(32)->Arg(132);
  by_cycles(b);
}
BENCHMARK(mix<1, 1>)->Name("l2_mix/reads:1/writes:1")->Apply(by_few_sms);
BENCHMARK(mix<2, 1>)->Name("l2_mix/reads:2/writes:1")->Apply(by_few_sms);
BENCHMARK(mix<1, 2>)->Name("l2_mix/reads:1/writes:2")->Apply(by_few_sms);
BENCHMARK(mix<2, 3>)->Name("l2_mix/reads:2/writes:3")->Apply(by_few_sms);

/// SMs by their number: neighbours share what leads to L2.
template <Way way>
void neighbours(benchmark::State& state) {
  const int sms = gen5::harness::current_device().sms;
  Chosen some;
  for (int64_t i = 0; i < state.range(1); ++i) some.add(uint32_t(i * state.range(0)));
  for (auto _ : state) report(state, cycles_per_kib<way, Where::own>(sms, some));
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
