// Probe 05, Hopper and Blackwell: the main loop of a product by mma.sync, part by part. Each of a CTA's warps makes 64
// × 32 of a product: a round is two steps of k = 16, a step four ldmatrix of A, two of B and 16 mma.
//
//   probe_05_mma_sync [--benchmark_format=json]
//
// Cycles of the CTA for a round, by what is in it: mma alone, with other arithmetic between them, ldmatrix alone, both
// with nothing to do with each other, both as a product has them (B's registers in pairs as ldmatrix brings them, or
// across: then ptxas moves them), with a barrier a round, with cp.async that fills the next stage.
#include "common/ptx/address.h"
#include "probes/level.h"
#include "probes/probe.h"

namespace {

using namespace gen5::probe;
using namespace gen5::ptx;

constexpr int kFew = 8, kMany = 40;
constexpr uint32_t kPitch = 80, kOperand = 128 * kPitch, kStage = 2 * kOperand;

enum Part : uint32_t {
  kMma = 1,
  kLoad = 2,
  kFeed = 4,        // what ldmatrix brings is what mma multiplies
  kAcross = 8,      // B's two registers are not neighbours
  kBarrier = 16,    // a round
  kCopy = 32,       // four cp.async of 16 bytes a thread and round
  kWait = 64,       // for the copies of the round before, a round
  kByColumn = 128,  // B stays from one mma to the next, not A
};
enum class Between { nothing, alu, fma_heavy, fma };

__device__ __forceinline__ void multiply(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, "
      "%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}
__device__ __forceinline__ void load(uint32_t (&r)[4], uint32_t at) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"(at)
               : "memory");
}
__device__ __forceinline__ void copy(uint32_t to, const uint8_t* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}

template <Between between>
__device__ __forceinline__ void other(uint32_t& word, uint32_t with) {
  if constexpr (between == Between::alu) asm volatile("shf.l.wrap.b32 %0, %0, %1, 7;" : "+r"(word) : "r"(with));
  if constexpr (between == Between::fma_heavy) asm volatile("mad.lo.u32 %0, %0, %1, %1;" : "+r"(word) : "r"(with));
  if constexpr (between == Between::fma)
    asm volatile("fma.rn.f32 %0, %0, %1, %1;" : "+f"(reinterpret_cast<float&>(word)) : "f"(__uint_as_float(with)));
}

template <uint32_t parts, Between between, int each>
__global__ void __launch_bounds__(512) rounds(const uint8_t* memory, uint32_t n, long long* cycles, float* result) {
  extern __shared__ __align__(128) uint8_t shared[];
  const uint32_t base = kept(shared_address(shared)), warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (uint32_t i = threadIdx.x; i < 2 * kStage / 4; i += blockDim.x) reinterpret_cast<uint32_t*>(shared)[i] = 0;
  float sum[4][4][4] = {};
  __syncthreads();
  uint32_t a[4][4], b[2][4], words[8];
  if constexpr ((parts & kMma) != 0 && (parts & kFeed) == 0) {
#pragma unroll
    for (uint32_t i = 0; i < 4; ++i) load(a[i], base + i * 512 + lane * 16);
#pragma unroll
    for (uint32_t j = 0; j < 2; ++j) load(b[j], base + 2048 + j * 512 + lane * 16);
  }
#pragma unroll
  for (uint32_t i = 0; i < 8; ++i) words[i] = kept(lane + i);
  const uint32_t row = warp % 2 * 64, column = warp / 2 % 4 * 32;
  const uint32_t place = lane % 16 * kPitch + lane / 16 * 16;
  const uint32_t piece = threadIdx.x % 256;
  const uint8_t* from = memory + piece / 4 * 4096 + piece % 4 * 16;
#pragma unroll 1
  for (int pass = 0; pass < 2; ++pass) {
    __syncthreads();
    const long long t0 = ticks();
#pragma unroll 1
    for (uint32_t round = 0; round < n; ++round) {
      if constexpr (parts & kWait) asm volatile("cp.async.wait_group 0;" ::: "memory");
      if constexpr (parts & kBarrier) __syncthreads();
      if constexpr ((parts & kCopy) != 0) {
        const uint32_t to = base + (round + 1) % 2 * kStage + piece / 4 * kPitch + piece % 4 * 16;
        const uint8_t* at = from + round % 64 * 64;
#pragma unroll
        for (uint32_t i = 0; i < 2; ++i) {
          copy(to + i * 64 * kPitch, at + i * 64 * 4096);
          copy(to + kOperand + i * 64 * kPitch, at + (i + 2) * 64 * 4096);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
      }
      const uint32_t at = base + round % 2 * kStage + place;
#pragma unroll
      for (uint32_t step = 0; step < 2; ++step) {
        uint32_t fa[4][4], fb[2][4];
        if constexpr ((parts & kLoad) != 0) {
#pragma unroll
          for (uint32_t i = 0; i < 4; ++i) load(fa[i], at + (row + i * 16) * kPitch + step * 32);
#pragma unroll
          for (uint32_t j = 0; j < 2; ++j) load(fb[j], at + kOperand + (column + j * 16) * kPitch + step * 32);
        }
        if constexpr ((parts & kLoad) != 0 && (parts & kFeed) == 0) {
          // ptxas leaves out what nobody reads.
#pragma unroll
          for (uint32_t i = 0; i < 6; ++i) words[i] ^= i < 4 ? fa[i][0] : fb[i - 4][0];
        }
        if constexpr ((parts & kMma) != 0) {
#pragma unroll
          for (uint32_t m = 0; m < 16; ++m) {
            const uint32_t i = parts & kByColumn ? m % 4 : m / 4, j = parts & kByColumn ? m / 4 : m % 4;
            constexpr uint32_t second = parts & kAcross ? 2 : 1;
            const uint32_t first = parts & kAcross ? j % 2 : j % 2 * 2;
            if constexpr (parts & kFeed)
              multiply(sum[i][j], fa[i], fb[j / 2][first], fb[j / 2][first + second]);
            else
              multiply(sum[i][j], a[i], b[j / 2][first], b[j / 2][first + second]);
#pragma unroll
            for (int k = 0; k < each; ++k) other<between>(words[(m * each + k) % 8], lane);
          }
        }
      }
    }
    float all = 0;
#pragma unroll
    for (int i = 0; i < 64; ++i) all += sum[i / 16][i / 4 % 4][i % 4];
    uint32_t kept_words = 0;
#pragma unroll
    for (uint32_t w : words) kept_words ^= w;
    wait_for_value(__float_as_uint(all) ^ kept_words);
    __syncthreads();
    const long long t1 = ticks();
    if (threadIdx.x == 0) cycles[0] = t1 - t0;
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  float all = 0;
#pragma unroll
  for (int i = 0; i < 64; ++i) all += sum[i / 16][i / 4 % 4][i % 4];
  result[threadIdx.x] = all;
}

/// Cycles of a CTA for a round, the first of a kernel's two passes left out.
template <uint32_t parts, Between between = Between::nothing, int each = 0>
void round_of(benchmark::State& state) {
  const int warps = int(state.range(0));
  const auto kernel = rounds<parts, between, each>;
  GEN5_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(2 * kStage)));
  gen5::harness::DeviceBuffer<float> sums(512);
  for (auto _ : state) {
    const auto took = [&](uint32_t n) {
      return double(measured(
          1, [&](long long* c) { kernel<<<1, 32 * warps, 2 * kStage>>>(source_memory(), n, c, sums.get()); })[0]);
    };
    report(state, (took(kMany) - took(kFew)) / (kMany - kFew));
  }
}

void by_warps(benchmark::internal::Benchmark* b) { by_cycles(b->ArgNames({"warps"})->Arg(1)->Arg(4)->Arg(8)->Arg(16)); }

#define GEN5_ROUND(NAME, ...) BENCHMARK(round_of<__VA_ARGS__>)->Name("round/" NAME)->Apply(by_warps)
GEN5_ROUND("mma", kMma);
GEN5_ROUND("mma/by:column", kMma | kByColumn);
GEN5_ROUND("mma/across", kMma | kAcross);
GEN5_ROUND("mma/alu:1", kMma, Between::alu, 1);
GEN5_ROUND("mma/alu:2", kMma, Between::alu, 2);
GEN5_ROUND("mma/alu:4", kMma, Between::alu, 4);
GEN5_ROUND("mma/integer:1", kMma, Between::fma_heavy, 1);
GEN5_ROUND("mma/integer:2", kMma, Between::fma_heavy, 2);
GEN5_ROUND("mma/integer:4", kMma, Between::fma_heavy, 4);
GEN5_ROUND("mma/fma:2", kMma, Between::fma, 2);
GEN5_ROUND("mma/fma:4", kMma, Between::fma, 4);
GEN5_ROUND("load", kLoad);
GEN5_ROUND("load/barrier", kLoad | kBarrier);
GEN5_ROUND("product", kMma | kLoad | kFeed);
GEN5_ROUND("product/by:column", kMma | kLoad | kFeed | kByColumn);
GEN5_ROUND("product/barrier", kMma | kLoad | kFeed | kBarrier);
GEN5_ROUND("product/across", kMma | kLoad | kFeed | kAcross);
GEN5_ROUND("product/across/barrier", kMma | kLoad | kFeed | kAcross | kBarrier);
GEN5_ROUND("copy", kCopy);
GEN5_ROUND("copy/wait/barrier", kCopy | kWait | kBarrier);
GEN5_ROUND("copy/load", kCopy | kLoad);
GEN5_ROUND("copy/barrier", kCopy | kBarrier);
GEN5_ROUND("copy/load/barrier", kCopy | kLoad | kBarrier);
GEN5_ROUND("copy/load/wait/barrier", kCopy | kLoad | kWait | kBarrier);
GEN5_ROUND("copy/mma", kCopy | kMma);
GEN5_ROUND("copy/product/wait/barrier", kCopy | kMma | kLoad | kFeed | kWait | kBarrier);
GEN5_ROUND("copy/product/across/wait/barrier", kCopy | kMma | kLoad | kFeed | kAcross | kWait | kBarrier);

}  // namespace

BENCHMARK_MAIN();
