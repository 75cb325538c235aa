// Probe 05, Hopper: wgmma.mma_async and mma.sync. Interval and latency by N, by where A is, by warpgroups that share
// the tensor cores.
//
//   probe_05_wgmma [--benchmark_format=json]
#include "common/ptx/fence.h"
#include "common/ptx/mbarrier.h"
#include "common/ptx/wgmma.h"
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kFew = 4, kMany = 20;

__device__ inline uint64_t operand(uint32_t address) {
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | uint64_t(1024 >> 4) << 32 | uint64_t(1) << 62;
}

#define GEN5_8(d, i)                                                                                    \
  "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), "+f"(d[(i) + 4]), "+f"(d[(i) + 5]), \
      "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define GEN5_32_NAMES                                                                                              \
  "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %17, %18, %19, %20, %21, %22, %23, " \
  "%24, "                                                                                                          \
  "%25, %26, %27, %28, %29, %30, %31"

/// N = 64, A in shared memory or in registers.
template <bool registers>
__device__ inline void wgmma_n64(float (&d)[32], uint64_t a, uint64_t b) {
  if constexpr (registers)
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GEN5_32_NAMES
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 0;"
                 : GEN5_8(d, 0), GEN5_8(d, 8), GEN5_8(d, 16), GEN5_8(d, 24)
                 : "r"(uint32_t(a)), "r"(uint32_t(a)), "r"(uint32_t(a)), "r"(uint32_t(a)), "l"(b));
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" GEN5_32_NAMES "}, %32, %33, 1, 1, 1, 0, 0;"
                 : GEN5_8(d, 0), GEN5_8(d, 8), GEN5_8(d, 16), GEN5_8(d, 24)
                 : "l"(a), "l"(b));
}

/// Number i of a row of them: the next 32 bytes of each row of the operands, of which there are four.
template <int N, bool registers>
__device__ __forceinline__ void wgmma(float (&d)[N / 2], uint64_t a, uint64_t b, int i) {
  if constexpr (N == 64)
    wgmma_n64<registers>(d, registers ? 0 : a + i % 4 * 2, b + i % 4 * 2);
  else
    wgmma_m64k16<N, WgmmaType::bf16>(d, a + i % 4 * 2, b + i % 4 * 2, true);
}

/// n MMAs into one accumulator, from the fence to behind the wait.
template <int N, bool registers, int n>
__global__ void __launch_bounds__(256) burst(long long* cycles, float* result) {
  extern __shared__ __align__(1024) uint8_t memory[];
  for (uint32_t i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(memory)[i] = 0;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  const uint64_t a = operand(shared_address(memory)), b = operand(shared_address(memory) + 16 * 1024);
  float d[N / 2] = {};
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    const long long t0 = ticks();
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < n; ++i) wgmma<N, registers>(d, a, b, i);
    wgmma_commit_group();
    wgmma_wait_group<0>();
    const long long t1 = ticks();
    __syncthreads();
    if (threadIdx.x == 0) cycles[0] = t1 - t0;
  }
  // Kept: ptxas leaves out MMAs whose sums nobody reads.
  float sum = 0;
  for (float& v : d) sum += v;
  result[threadIdx.x] = sum;
}

template <int N, bool registers, int n>
double once(int groups) {
  const auto kernel = burst<N, registers, n>;
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  gen5::harness::DeviceBuffer<float> sums(256);
  return double(measured(1, [&](long long* c) { kernel<<<1, 128 * groups, 48 * 1024>>>(c, sums.get()); })[0]);
}
template <int N, bool registers>
void interval(benchmark::State& state) {
  const int groups = int(state.range(0));
  for (auto _ : state)
    report(state, (once<N, registers, kMany>(groups) - once<N, registers, kFew>(groups)) / ((kMany - kFew) * groups));
}
template <int N, bool registers>
void single(benchmark::State& state) {
  for (auto _ : state) report(state, once<N, registers, 1>(1));
}
BENCHMARK(single<64, false>)->Name("wgmma_single/n:64/a:shared")->Apply(by_cycles);
BENCHMARK(single<64, true>)->Name("wgmma_single/n:64/a:registers")->Apply(by_cycles);
BENCHMARK(single<128, false>)->Name("wgmma_single/n:128/a:shared")->Apply(by_cycles);
BENCHMARK(single<256, false>)->Name("wgmma_single/n:256/a:shared")->Apply(by_cycles);
BENCHMARK(interval<64, false>)
    ->Name("wgmma_interval/n:64/a:shared")
    ->ArgNames({"groups"})
    ->Arg(1)
    ->Arg(2)
    ->Apply(by_cycles);
BENCHMARK(interval<64, true>)
    ->Name("wgmma_interval/n:64/a:registers")
    ->ArgNames({"groups"})
    ->Arg(1)
    ->Arg(2)
    ->Apply(by_cycles);
BENCHMARK(interval<128, false>)
    ->Name("wgmma_interval/n:128/a:shared")
    ->ArgNames({"groups"})
    ->Arg(1)
    ->Arg(2)
    ->Apply(by_cycles);
BENCHMARK(interval<256, false>)
    ->Name("wgmma_interval/n:256/a:shared")
    ->ArgNames({"groups"})
    ->Arg(1)
    ->Arg(2)
    ->Apply(by_cycles);

// ---- How far warps issue ahead of the tensor core

constexpr int kInARow = 16;

/// Of so many MMAs in a row, the clock behind one of them less that behind the first, for each warpgroup.
template <int N, bool registers>
__global__ void __launch_bounds__(384) row(int which, long long* cycles, float* result) {
  extern __shared__ __align__(1024) uint8_t memory[];
  for (uint32_t i = threadIdx.x; i < 48 * 1024 / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(memory)[i] = 0;
  fence_proxy_async();
  const uint64_t a = operand(shared_address(memory)), b = operand(shared_address(memory) + 16 * 1024);
  float d[N / 2] = {};
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    long long behind[kInARow];
    __syncthreads();
    wgmma_fence();
#pragma unroll
    for (int i = 0; i < kInARow; ++i) {
      wgmma<N, registers>(d, a, b, i);
      behind[i] = ticks();
    }
    wgmma_commit_group();
    wgmma_wait_group<0>();
    long long took = 0;
#pragma unroll
    for (int i = 0; i < kInARow; ++i)
      if (i + 1 == which) took = behind[i] - behind[0];
    if (threadIdx.x % 128 == 0) cycles[threadIdx.x / 128] = took;
  }
  float sum = 0;
  for (float& v : d) sum += v;
  result[threadIdx.x] = sum;
}
/// The mean of the warpgroups.
template <int N, bool registers>
void issue_of(benchmark::State& state) {
  const int groups = int(state.range(0)), which = int(state.range(1));
  const auto kernel = row<N, registers>;
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, 48 * 1024));
  gen5::harness::DeviceBuffer<float> sums(384);
  for (auto _ : state) {
    const auto c =
        measured(size_t(groups), [&](long long* to) { kernel<<<1, 128 * groups, 48 * 1024>>>(which, to, sums.get()); });
    double sum = 0;
    for (int g = 0; g < groups; ++g) sum += double(c[size_t(g)]);
    report(state, sum / groups);
  }
}
void by_place(benchmark::internal::Benchmark* b) {
  by_cycles(b->ArgNames({"groups", "operation"})->ArgsProduct({{1, 2}, {4, 7, 9, 12, 16}}));
}
BENCHMARK(issue_of<64, false>)->Name("wgmma_issue/n:64/a:shared")->Apply(by_place);
BENCHMARK(issue_of<64, true>)->Name("wgmma_issue/n:64/a:registers")->Apply(by_place);
BENCHMARK(issue_of<128, false>)->Name("wgmma_issue/n:128/a:shared")->Apply(by_place);
BENCHMARK(issue_of<256, false>)->Name("wgmma_issue/n:256/a:shared")->Apply(by_place);

// ---- A loop that waits for the MMAs before the last, with and without copies that write shared memory meanwhile

/// `loops` of four MMAs with N = 256 a warpgroup. A warp more copies 16 KiB from L2 every `pace` cycles; 0: none.
template <int loops>
__global__ void __launch_bounds__(384) loop(const uint8_t* from, long long pace, long long* cycles, float* result) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ alignas(8) uint64_t barrier;
  __shared__ volatile int over;
  constexpr uint32_t kCopy = 16 * 1024;
  const uint32_t bar = shared_address(&barrier), at = shared_address(memory);
  const uint32_t groups = (blockDim.x - 32) / 128, group = threadIdx.x / 128;
  if (threadIdx.x == 0) {
    mbarrier_init(bar, 1);
    over = 0;
  }
  fence_proxy_async();
  float d[128] = {};
  const uint64_t a = operand(at + 64 * 1024), b = operand(at + 96 * 1024);
  uint32_t parity = 0;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    if (group == groups) {
      if (threadIdx.x % 32 == 0 && pace) {
        for (long long next = ticks(); over <= round;) {
          mbarrier_arrive_expect_tx(bar, 2 * kCopy);
          for (uint32_t i = 0; i < 2; ++i)
            asm volatile(
                "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                    at + i * kCopy),
                "l"(from + i * kCopy), "r"(kCopy), "r"(bar)
                : "memory");
          mbarrier_wait_parity(bar, parity);
          parity ^= 1;
          next += pace;
          while (ticks() < next) {
          }
        }
      }
      __syncwarp();
    } else {
      const long long t0 = ticks();
#pragma unroll 1
      for (int i = 0; i < loops; ++i) {
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k)
          wgmma_m64k16<256, WgmmaType::bf16>(d, a + uint64_t(group) * 512 + k * 2, b + k * 2, true);
        wgmma_commit_group();
        wgmma_wait_group<1>();
      }
      wgmma_wait_group<0>();
      if (threadIdx.x == 0) {
        cycles[0] = ticks() - t0;
        over = round + 1;
      }
    }
    __syncthreads();
  }
  float sum = 0;
  for (float& v : d) sum += v;
  if (group < groups) result[threadIdx.x] = sum;
}
/// Cycles of the SM for four MMAs of each warpgroup.
void in_loop(benchmark::State& state) {
  const int groups = int(state.range(0));
  const long long pace = state.range(1);
  constexpr int kBytes = 160 * 1024;
  static gen5::harness::DeviceBuffer<uint8_t> source(64 * 1024);
  static gen5::harness::DeviceBuffer<float> sums(256);
  for (auto _ : state) {
    const auto took = [&](auto kernel) {
      GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
      return double(measured(
          1, [&](long long* c) { kernel<<<1, 128 * groups + 32, kBytes>>>(source.get(), pace, c, sums.get()); })[0]);
    };
    report(state, (took(loop<40>) - took(loop<8>)) / 32);
  }
}
BENCHMARK(in_loop)
    ->Name("wgmma_loop/n:256")
    ->ArgNames({"groups", "copy_every"})
    ->ArgsProduct({{1, 2}, {0, 512, 340, 170}})
    ->Apply(by_cycles);

// ---- A ring of stages that the warpgroups fill themselves, by cp.async

enum Ring : int { kMultiplies = 1, kCopies = 2, kFences = 4 };

/// Two warpgroups; a round is four MMAs with N = 128 each, and the copies of 32 KiB that fill a stage for a later
/// round.
template <int parts, int stages>
__global__ void __launch_bounds__(256) ring(const uint8_t* memory, int n, long long* cycles, float* result) {
  extern __shared__ __align__(1024) uint8_t shared[];
  constexpr uint32_t kHalf = 16 * 1024, kStage = 2 * kHalf;
  const uint32_t at = kept(shared_address(shared));
  for (uint32_t i = threadIdx.x; i < stages * kStage / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(shared)[i] = 0;
  fence_proxy_async();
  float d[64] = {};
  // A row is 128 bytes; those of a stage lie 4 KiB apart in memory.
  const uint8_t* from = memory + threadIdx.x / 8 * 4096 + threadIdx.x % 8 * 16;
  const auto fill = [&](int round) {
    const uint32_t to = at + uint32_t(round % stages) * kStage + threadIdx.x * 16;
    const uint8_t* line = from + round % 32 * 128;
    if constexpr ((parts & kCopies) != 0)
#pragma unroll
      for (uint32_t i = 0; i < 8; ++i)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + i * 4096),
                     "l"(line + i % 4 * 32 * 4096 + i / 4 * 524288)
                     : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    const long long t0 = ticks();
    for (int s = 0; s + 1 < stages; ++s) fill(s);
#pragma unroll 1
    for (int round = 0; round < n; ++round) {
      asm volatile("cp.async.wait_group %0;" ::"n"(stages - 2) : "memory");
      __syncthreads();
      if constexpr ((parts & kFences) != 0) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
      if constexpr ((parts & kMultiplies) != 0) {
        const uint32_t stage = at + uint32_t(round % stages) * kStage;
        const uint64_t a = operand(stage + __shfl_sync(~0u, threadIdx.x / 128, 0) * 8192), b = operand(stage + kHalf);
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k) wgmma_m64k16<128, WgmmaType::bf16>(d, a + k * 2, b + k * 2, true);
        wgmma_commit_group();
        wgmma_wait_group<stages == 2 ? 0 : 1>();
      }
      __syncthreads();
      fill(round + stages - 1);
    }
    wgmma_wait_group<0>();
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) cycles[0] = ticks() - t0;
  }
  float sum = 0;
  for (float& v : d) sum += v;
  result[threadIdx.x] = sum;
}
/// Cycles of a round; all SMs that run one do the same.
template <int parts, int stages>
void ring_round(benchmark::State& state) {
  constexpr int kBytes = stages * 32 * 1024;
  const auto kernel = ring<parts, stages>;
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  gen5::harness::DeviceBuffer<float> sums(256);
  const int ctas = int(state.range(0));
  for (auto _ : state) {
    const auto took = [&](int n) {
      return double(
          measured(1, [&](long long* c) { kernel<<<ctas, 256, kBytes>>>(source_memory(), n, c, sums.get()); })[0]);
    };
    report(state, (took(48) - took(8)) / 40);
  }
}
#define GEN5_RING(PARTS, NAME)               \
  BENCHMARK(ring_round<PARTS, 2>)            \
      ->Name("wgmma_ring/" NAME "/stages:2") \
      ->ArgNames({"ctas"})                   \
      ->Arg(1)                               \
      ->Arg(64)                              \
      ->Apply(by_cycles);                    \
  BENCHMARK(ring_round<PARTS, 3>)            \
      ->Name("wgmma_ring/" NAME "/stages:3") \
      ->ArgNames({"ctas"})                   \
      ->Arg(1)                               \
      ->Arg(64)                              \
      ->Apply(by_cycles);                    \
  BENCHMARK(ring_round<PARTS, 4>)            \
      ->Name("wgmma_ring/" NAME "/stages:4") \
      ->ArgNames({"ctas"})                   \
      ->Arg(1)                               \
      ->Arg(64)                              \
      ->Apply(by_cycles)
GEN5_RING(kMultiplies, "mma");
GEN5_RING(kCopies, "copies");
GEN5_RING(kCopies | kFences, "copies/fences");
GEN5_RING(kMultiplies | kFences, "mma/fences");
GEN5_RING(kMultiplies | kCopies, "mma/copies");
GEN5_RING(kMultiplies | kCopies | kFences, "mma/copies/fences");

// ---- Other instructions beside wgmma

enum class What { alu, add, integer, fma };

template <What what>
__device__ __forceinline__ void other(uint32_t (&words)[8], uint32_t with) {
#pragma unroll
  for (uint32_t& w : words) {
    if constexpr (what == What::alu) asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(w) : "r"(with));
    if constexpr (what == What::add) asm volatile("add.u32 %0, %0, %1;" : "+r"(w) : "r"(with));
    if constexpr (what == What::integer) asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(w) : "r"(with));
    if constexpr (what == What::fma)
      asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(reinterpret_cast<float&>(w)) : "f"(__uint_as_float(with)));
  }
}

/// The first warpgroup multiplies, `rounds` times four MMAs; the others do 64 of `what` again and again until it is
/// over.
template <What what, int N>
__global__ void __launch_bounds__(384) beside(int rounds, long long* cycles, float* result) {
  extern __shared__ __align__(1024) uint8_t memory[];
  __shared__ volatile int over;
  const uint32_t at = shared_address(memory);
  for (uint32_t i = threadIdx.x; i < 64 * 1024 / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(memory)[i] = 0;
  fence_proxy_async();
  if (threadIdx.x == 0) over = -1;
  if (threadIdx.x < 128) {
    float d[N / 2] = {};
    const uint64_t a = operand(at), b = operand(at + 16 * 1024);
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      __syncthreads();
      const long long t0 = ticks();
#pragma unroll 1
      for (int i = 0; i < rounds; ++i) {
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < 4; ++k) wgmma_m64k16<N, WgmmaType::bf16>(d, a + k * 2, b + k * 2, true);
        wgmma_commit_group();
        wgmma_wait_group<1>();
      }
      wgmma_wait_group<0>();
      if (threadIdx.x == 0) {
        cycles[0] = ticks() - t0;
        over = pass;
      }
      __syncthreads();
    }
    float sum = 0;
    for (float& v : d) sum += v;
    result[threadIdx.x] = sum;
  } else {
    uint32_t words[8];
#pragma unroll
    for (uint32_t i = 0; i < 8; ++i) words[i] = kept(threadIdx.x + i);
    const uint32_t with = kept(threadIdx.x);
#pragma unroll 1
    for (int pass = 0; pass < 2; ++pass) {
      __syncthreads();
      const long long t0 = ticks();
      long long batches = 0;
      do {
#pragma unroll
        for (int i = 0; i < 8; ++i) other<what>(words, with);
        ++batches;
      } while (over < pass);
      const long long t1 = ticks();
      if (threadIdx.x == 128) cycles[1] = t1 - t0, cycles[2] = batches;
      __syncthreads();
    }
    uint32_t all = 0;
#pragma unroll
    for (uint32_t w : words) all ^= w;
    result[threadIdx.x] = __uint_as_float(all);
  }
}
/// Cycles of a sub-partition for one of the instructions; `mma`: for one of the MMAs.
template <What what, int N, bool mma>
void by_side(benchmark::State& state) {
  const int groups = int(state.range(0)), rounds = 8192 / N;
  constexpr int kBytes = 64 * 1024;
  const auto kernel = beside<what, N>;
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  gen5::harness::DeviceBuffer<float> sums(384);
  for (auto _ : state) {
    const auto c =
        measured(3, [&](long long* to) { kernel<<<1, 128 * (1 + groups), kBytes>>>(rounds, to, sums.get()); });
    report(state, mma ? double(c[0]) / (4 * rounds) : double(c[1]) / (64.0 * double(c[2]) * groups));
  }
}
#define GEN5_BESIDE(NAME, WHAT)                                                                         \
  BENCHMARK(by_side<What::WHAT, 128, false>)->Name("wgmma_beside/" NAME "/n:128")->Apply(by_groups);    \
  BENCHMARK(by_side<What::WHAT, 256, false>)->Name("wgmma_beside/" NAME "/n:256")->Apply(by_groups);    \
  BENCHMARK(by_side<What::WHAT, 128, true>)->Name("wgmma_beside/" NAME "/n:128/mma")->Apply(by_groups); \
  BENCHMARK(by_side<What::WHAT, 256, true>)->Name("wgmma_beside/" NAME "/n:256/mma")->Apply(by_groups)
void by_groups(benchmark::internal::Benchmark* b) { by_cycles(b->ArgNames({"groups"})->Arg(1)->Arg(2)); }
GEN5_BESIDE("alu", alu);
GEN5_BESIDE("add", add);
GEN5_BESIDE("integer", integer);
GEN5_BESIDE("fma", fma);

// ---- mma.sync.m16n8k16

template <int chains, int n>
__global__ void warps(uint32_t a, uint32_t b, long long* cycles) {
  float d[chains][4] = {};
  uint32_t result = 0;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    const long long t0 = ticks();
#pragma unroll 1
    for (int r = 0; r < n; ++r)
#pragma unroll
      for (int c = 0; c < 4 * chains; ++c)
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %4, %4}, {%5, %5}, {%0, "
            "%1, %2, %3};"
            : "+f"(d[c % chains][0]), "+f"(d[c % chains][1]), "+f"(d[c % chains][2]), "+f"(d[c % chains][3])
            : "r"(a), "r"(b));
    for (int c = 0; c < chains; ++c) result ^= __float_as_uint(d[c][0]) ^ __float_as_uint(d[c][3]);
    wait_for_value(result);
    __syncthreads();
    if (threadIdx.x == 0) cycles[0] = ticks() - t0;
  }
}
/// Cycles of a sub-partition for one.
template <int chains>
void mma_sync(benchmark::State& state) {
  const int threads = 128 * int(state.range(0));
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { warps<chains, kFew><<<1, threads>>>(0, 0, c); });
    const auto many = measured(1, [&](long long* c) { warps<chains, kMany><<<1, threads>>>(0, 0, c); });
    report(state, double(many[0] - few[0]) / ((kMany - kFew) * 4 * chains) / double(state.range(0)));
  }
}
BENCHMARK(mma_sync<1>)->Name("mma_sync_latency")->ArgNames({"warps"})->Arg(1)->Apply(by_cycles);
BENCHMARK(mma_sync<4>)->Name("mma_sync_interval")->ArgNames({"warps"})->Arg(1)->Arg(2)->Arg(4)->Apply(by_cycles);

}  // namespace

BENCHMARK_MAIN();
