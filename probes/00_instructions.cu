// Probe 00: instructions of the ordinary cores. Latency of each from one to the next that needs its result, and how
// many cycles of an SM a warp's instruction takes among many; sequences that ptxas makes of a division or a function
// too.
//
//   probe_00_instructions [--benchmark_format=json]
#include "probes/probe.h"

namespace {

using namespace gen5::probe;

constexpr int kFew = 4, kMany = 20;  // rounds of a loop
constexpr int kSteps = 16;           // in its body, of each chain
constexpr int kApart = 4;            // chains of a warp that need nothing of each other
constexpr int kWarps = 16;

// A step is a function object: x becomes something that depends on x. y and z are parameters of the kernel.
#define GEN5_STEP(name, type, ...)                               \
  struct name {                                                  \
    using T = type;                                              \
    __device__ static void step(T& x, T y, T z) { __VA_ARGS__; } \
  };
// Two of a kind would become one: ptxas adds constants up.
GEN5_STEP(add_xor_u32, uint32_t, asm volatile("add.u32 %0, %0, %1; xor.b32 %0, %0, %2;" : "+r"(x) : "r"(y), "r"(z)))
GEN5_STEP(mad_u32, uint32_t, asm volatile("mad.lo.u32 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z)))
GEN5_STEP(mul_hi_u32, uint32_t, asm volatile("mul.hi.u32 %0, %0, %1;" : "+r"(x) : "r"(y)))
GEN5_STEP(mad_wide_u32, uint64_t, asm volatile("mad.wide.u32 %0, %1, %1, %0;" : "+l"(x) : "r"(uint32_t(y))))
GEN5_STEP(shift_b32, uint32_t, asm volatile("shf.l.wrap.b32 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z)))
GEN5_STEP(prmt_b32, uint32_t, asm volatile("prmt.b32 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z)))
GEN5_STEP(max_shift_s32, uint32_t, asm volatile("max.s32 %0, %0, %1; shl.b32 %0, %0, %2;" : "+r"(x) : "r"(y), "r"(z)))
GEN5_STEP(select_b32, uint32_t,
          asm volatile("{.reg .pred p; setp.gt.u32 p, %0, %1; selp.b32 %0, %1, %2, p;}"
                       : "+r"(x)
                       : "r"(y), "r"(z)))
GEN5_STEP(popc_b32, uint32_t, asm volatile("popc.b32 %0, %0;" : "+r"(x)))
GEN5_STEP(clz_b32, uint32_t, asm volatile("clz.b32 %0, %0;" : "+r"(x)))
GEN5_STEP(add_u64, uint64_t, asm volatile("add.u64 %0, %0, %1;" : "+l"(x) : "l"(y)))
GEN5_STEP(mul_u64, uint64_t, asm volatile("mul.lo.u64 %0, %0, %1;" : "+l"(x) : "l"(y)))
GEN5_STEP(shift_u64, uint64_t, asm volatile("shr.u64 %0, %0, %1;" : "+l"(x) : "r"(uint32_t(y))))
GEN5_STEP(fma_f32, float, asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x) : "f"(y), "f"(z)))
GEN5_STEP(add_f32, float, asm volatile("add.f32 %0, %0, %1;" : "+f"(x) : "f"(y)))
GEN5_STEP(max_add_f32, float, asm volatile("max.f32 %0, %0, %1; add.f32 %0, %0, %2;" : "+f"(x) : "f"(y), "f"(z)))
GEN5_STEP(fma_f16x2, uint32_t, asm volatile("fma.rn.f16x2 %0, %0, %1, %2;" : "+r"(x) : "r"(y), "r"(z)))
GEN5_STEP(fma_f64, double, asm volatile("fma.rn.f64 %0, %0, %1, %2;" : "+d"(x) : "d"(y), "d"(z)))
GEN5_STEP(add_f64, double, asm volatile("add.f64 %0, %0, %1;" : "+d"(x) : "d"(y)))
GEN5_STEP(convert_s32_f32, uint32_t, asm volatile("{.reg .f32 f; cvt.rn.f32.s32 f, %0; mov.b32 %0, f;}" : "+r"(x)))
GEN5_STEP(convert_f16_f32, uint32_t,
          asm volatile("{.reg .b16 h; .reg .f32 f; mov.b32 f, %0; cvt.rn.f16.f32 h, f; cvt.u32.u16 %0, h;}"
                       : "+r"(x)))
GEN5_STEP(pack_bf16x2, uint32_t, asm volatile("{.reg .f32 f; mov.b32 f, %0; cvt.rn.bf16x2.f32 %0, f, f;}" : "+r"(x)))
GEN5_STEP(ex2_f32, float, asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x)))
GEN5_STEP(rcp_add_f32, float, asm volatile("rcp.approx.ftz.f32 %0, %0; add.f32 %0, %0, %1;" : "+f"(x) : "f"(y)))
GEN5_STEP(rsqrt_f32, float, asm volatile("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(x)))
GEN5_STEP(sin_f32, float, asm volatile("sin.approx.ftz.f32 %0, %0;" : "+f"(x)))
GEN5_STEP(shuffle_b32, uint32_t, x = __shfl_xor_sync(0xffffffff, x, 1))
GEN5_STEP(vote_b32, uint32_t, x = __ballot_sync(0xffffffff, x & 1))
GEN5_STEP(reduce_u32, uint32_t, x = __reduce_add_sync(0xffffffff, x))
// What ptxas makes sequences of.
GEN5_STEP(div_u32, uint32_t, asm volatile("div.u32 %0, %1, %0;" : "+r"(x) : "r"(y)))
GEN5_STEP(rem_u32, uint32_t, asm volatile("rem.u32 %0, %1, %0; or.b32 %0, %0, 1;" : "+r"(x) : "r"(y)))
GEN5_STEP(div_u64, uint64_t, asm volatile("div.u64 %0, %1, %0;" : "+l"(x) : "l"(y)))
GEN5_STEP(div_f32, float, asm volatile("div.rn.f32 %0, %1, %0;" : "+f"(x) : "f"(y)))
GEN5_STEP(div_approx_f32, float, asm volatile("div.approx.f32 %0, %1, %0;" : "+f"(x) : "f"(y)))
GEN5_STEP(sqrt_f32, float, asm volatile("sqrt.rn.f32 %0, %0;" : "+f"(x)))
GEN5_STEP(div_f64, double, asm volatile("div.rn.f64 %0, %1, %0;" : "+d"(x) : "d"(y)))
GEN5_STEP(sqrt_f64, double, asm volatile("sqrt.rn.f64 %0, %0;" : "+d"(x)))

template <class T>
__device__ inline uint32_t folded(T v) {
  uint64_t bits = 0;
  memcpy(&bits, &v, sizeof v);
  return uint32_t(bits) ^ uint32_t(bits >> 32);
}

template <class Step, int chains, int n>
__global__ void steps(typename Step::T y, typename Step::T z, long long* cycles) {
  typename Step::T x[chains];
#pragma unroll
  for (int c = 0; c < chains; ++c) x[c] = y + typename Step::T(threadIdx.x + c);
  uint32_t result = 0;
#pragma unroll 1
  for (int round = 0; round < 2; ++round) {
    __syncthreads();
    const long long t0 = ticks();
#pragma unroll 1
    for (int r = 0; r < n; ++r)
#pragma unroll
      for (int i = 0; i < kSteps; ++i)
#pragma unroll
        for (int c = 0; c < chains; ++c) Step::step(x[c], y, z);
#pragma unroll
    for (int c = 0; c < chains; ++c) result ^= folded(x[c]);
    wait_for_value(result);
    __syncthreads();
    if (threadIdx.x == 0) cycles[0] = ticks() - t0;
  }
}

template <class Step>
void latency(benchmark::State& state) {
  using T = typename Step::T;
  for (auto _ : state) {
    const auto few = measured(1, [](long long* c) { steps<Step, 1, kFew><<<1, 32>>>(T(3), T(5), c); });
    const auto many = measured(1, [](long long* c) { steps<Step, 1, kMany><<<1, 32>>>(T(3), T(5), c); });
    report(state, double(many[0] - few[0]) / ((kMany - kFew) * kSteps));
  }
}
template <class Step>
void interval(benchmark::State& state) {
  using T = typename Step::T;
  for (auto _ : state) {
    const auto few = measured(1, [](long long* c) { steps<Step, kApart, kFew><<<1, 32 * kWarps>>>(T(3), T(5), c); });
    const auto many = measured(1, [](long long* c) { steps<Step, kApart, kMany><<<1, 32 * kWarps>>>(T(3), T(5), c); });
    report(state, double(many[0] - few[0]) / ((kMany - kFew) * kSteps * kApart * (kWarps / 4)));
  }
}
// interval: cycles of a sub-partition for a warp's instruction.
#define GEN5_BOTH(name)                                               \
  BENCHMARK(latency<name>)->Name("latency/" #name)->Apply(by_cycles); \
  BENCHMARK(interval<name>)->Name("interval/" #name)->Apply(by_cycles);
GEN5_BOTH(add_xor_u32)
GEN5_BOTH(mad_u32)
GEN5_BOTH(mul_hi_u32)
GEN5_BOTH(mad_wide_u32)
GEN5_BOTH(shift_b32)
GEN5_BOTH(prmt_b32)
GEN5_BOTH(max_shift_s32)
GEN5_BOTH(select_b32)
GEN5_BOTH(popc_b32)
GEN5_BOTH(clz_b32)
GEN5_BOTH(add_u64)
GEN5_BOTH(mul_u64)
GEN5_BOTH(shift_u64)
GEN5_BOTH(fma_f32)
GEN5_BOTH(add_f32)
GEN5_BOTH(max_add_f32)
GEN5_BOTH(fma_f16x2)
GEN5_BOTH(fma_f64)
GEN5_BOTH(add_f64)
GEN5_BOTH(convert_s32_f32)
GEN5_BOTH(convert_f16_f32)
GEN5_BOTH(pack_bf16x2)
GEN5_BOTH(ex2_f32)
GEN5_BOTH(rcp_add_f32)
GEN5_BOTH(rsqrt_f32)
GEN5_BOTH(sin_f32)
GEN5_BOTH(shuffle_b32)
GEN5_BOTH(vote_b32)
GEN5_BOTH(reduce_u32)
GEN5_BOTH(div_u32)
GEN5_BOTH(rem_u32)
GEN5_BOTH(div_u64)
GEN5_BOTH(div_f32)
GEN5_BOTH(div_approx_f32)
GEN5_BOTH(sqrt_f32)
GEN5_BOTH(div_f64)
GEN5_BOTH(sqrt_f64)

}  // namespace

BENCHMARK_MAIN();
