// Probe 00: where instructions come from. Straight code of many lengths, by warps that run through it once and again:
// in the SM's cache, in the one behind it, or in neither. Jumps over code that nobody runs. Loops of many lengths: what
// a taken branch costs.
//
//   probe_00_fetch [--benchmark_format=json]
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

// An instruction a line, 16 bytes of machine code each. A warp of a sub-partition issues one every cycle.
#define GEN5_FMA(i) "fma.rn.f32 %" #i ", %" #i ", %8, %9;\n\t"
#define GEN5_CODE_4 GEN5_FMA(0) GEN5_FMA(1) GEN5_FMA(2) GEN5_FMA(3)
#define GEN5_CODE_8 GEN5_FMA(0) GEN5_FMA(1) GEN5_FMA(2) GEN5_FMA(3) GEN5_FMA(4) GEN5_FMA(5) GEN5_FMA(6) GEN5_FMA(7)
#define GEN5_TWICE(code) code code
#define GEN5_CODE_16 GEN5_TWICE(GEN5_CODE_8)
#define GEN5_CODE_32 GEN5_TWICE(GEN5_CODE_16)
#define GEN5_CODE_64 GEN5_TWICE(GEN5_CODE_32)
#define GEN5_CODE_128 GEN5_TWICE(GEN5_CODE_64)
#define GEN5_CODE_256 GEN5_TWICE(GEN5_CODE_128)
#define GEN5_CODE_512 GEN5_TWICE(GEN5_CODE_256)
#define GEN5_CODE_1024 GEN5_TWICE(GEN5_CODE_512)
#define GEN5_CODE_2048 GEN5_TWICE(GEN5_CODE_1024)
#define GEN5_CODE_4096 GEN5_TWICE(GEN5_CODE_2048)
#define GEN5_RUN(code)                                                                                          \
  asm volatile(code                                                                                             \
               : "+f"(x[0]), "+f"(x[1]), "+f"(x[2]), "+f"(x[3]), "+f"(x[4]), "+f"(x[5]), "+f"(x[6]), "+f"(x[7]) \
               : "f"(y), "f"(z))

template <int instructions>
__device__ __forceinline__ void straight(float (&x)[8], float y, float z) {
  if constexpr (instructions == 4) GEN5_RUN(GEN5_CODE_4);
  if constexpr (instructions == 8) GEN5_RUN(GEN5_CODE_8);
  if constexpr (instructions == 12) GEN5_RUN(GEN5_CODE_8 GEN5_CODE_4);
  if constexpr (instructions == 16) GEN5_RUN(GEN5_CODE_16);
  if constexpr (instructions == 20) GEN5_RUN(GEN5_CODE_16 GEN5_CODE_4);
  if constexpr (instructions == 24) GEN5_RUN(GEN5_CODE_16 GEN5_CODE_8);
  if constexpr (instructions == 28) GEN5_RUN(GEN5_CODE_16 GEN5_CODE_8 GEN5_CODE_4);
  if constexpr (instructions == 32) GEN5_RUN(GEN5_CODE_32);
  if constexpr (instructions == 64) GEN5_RUN(GEN5_CODE_64);
  if constexpr (instructions == 48) GEN5_RUN(GEN5_CODE_32 GEN5_CODE_16);
  if constexpr (instructions == 96) GEN5_RUN(GEN5_CODE_64 GEN5_CODE_32);
  if constexpr (instructions == 128) GEN5_RUN(GEN5_CODE_128);
  if constexpr (instructions == 192) GEN5_RUN(GEN5_CODE_128 GEN5_CODE_64);
  if constexpr (instructions == 256) GEN5_RUN(GEN5_CODE_256);
  if constexpr (instructions == 320) GEN5_RUN(GEN5_CODE_256 GEN5_CODE_64);
  if constexpr (instructions == 384) GEN5_RUN(GEN5_CODE_256 GEN5_CODE_128);
  if constexpr (instructions == 448) GEN5_RUN(GEN5_CODE_256 GEN5_CODE_128 GEN5_CODE_64);
  if constexpr (instructions == 512) GEN5_RUN(GEN5_CODE_512);
  if constexpr (instructions == 1024) GEN5_RUN(GEN5_CODE_1024);
  if constexpr (instructions == 1536) GEN5_RUN(GEN5_CODE_1024 GEN5_CODE_512);
  if constexpr (instructions == 2240) GEN5_RUN(GEN5_CODE_2048 GEN5_CODE_128 GEN5_CODE_64);
  if constexpr (instructions == 3072) GEN5_RUN(GEN5_CODE_2048 GEN5_CODE_1024);
  if constexpr (instructions == 4096) GEN5_RUN(GEN5_CODE_4096);
}

// 32 jumps, each over code that is never run; three instructions behind each.
#define GEN5_JUMP(over) "{\n\t@there bra LANDING;\n\t" over "LANDING:\n\t}\n\t" GEN5_FMA(0) GEN5_FMA(1) GEN5_FMA(2)
#define GEN5_JUMPS(over)                                                          \
  GEN5_RUN("{\n\t.reg .pred there;\n\tsetp.ne.f32 there, %8, %9;\n\t" GEN5_TWICE( \
      GEN5_TWICE(GEN5_TWICE(GEN5_TWICE(GEN5_TWICE(GEN5_JUMP(over)))))) "}\n\t")
#define GEN5_HOP(over) \
  GEN5_RUN("{\n\t.reg .pred there;\n\tsetp.ne.f32 there, %8, %9;\n\t" GEN5_TWICE(GEN5_TWICE(GEN5_JUMP(over))) "}\n\t")
constexpr int kJumps = 32;

template <int over>
__device__ __forceinline__ void jumps(float (&x)[8], float y, float z) {
  if constexpr (over == 8) GEN5_JUMPS(GEN5_CODE_8);
  if constexpr (over == 32) GEN5_JUMPS(GEN5_CODE_32);
  if constexpr (over == 64) GEN5_JUMPS(GEN5_CODE_64);
  if constexpr (over == 128) GEN5_JUMPS(GEN5_CODE_128);
}

/// The same with four jumps: in a loop.
template <int over>
__device__ __forceinline__ void hops(float (&x)[8], float y, float z) {
  if constexpr (over == 8) GEN5_HOP(GEN5_CODE_8);
  if constexpr (over == 16) GEN5_HOP(GEN5_CODE_16);
  if constexpr (over == 64) GEN5_HOP(GEN5_CODE_64);
  if constexpr (over == 256) GEN5_HOP(GEN5_CODE_256);
}

enum class Shape { straight, jumps };

/// A CTA's warps run through the same code `passes` times. Each pass leaves its first and its last clock of each warp.
template <Shape shape, int n>
__global__ void passes(long long* cycles, float y, float z, int passes) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = y + float(threadIdx.x) + float(i);
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass) {
    __syncthreads();
    const long long t0 = ticks();
    if constexpr (shape == Shape::straight) straight<n>(x, y, z);
    if constexpr (shape == Shape::jumps) jumps<n>(x, y, z);
    const long long t1 = ticks();
    if (threadIdx.x % 32 == 0) {
      long long* mine =
          cycles + ((blockIdx.x * blockDim.x / 32 + threadIdx.x / 32) * uint32_t(passes) + uint32_t(pass)) * 2;
      mine[0] = t0, mine[1] = t1;
    }
  }
  float sum = 0;
  for (float v : x) sum += v;
  wait_for_value(__float_as_uint(sum));
}

int sms() { return gen5::harness::current_device().sms; }

/// Twice as much code as an SM's cache holds, on every SM.
void evict() {
  measured(size_t(sms()) * 2, [](long long* c) { passes<Shape::straight, 4096><<<sms(), 32>>>(c, 3, 5, 1); });
}

constexpr int kPasses = 3;

/// From the first warp's begin to the last one's end, the median CTA, in pass 0 of a launch whose code the SM's cache
/// does not have, or in its last pass.
template <Shape shape, int n>
void pass(benchmark::State& state) {
  const int warps = int(state.range(0)), ctas = state.range(1) > 1 ? sms() : 1;
  const size_t wanted = state.range(2) ? kPasses - 1 : 0, each = size_t(warps) * kPasses * 2;
  for (auto _ : state) {
    evict();
    const auto clocks =
        measured(each * size_t(ctas), [&](long long* c) { passes<shape, n><<<ctas, warps * 32>>>(c, 3, 5, kPasses); });
    std::vector<long long> took;
    for (size_t cta = 0; cta < size_t(ctas); ++cta) {
      long long begin = clocks[cta * each + wanted * 2], end = 0;
      for (size_t warp = 0; warp < size_t(warps); ++warp) {
        const size_t at = cta * each + (warp * kPasses + wanted) * 2;
        begin = std::min(begin, clocks[at]), end = std::max(end, clocks[at + 1]);
      }
      took.push_back(end - begin);
    }
    std::nth_element(took.begin(), took.begin() + ctas / 2, took.end());
    report(state, double(took[size_t(ctas / 2)]) / (shape == Shape::jumps ? kJumps : 1));
  }
}
void warps_ctas_passes(benchmark::internal::Benchmark* b) {
  b->ArgNames({"warps", "ctas", "warm"});
  for (int64_t warm : {0, 1}) b->Args({1, 1, warm})->Args({4, 1, warm})->Args({4, 132, warm});
  by_cycles(b);
}
#define GEN5_STRAIGHT(n) \
  BENCHMARK(pass<Shape::straight, n>)->Name("straight/instructions:" #n)->Apply(warps_ctas_passes);
GEN5_STRAIGHT(64)
GEN5_STRAIGHT(256)
GEN5_STRAIGHT(512)
GEN5_STRAIGHT(1024)
GEN5_STRAIGHT(1536)
GEN5_STRAIGHT(2240)
GEN5_STRAIGHT(3072)
GEN5_STRAIGHT(4096)
#define GEN5_OVER(n) BENCHMARK(pass<Shape::jumps, n>)->Name("jump/over:" #n)->Apply(warps_ctas_passes);
GEN5_OVER(8)
GEN5_OVER(32)
GEN5_OVER(64)
GEN5_OVER(128)

// ---- Loops

enum class Body { straight, hops };

/// Cycles from one turn of a loop to the next. Its branch and the count are three instructions more.
template <Body body, int n>
__global__ void turns(long long* cycles, float y, float z, int turns) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = y + float(threadIdx.x) + float(i);
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    const long long t0 = ticks();
#pragma unroll 1
    for (int i = 0; i < turns; ++i) {
      if constexpr (body == Body::straight) straight<n>(x, y, z);
      if constexpr (body == Body::hops) hops<n>(x, y, z);
    }
    __syncthreads();
    const long long t1 = ticks();
    if (threadIdx.x == 0) cycles[0] = t1 - t0;
  }
  float sum = 0;
  for (float v : x) sum += v;
  wait_for_value(__float_as_uint(sum));
}
template <Body body, int n>
void turn(benchmark::State& state) {
  const int threads = int(state.range(0)) * 32;
  constexpr int kFew = 8, kMany = 40;
  for (auto _ : state) {
    const auto few = measured(1, [&](long long* c) { turns<body, n><<<1, threads>>>(c, 3, 5, kFew); });
    const auto many = measured(1, [&](long long* c) { turns<body, n><<<1, threads>>>(c, 3, 5, kMany); });
    report(state, double(many[0] - few[0]) / (kMany - kFew));
  }
}
void many_warps(benchmark::internal::Benchmark* b) {
  b->ArgNames({"warps"})->Arg(1)->Arg(4)->Arg(8)->Arg(16)->Arg(32);
  by_cycles(b);
}
#define GEN5_TURN(n) BENCHMARK(turn<Body::straight, n>)->Name("turn/instructions:" #n)->Apply(many_warps);
GEN5_TURN(4)
GEN5_TURN(8)
GEN5_TURN(12)
GEN5_TURN(16)
GEN5_TURN(20)
GEN5_TURN(24)
GEN5_TURN(28)
GEN5_TURN(32)
GEN5_TURN(48)
GEN5_TURN(64)
GEN5_TURN(128)
GEN5_TURN(256)
GEN5_TURN(320)
GEN5_TURN(384)
GEN5_TURN(448)
GEN5_TURN(512)
GEN5_TURN(1536)
// The same with four jumps in it, each over code that is never run, and three instructions behind each.
#define GEN5_HOPS(n) BENCHMARK(turn<Body::hops, n>)->Name("hops/over:" #n)->Apply(many_warps);
GEN5_HOPS(8)
GEN5_HOPS(64)
GEN5_HOPS(256)

}  // namespace

BENCHMARK_MAIN();
