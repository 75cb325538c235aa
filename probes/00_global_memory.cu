// Probe 00: global memory. Latency of one load behind the other, from L2 and from device memory.
//
//   probe_00_global_memory [--benchmark_format=json]
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

/// Every place holds the address of the next, `stride` bytes on; the last that of the first.
__global__ void chain(uint64_t* memory, uint64_t stride, int places) {
  for (int i = 0; i < places; ++i) memory[i * stride / 8] = uint64_t(memory + (i + 1) % places * (stride / 8));
}

/// Follows the addresses through all places but the first, which pays for the translation of addresses. Past L1.
__global__ void follow(const uint64_t* memory, int places, long long* cycles) {
  uint64_t at = uint64_t(memory);
  asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
  wait_for_value(uint32_t(at));
  const long long t0 = ticks();
#pragma unroll 1
  for (int i = 1; i < places; ++i) asm volatile("ld.global.cg.u64 %0, [%0];" : "+l"(at)::"memory");
  wait_for_value(uint32_t(at));
  const long long t1 = ticks();
  cycles[0] = t1 - t0;
}

enum Level { in_l2, in_dram };

template <int level>
void latency(benchmark::State& state) {
  const uint64_t stride = uint64_t(state.range(0));
  const int places = int(kSourceBytes / stride);
  auto* memory = reinterpret_cast<uint64_t*>(source_memory());
  for (auto _ : state) {
    chain<<<1, 1>>>(memory, stride, places);
    if (level == in_dram) empty_l2();
    const auto c = measured(1, [&](long long* p) { follow<<<1, 1>>>(memory, places, p); });
    report(state, double(c[0]) / (places - 1));
  }
}
BENCHMARK(latency<in_l2>)->Name("latency_l2")->ArgNames({"stride"})->Arg(1024)->Arg(4096)->Arg(16384)->Apply(by_cycles);
BENCHMARK(latency<in_dram>)->Name("latency_dram")->ArgNames({"stride"})->Arg(1024)->Arg(4096)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
