// Probe 13: the SM clock under sustained work of one kind, which power limits: cycles of clock64 over nanoseconds of
// globaltimer in every SM, and the moments between which a kind ran, to lay beside readings of the board's power.
//
//   probe_13_power [--benchmark_format=json]        GEN5_POWER_SECONDS: how long each kind runs (default: one launch)
#include <chrono>
#include <cstdlib>
#include <thread>

#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/wgmma.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

enum class Work { idle, fma_f32, fma_f64, integer, shared, l2, dram, bulk_l2, wgmma, mma_sync };
constexpr uint32_t kBulk = 16 * 1024;  // bytes of a bulk copy

struct Meter {
  long long cycles = ticks(), nanoseconds = now();
  __device__ static long long now() {
    long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t)::"memory");
    return t;
  }
  __device__ void stop(long long* out) const {
    if (threadIdx.x == 0) {
      out[blockIdx.x * 2] = ticks() - cycles;
      out[blockIdx.x * 2 + 1] = now() - nanoseconds;
    }
  }
};

__device__ inline uint64_t operand(uint32_t address) {
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}
/// A bf16 pair: zeros, or two values of an even distribution in ±[1, 2).
__device__ inline uint32_t pair(uint32_t i, bool random) {
  uint32_t z = (i + 1) * 0x9e3779b9;
  z = (z ^ (z >> 15)) * 0x85ebca6b, z ^= z >> 13;
  return random ? (z & 0x807f807f) | 0x3f803f80 : 0;
}

template <Work work>
__global__ void __launch_bounds__(256)
    burn(uint8_t* memory, uint64_t bytes, bool random, int rounds, int pause, long long* out) {
  extern __shared__ __align__(1024) uint8_t shared[];
  const Meter meter;
  uint32_t result = 0;
  if constexpr (work == Work::idle) {
    while (ticks() - meter.cycles < rounds * 1000ll) __nanosleep(1000);
  } else if constexpr (work == Work::wgmma) {
    for (uint32_t i = threadIdx.x; i < 48 * 256; i += blockDim.x)
      reinterpret_cast<uint32_t*>(shared)[i] = pair(i, random);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint64_t a = operand(shared_address(shared) + threadIdx.x / 128 * 8192),
                   b = operand(shared_address(shared) + 16 * 1024);
    float d[128] = {};
    for (int r = 0; r < rounds; ++r) {
      const long long begin = ticks();
      wgmma_fence();
#pragma unroll
      for (int i = 0; i < 8; ++i) wgmma_m64k16<256, WgmmaType::bf16>(d, a + i % 4 * 2, b + i % 4 * 2, i > 0);
      wgmma_commit_group();
      wgmma_wait_group<0>();
      while (pause && ticks() - begin < pause) {
      }
    }
    for (float& v : d) result ^= __float_as_uint(v);
  } else if constexpr (work == Work::mma_sync) {
    float d[8][4] = {};
    const uint32_t a = pair(threadIdx.x, random), b = pair(threadIdx.x + 999, random);
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int c = 0; c < 8; ++c)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %4, %5}, {%5, %4}, {%0, "
            "%1, %2, %3};"
            : "+f"(d[c][0]), "+f"(d[c][1]), "+f"(d[c][2]), "+f"(d[c][3])
            : "r"(a), "r"(b));
    for (auto& four : d) result ^= __float_as_uint(four[0]);
  } else if constexpr (work == Work::fma_f32) {
    float x[8];
    for (int c = 0; c < 8; ++c) x[c] = random ? float(threadIdx.x + c) : 0;
    const float y = random ? 0.7f : 0, z = random ? 1.3f : 0;
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (float& v : x) v = fmaf(v, y, z);
    for (float v : x) result ^= __float_as_uint(v);
  } else if constexpr (work == Work::fma_f64) {
    double x[8];
    for (int c = 0; c < 8; ++c) x[c] = random ? double(threadIdx.x + c) : 0;
    const double y = random ? 0.7 : 0, z = random ? 1.3 : 0;
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (double& v : x) v = fma(v, y, z);
    for (double v : x) result ^= uint32_t(__double_as_longlong(v));
  } else if constexpr (work == Work::integer) {
    uint32_t x[8];
    for (int c = 0; c < 8; ++c) x[c] = random ? threadIdx.x + c : 0;
    const uint32_t y = random ? 0x9e3779b9 : 0;
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (uint32_t& v : x) v = v * y + (v ^ y);
    for (uint32_t v : x) result ^= v;
  } else if constexpr (work == Work::shared) {
    for (uint32_t i = threadIdx.x; i < 4096; i += blockDim.x) reinterpret_cast<uint32_t*>(shared)[i] = pair(i, random);
    __syncthreads();
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        uint32_t v[4];
        asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "r"(shared_address(shared) + (threadIdx.x + i * 32) % 1024 * 16));
        result ^= v[0] ^ v[1] ^ v[2] ^ v[3];
      }
  } else if constexpr (work == Work::bulk_l2) {
    // Two copies in flight; the others wait at the end.
    __shared__ alignas(8) uint64_t barriers[2];
    if (threadIdx.x == 0) {
      for (uint64_t& b : barriers) mbarrier_init(shared_address(&b), 1);
      fence_proxy_async();
      for (int r = 0; r < rounds + 2; ++r) {
        const uint32_t bar = shared_address(&barriers[r % 2]);
        if (r >= 2) mbarrier_wait_parity(bar, uint32_t(r / 2 - 1) & 1);
        if (r >= rounds) continue;
        mbarrier_arrive_expect_tx(bar, kBulk);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                         shared_address(shared) + uint32_t(r) % 2 * kBulk),
                     "l"(memory + (uint64_t(r) * gridDim.x + blockIdx.x) * kBulk % bytes), "r"(kBulk), "r"(bar)
                     : "memory");
      }
    }
  } else {
    const uint64_t step = uint64_t(gridDim.x) * blockDim.x * 16;
    uint64_t at = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) * 16;
    for (int r = 0; r < rounds; ++r)
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        uint32_t v[4];
        asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
                     : "l"(memory + at));
        result ^= v[0] ^ v[1] ^ v[2] ^ v[3];
        at += step;
        if (at >= bytes) at -= bytes;
      }
  }
  wait_for_value(result, 0xfffffffe);
  __syncthreads();
  meter.stop(out);
}

double seconds_asked() {
  const char* text = std::getenv("GEN5_POWER_SECONDS");
  return text ? std::atof(text) : 0;
}
double wall() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// The clock of the last launches, in MHz; `cycles` is that of the last launch.
template <Work work>
void sustained(benchmark::State& state) {
  const bool random = state.range(0) != 0;
  constexpr bool streams = work == Work::l2 || work == Work::bulk_l2 || work == Work::dram;
  const uint64_t bytes = work == Work::dram ? uint64_t(256) << 20 : uint64_t(16) << 20;
  gen5::harness::DeviceBuffer<uint32_t> memory(streams ? bytes / 4 : 4);
  if (streams && random) {
    std::vector<uint32_t> host(bytes / 4);
    for (size_t i = 0; i < host.size(); ++i) host[i] = uint32_t(i * 2654435761u) ^ uint32_t(i << 13);
    memory.upload(host);
  } else {
    memory.fill(0);
  }
  const bool brief = seconds_asked() == 0;
  const int sms = gen5::harness::current_device().sms, each = work == Work::wgmma ? 1 : 4, ctas = sms * each;
  // A share of the time without tensor cores: a round of two warpgroups is 2,048 cycles of MMAs.
  const int share = work == Work::wgmma ? int(state.range(1)) : 100, pause = share < 100 ? 204800 / share : 0;
  const int rounds = brief ? 16 : work == Work::wgmma ? 4000 : work == Work::dram ? 500 : 20000;
  const auto kernel = burn<work>;
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  for (auto _ : state) {
    gen5::harness::DeviceBuffer<long long> out(size_t(ctas) * 2);
    const double begin = wall();
    std::vector<double> mhz, cycles;
    do {
      kernel<<<ctas, 256, 48 * 1024>>>(reinterpret_cast<uint8_t*>(memory.get()), bytes, random, rounds, pause,
                                       out.get());
      GEN5_CUDA(cudaGetLastError());
      const auto c = out.download();
      double sum_cycles = 0, sum_ns = 0;
      for (size_t i = 0; i < c.size(); i += 2) sum_cycles += double(c[i]), sum_ns += double(c[i + 1]);
      mhz.push_back(sum_cycles / sum_ns * 1e3);
      cycles.push_back(sum_cycles / ctas);
    } while (wall() - begin < seconds_asked());
    double late = 0;
    const size_t from = mhz.size() / 2;
    for (size_t i = from; i < mhz.size(); ++i) late += mhz[i] / double(mhz.size() - from);
    report(state, cycles.back());
    state.counters["first_mhz"] = mhz.front();
    state.counters["mhz"] = late;
    state.counters["rounds"] = rounds;
    state.counters["ctas"] = ctas;
    state.counters["begin"] = begin;
    state.counters["end"] = wall();
  }
}
void both(benchmark::internal::Benchmark* b) {
  b->ArgNames({"random"})->Arg(0)->Arg(1);
  by_cycles(b);
}
BENCHMARK(sustained<Work::idle>)->Name("idle")->ArgNames({"random"})->Arg(0)->Apply(by_cycles);
BENCHMARK(sustained<Work::fma_f32>)->Name("fma_f32")->Apply(both);
BENCHMARK(sustained<Work::fma_f64>)->Name("fma_f64")->Apply(both);
BENCHMARK(sustained<Work::integer>)->Name("integer")->Apply(both);
BENCHMARK(sustained<Work::shared>)->Name("shared")->Apply(both);
BENCHMARK(sustained<Work::l2>)->Name("l2")->Apply(both);
BENCHMARK(sustained<Work::bulk_l2>)->Name("bulk_l2")->Apply(both);
BENCHMARK(sustained<Work::dram>)->Name("dram")->Apply(both);
BENCHMARK(sustained<Work::mma_sync>)->Name("mma_sync_bf16")->Apply(both);
BENCHMARK(sustained<Work::wgmma>)
    ->Name("wgmma_bf16")
    ->ArgNames({"random", "share"})
    ->ArgsProduct({{0, 1}, {10, 25, 50, 75, 100}})
    ->Apply(by_cycles);

/// A launch of `rounds` rounds of MMAs on random data out of idleness, ten times: `mhz` is their mean.
void short_run(benchmark::State& state) {
  const int rounds = int(state.range(0)), ctas = gen5::harness::current_device().sms;
  GEN5_CUDA(cudaFuncSetAttribute(burn<Work::wgmma>, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  const int times = seconds_asked() == 0 ? 1 : 10;
  for (auto _ : state) {
    gen5::harness::DeviceBuffer<long long> out(size_t(ctas) * 2);
    double cycles = 0, nanoseconds = 0;
    for (int i = 0; i < times; ++i) {
      if (times > 1) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      burn<Work::wgmma><<<ctas, 256, 48 * 1024>>>(nullptr, 0, true, rounds, 0, out.get());
      const auto c = out.download();
      for (size_t j = 0; j < c.size(); j += 2) cycles += double(c[j]), nanoseconds += double(c[j + 1]);
    }
    report(state, cycles / ctas / times);
    state.counters["mhz"] = cycles / nanoseconds * 1e3;
  }
}
BENCHMARK(short_run)->ArgNames({"rounds"})->Arg(2)->Arg(10)->Arg(50)->Arg(200)->Arg(1000)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
