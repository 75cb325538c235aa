// Probe 00, matrices: ldmatrix and stmatrix. Latency, and what the port charges by the number of matrices and by how
// their rows lie in the banks.
//
//   probe_00_ldmatrix [--benchmark_format=json]
//
// Every figure is a difference of two runs that differ in the number of instructions alone.
#include <utility>

#include "common/ptx/address.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kBatch = 8, kFew = 4, kMany = 8, kWarps = 16;
constexpr uint32_t kBytes = 16 * 1024;

#define GEN5_LDMATRIX(TRANS)                                                                  \
  if constexpr (n == 1)                                                                       \
    asm volatile("ldmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 {%0}, [%1+%2];"           \
                 : "=r"(r[0])                                                                 \
                 : "r"(at), "n"(offset)                                                       \
                 : "memory");                                                                 \
  if constexpr (n == 2)                                                                       \
    asm volatile("ldmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 {%0, %1}, [%2+%3];"       \
                 : "=r"(r[0]), "=r"(r[1])                                                     \
                 : "r"(at), "n"(offset)                                                       \
                 : "memory");                                                                 \
  if constexpr (n == 4)                                                                       \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 {%0, %1, %2, %3}, [%4+%5];" \
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])                               \
               : "r"(at), "n"(offset)                                                         \
               : "memory")

#define GEN5_STMATRIX(TRANS)                                                                                          \
  if constexpr (n == 1)                                                                                               \
    asm volatile("stmatrix.sync.aligned.m8n8.x1" TRANS ".shared.b16 [%0+%1], {%2};" ::"r"(at), "n"(offset), "r"(v[0]) \
                 : "memory");                                                                                         \
  if constexpr (n == 2)                                                                                               \
    asm volatile("stmatrix.sync.aligned.m8n8.x2" TRANS ".shared.b16 [%0+%1], {%2, %3};" ::"r"(at), "n"(offset),       \
                 "r"(v[0]), "r"(v[1])                                                                                 \
                 : "memory");                                                                                         \
  if constexpr (n == 4)                                                                                               \
  asm volatile("stmatrix.sync.aligned.m8n8.x4" TRANS ".shared.b16 [%0+%1], {%2, %3, %4, %5};" ::"r"(at), "n"(offset), \
               "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3])                                                             \
               : "memory")

template <int n, bool trans, int offset = 0>
__device__ __forceinline__ void load(uint32_t at, uint32_t (&r)[n]) {
  if constexpr (trans) {
    GEN5_LDMATRIX(".trans");
  } else {
    GEN5_LDMATRIX("");
  }
}
template <int n, bool trans, int offset = 0>
__device__ __forceinline__ void store(uint32_t at, const uint32_t (&v)[n]) {
  if constexpr (trans) {
    GEN5_STMATRIX(".trans");
  } else {
    GEN5_STMATRIX("");
  }
}

// ---- Latency: each thread's row address is what the load before brought it

template <int n, bool trans, bool stores, int count>
__global__ void chained(long long* cycles) {
  __shared__ alignas(128) uint32_t matrices[n * 32];
  // Threads 8 n and above name no row; those of the first 8 n name row threadIdx.x.
  uint32_t at = shared_address(matrices) + threadIdx.x % (8 * n) * 16;
  uint32_t r[n];
#pragma unroll
  for (uint32_t& word : r) word = at;
  store<n, trans>(at, r);  // the first matrix gives every thread its own row's address back
  __syncwarp();
  timed<count>(cycles, at, [&](int) {
    if constexpr (stores) store<n, trans>(at, r);
    load<n, trans>(at, r);
    at = r[0];
  });
}

template <int n, bool trans, bool stores>
void latency(benchmark::State& state) {
  for (auto _ : state) {
    const auto few = measured(1, [](long long* c) { chained<n, trans, stores, 32><<<1, 32>>>(c); });
    const auto many = measured(1, [](long long* c) { chained<n, trans, stores, 64><<<1, 32>>>(c); });
    report(state, double(many[0] - few[0]) / 32);
  }
}
BENCHMARK(latency<1, false, false>)->Name("latency/x1")->Apply(by_cycles);
BENCHMARK(latency<2, false, false>)->Name("latency/x2")->Apply(by_cycles);
BENCHMARK(latency<4, false, false>)->Name("latency/x4")->Apply(by_cycles);
BENCHMARK(latency<4, true, false>)->Name("latency/x4_trans")->Apply(by_cycles);
BENCHMARK(latency<1, false, true>)->Name("store_to_load/x1")->Apply(by_cycles);
BENCHMARK(latency<4, false, true>)->Name("store_to_load/x4")->Apply(by_cycles);

// ---- What the port charges: independent instructions of 16 warps

template <int n, bool trans, int... number>
__device__ __forceinline__ void load_batch(uint32_t at, uint32_t (&r)[kBatch][n],
                                           std::integer_sequence<int, number...>) {
  (load<n, trans, number * 128>(at, r[number]), ...);
}
template <int n, bool trans, int... number>
__device__ __forceinline__ void store_batch(uint32_t at, const uint32_t (&v)[n],
                                            std::integer_sequence<int, number...>) {
  (store<n, trans, number * 128>(at, v), ...);
}
/// Uses all words of a batch, two with an FMA.
template <int n>
__device__ __forceinline__ void fold(const uint32_t (&r)[kBatch][n], float& sum) {
#pragma unroll
  for (int i = 0; i < kBatch * n; i += 2)
    asm volatile("fma.rn.f32 %0, %1, %2, %0;"
                 : "+f"(sum)
                 : "f"(__uint_as_float(r[i / n][i % n])), "f"(__uint_as_float(r[(i + 1) / n][(i + 1) % n])));
}

/// Row r of the matrices lies at r * pitch; with `swizzle` its 16-byte chunk is moved as a 128-byte swizzle does.
template <int n, bool trans, bool stores, int batches>
__global__ void moves(uint32_t pitch, bool swizzle, long long* cycles) {
  __shared__ alignas(1024) float words[kBytes / 4];
  for (uint32_t i = threadIdx.x; i < kBytes / 4; i += blockDim.x) words[i] = 0;
  __syncthreads();
  const uint32_t row = threadIdx.x % 32;
  const uint32_t first = shared_address(words) + row * pitch + (swizzle ? row % 8 * 16 : 0);
  float sum = 0;
  uint32_t value[n];
  [[maybe_unused]] uint32_t r[2][kBatch][n];
  load<n, trans>(first, value);  // so that nobody knows what the stores write
  timed<batches>(cycles, reinterpret_cast<uint32_t&>(sum), [&](int b) {
    constexpr std::make_integer_sequence<int, kBatch> numbers;
    const uint32_t at = first + uint32_t(b) * kBatch * 128;
    if constexpr (stores) {
      store_batch<n, trans>(at, value, numbers);
    } else {
      // The words of one batch are used while those of the next are under way.
      load_batch<n, trans>(at, r[b % 2], numbers);
      if (b > 0) fold<n>(r[(b + 1) % 2], sum);
      if (b == batches - 1) fold<n>(r[b % 2], sum);
    }
  });
}

template <int n, bool trans, bool stores>
void port(benchmark::State& state) {
  const uint32_t pitch = uint32_t(state.range(0));
  const bool swizzle = state.range(1);
  for (auto _ : state) {
    const auto few =
        measured(1, [&](long long* c) { moves<n, trans, stores, kFew><<<1, kWarps * 32>>>(pitch, swizzle, c); });
    const auto many =
        measured(1, [&](long long* c) { moves<n, trans, stores, kMany><<<1, kWarps * 32>>>(pitch, swizzle, c); });
    report(state, double(many[0] - few[0]) / (kWarps * kBatch * (kMany - kFew)));
  }
}
// Rows one behind the other, all in the same banks, with a padded pitch, swizzled, and two to a bank.
void layouts(benchmark::internal::Benchmark* b) {
  by_cycles(b);
  b->ArgNames({"pitch", "swizzle"})->Args({16, 0})->Args({128, 0})->Args({144, 0})->Args({128, 1})->Args({32, 0});
}
BENCHMARK(port<1, false, false>)->Name("ldmatrix_x1")->Apply(layouts);
BENCHMARK(port<2, false, false>)->Name("ldmatrix_x2")->Apply(layouts);
BENCHMARK(port<4, false, false>)->Name("ldmatrix_x4")->Apply(layouts);
BENCHMARK(port<1, true, false>)->Name("ldmatrix_x1_trans")->Apply(layouts);
BENCHMARK(port<2, true, false>)->Name("ldmatrix_x2_trans")->Apply(layouts);
BENCHMARK(port<4, true, false>)->Name("ldmatrix_x4_trans")->Apply(layouts);
BENCHMARK(port<1, false, true>)->Name("stmatrix_x1")->Apply(layouts);
BENCHMARK(port<2, false, true>)->Name("stmatrix_x2")->Apply(layouts);
BENCHMARK(port<4, false, true>)->Name("stmatrix_x4")->Apply(layouts);
BENCHMARK(port<1, true, true>)->Name("stmatrix_x1_trans")->Apply(layouts);
BENCHMARK(port<2, true, true>)->Name("stmatrix_x2_trans")->Apply(layouts);
BENCHMARK(port<4, true, true>)->Name("stmatrix_x4_trans")->Apply(layouts);

}  // namespace

BENCHMARK_MAIN();
