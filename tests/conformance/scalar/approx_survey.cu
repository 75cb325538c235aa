// Largest error of the f32 approximations on this GPU over all 2^32 operands, in ulp of the correctly rounded result
// (f64 library function, rounded once), and how many operands differ from it at all:
//   nvcc -O2 -gencode arch=compute_90a,code=sm_90a approx_survey.cu && ./a.out
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

__device__ int64_t ordered(float x) {
  const int32_t i = __float_as_int(x);
  return i < 0 ? -int64_t(i & 0x7fffffff) : i;
}

// A function, what the GPU makes of it, and the exact value (from f64, unless it needs the f32 operand itself).
#define FUNCTION(Name, instruction, operand, value)              \
  struct Name {                                                  \
    static __device__ float approx(float x) {                    \
      float r;                                                   \
      asm(instruction ".approx.f32 %0, %1;" : "=f"(r) : "f"(x)); \
      return r;                                                  \
    }                                                            \
    static __device__ double exact(operand x) { return value; }  \
  }
FUNCTION(Ex2, "ex2", double, exp2(x));
FUNCTION(Lg2, "lg2", double, log2(x));
FUNCTION(Rcp, "rcp", double, 1 / x);
FUNCTION(Rsqrt, "rsqrt", double, 1 / sqrt(x));
FUNCTION(Sqrt, "sqrt", double, sqrt(x));
FUNCTION(Sin, "sin", double, sin(x));
FUNCTION(Cos, "cos", double, cos(x));
FUNCTION(Tanh, "tanh", double, tanh(x));

/// sin and cos against the fixed-point phase that common/tinygpu/isa/approx.cpp describes.
__device__ double phase_sine(float x, bool cosine) {
  const float turns = __fmul_rz(x, 0x1.45f306p-3f);
  const double magnitude = fabs(double(turns));
  const uint32_t phase = uint32_t((magnitude - floor(magnitude)) * (1 << 25)) + (cosine ? 1u << 23 : 0);
  const uint32_t quarter = (1u << 23) - 1, within = phase & quarter;
  const double r = sin(double(phase >> 23 & 1 ? quarter - within : within) * (6.283185307179586 / (1 << 25)));
  return (phase >> 24 & 1) != (!cosine && x < 0) ? -r : r;
}
FUNCTION(SinPhase, "sin", float, isinf(x) || isnan(x) ? NAN : phase_sine(x, false));
FUNCTION(CosPhase, "cos", float, isinf(x) || isnan(x) ? NAN : phase_sine(x, true));

struct Worst {
  unsigned long long ulp, ulp_at, differ, count, absolute_bits, special;
};

/// Only |x| from `least` to `limit`. Both NaN counts as equal; one NaN or one infinity alone counts as special.
template <class F>
__global__ void survey(Worst* w, float least, float limit) {
  unsigned long long worst = 0, at = 0, differ = 0, count = 0, special = 0;
  double absolute = 0;
  for (uint64_t i = blockIdx.x * blockDim.x + threadIdx.x; i < (1ull << 32); i += uint64_t(gridDim.x) * blockDim.x) {
    const float x = __uint_as_float(uint32_t(i));
    if (fabsf(x) > limit || fabsf(x) < least) continue;
    const float a = F::approx(x), e = float(F::exact(x));
    ++count;
    if (a != a && e != e) continue;
    if (a != a || e != e || isinf(a) != isinf(e)) {
      ++special;
      continue;
    }
    const long long u = ordered(a) - ordered(e);
    const unsigned long long m = u < 0 ? -u : u;
    differ += m != 0;
    if (m > worst) worst = m, at = i;
    if (!isinf(a)) absolute = fmax(absolute, fabs(double(a) - double(e)));
  }
  if (atomicMax(&w->ulp, worst) < worst) w->ulp_at = at;
  atomicAdd(&w->differ, differ);
  atomicAdd(&w->count, count);
  atomicAdd(&w->special, special);
  atomicMax(&w->absolute_bits, (unsigned long long)__double_as_longlong(absolute));
}

template <class F>
void run(const char* name, float limit, float least = 0) {
  Worst* w;
  cudaMalloc(&w, sizeof *w);
  cudaMemset(w, 0, sizeof *w);
  survey<F><<<132 * 8, 256>>>(w, least, limit);
  Worst h;
  const cudaError_t e = cudaMemcpy(&h, w, sizeof h, cudaMemcpyDeviceToHost);
  double absolute;
  std::memcpy(&absolute, &h.absolute_bits, 8);
  std::printf(
      "%-18s %g <= |x| <= %-10g operands %llu differ %llu largest %llu ulp (at 0x%08llx) absolute %.3g NaN/inf alone "
      "%llu%s\n",
      name, least, limit, h.count, h.differ, h.ulp, h.ulp_at, absolute, h.special, e ? cudaGetErrorString(e) : "");
  cudaFree(w);
}

int main() {
  const float all = INFINITY;
  run<Ex2>("ex2.approx.f32", all);
  run<Lg2>("lg2.approx.f32", all);
  run<Lg2>("lg2.approx.f32", 0.5f);
  run<Lg2>("lg2.approx.f32", 2.0f, 0.5f);
  run<Lg2>("lg2.approx.f32", all, 2.0f);
  run<Rcp>("rcp.approx.f32", all);
  run<Rsqrt>("rsqrt.approx.f32", all);
  run<Sqrt>("sqrt.approx.f32", all);
  run<Tanh>("tanh.approx.f32", all);
  run<Sin>("sin.approx.f32", 3.14159265f);
  run<Cos>("cos.approx.f32", 3.14159265f);
  run<Sin>("sin.approx.f32", 100.0f);
  run<Cos>("cos.approx.f32", 100.0f);
  run<Sin>("sin.approx.f32", all);
  run<Cos>("cos.approx.f32", all);
  run<SinPhase>("sin, phase model", all);
  run<CosPhase>("cos, phase model", all);
}
