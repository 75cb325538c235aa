// Kernels bound by arithmetic on ordinary cores: a matrix product without tensor cores, bodies, polynomials, functions,
// divisions, integers, divergence.
#include "tests/prediction/cases.h"

namespace prediction {
namespace {

/// 64 × 64 of D a CTA, 4 × 4 a thread.
__global__ void __launch_bounds__(256) sgemm(const float* a, const float* b, float* d, uint32_t n, uint32_t k) {
  __shared__ float ta[16][64], tb[16][64];
  const uint32_t tx = threadIdx.x % 16, ty = threadIdx.x / 16, row = blockIdx.x * 64, column = blockIdx.y * 64;
  float sum[4][4] = {};
  for (uint32_t block = 0; block < k; block += 16) {
    for (uint32_t i = threadIdx.x; i < 1024; i += 256) {
      ta[i % 16][i / 16] = a[uint64_t(row + i / 16) * k + block + i % 16];
      tb[i % 16][i / 16] = b[uint64_t(column + i / 16) * k + block + i % 16];
    }
    __syncthreads();
#pragma unroll
    for (uint32_t i = 0; i < 16; ++i) {
      const float4 va = *reinterpret_cast<const float4*>(&ta[i][ty * 4]),
                   vb = *reinterpret_cast<const float4*>(&tb[i][tx * 4]);
      const float fa[4] = {va.x, va.y, va.z, va.w}, fb[4] = {vb.x, vb.y, vb.z, vb.w};
#pragma unroll
      for (int y = 0; y < 4; ++y)
#pragma unroll
        for (int x = 0; x < 4; ++x) sum[y][x] += fa[y] * fb[x];
    }
    __syncthreads();
  }
  for (int y = 0; y < 4; ++y)
    *reinterpret_cast<float4*>(d + uint64_t(row + ty * 4 + y) * n + column + tx * 4) =
        make_float4(sum[y][0], sum[y][1], sum[y][2], sum[y][3]);
}

__global__ void bodies(const float4* at, float4* force, uint32_t count) {
  __shared__ float4 tile[256];
  const float4 me = at[blockIdx.x * 256 + threadIdx.x];
  float3 sum = {};
  for (uint32_t j = 0; j < count; j += 256) {
    tile[threadIdx.x] = at[j + threadIdx.x];
    __syncthreads();
#pragma unroll 8
    for (uint32_t i = 0; i < 256; ++i) {
      const float x = tile[i].x - me.x, y = tile[i].y - me.y, z = tile[i].z - me.z;
      const float inverse = rsqrtf(x * x + y * y + z * z + 0.01f), w = tile[i].w * inverse * inverse * inverse;
      sum.x += x * w, sum.y += y * w, sum.z += z * w;
    }
    __syncthreads();
  }
  force[blockIdx.x * 256 + threadIdx.x] = make_float4(sum.x, sum.y, sum.z, 0);
}

__global__ void escape(uint32_t* out, uint32_t width, uint32_t most) {
  const uint32_t x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
  const float cr = -2 + 3.0f * float(x) / float(width), ci = -1.5f + 3.0f * float(y) / float(width);
  float r = 0, i = 0;
  uint32_t n = 0;
  while (n < most && r * r + i * i < 4) {
    const float t = r * r - i * i + cr;
    i = 2 * r * i + ci;
    r = t;
    ++n;
  }
  out[y * width + x] = n;
}

enum class Function { divide, root, sine, exponential, logarithm, polynomial, polynomial64 };

template <Function F>
__device__ inline float apply(float v) {
  if constexpr (F == Function::divide) return 1.5f / v + 0.25f;
  if constexpr (F == Function::root) return sqrtf(v) + 0.25f;
  if constexpr (F == Function::sine) return sinf(v) + 1.5f;
  if constexpr (F == Function::exponential) return expf(-v);
  if constexpr (F == Function::logarithm) return logf(v) + 2.0f;
  if constexpr (F == Function::polynomial) {
    float p = 0.1f;
#pragma unroll
    for (int i = 0; i < 8; ++i) p = fmaf(p, v, 0.05f * float(i));
    return p * 0.1f;
  }
  if constexpr (F == Function::polynomial64) {
    double p = 0.1;
#pragma unroll
    for (int i = 0; i < 8; ++i) p = fma(p, double(v), 0.05 * i);
    return float(p * 0.1);
  }
  return v;
}
template <Function F>
__global__ void functions(float* out, uint32_t steps) {
  const uint32_t t = blockIdx.x * blockDim.x + threadIdx.x;
  float v = 0.5f + float(t % 1000) * 0.001f;
  for (uint32_t i = 0; i < steps; ++i) v = apply<F>(v);
  out[t] = v;
}
__global__ void remainders(uint32_t* out, uint32_t steps, uint32_t divisor) {
  uint32_t v = blockIdx.x * blockDim.x + threadIdx.x + 1000;
  for (uint32_t i = 0; i < steps; ++i) v = v * 7 + v / divisor + v % (divisor + i);
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
/// A hash of 64-bit words: multiplications, shifts, exclusive or.
__global__ void hashes(uint64_t* out, uint32_t steps) {
  uint64_t v = blockIdx.x * blockDim.x + threadIdx.x;
  for (uint32_t i = 0; i < steps; ++i) {
    v ^= v >> 33, v *= 0xff51afd7ed558ccdull, v ^= v >> 29, v *= 0xc4ceb9fe1a85ec53ull;
    v += i;
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
/// Popcounts, shifts and logic on words that a thread keeps.
__global__ void bits(uint32_t* out, uint32_t steps) {
  uint32_t a = blockIdx.x * blockDim.x + threadIdx.x, b = a ^ 0x5bd1e995, sum = 0;
  for (uint32_t i = 0; i < steps; ++i) {
    a ^= a << 13, a ^= a >> 17, a ^= a << 5;
    b = __funnelshift_l(b, b, 7) ^ a;
    sum += __popc(a & b) + __clz(a | 1);
  }
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

float host_function(Function f, float v) {
  switch (f) {
    case Function::divide: return 1.5f / v + 0.25f;
    case Function::root: return std::sqrt(v) + 0.25f;
    case Function::sine: return std::sin(v) + 1.5f;
    case Function::exponential: return std::exp(-v);
    case Function::logarithm: return std::log(v) + 2.0f;
    default: break;
  }
  double p = 0.1;
  for (int i = 0; i < 8; ++i) p = p * v + 0.05 * i;
  return float(p * 0.1);
}

template <Function F>
void add_function(Cases& cases, const char* name) {
  cases.push_back({text("function/%s", name), "arithmetic", false, [] {
                     constexpr uint32_t kThreads = 132 * 512;
                     auto out = empty<float>(kThreads);
                     return Instance{[=] { functions<F><<<132 * 2, 256>>>(out->get(), 64); },
                                     [=] {
                                       const auto v = out->download();
                                       return compare(
                                           kThreads, 2000, 1e-3, [&](size_t i) { return v[i]; },
                                           [](size_t i) {
                                             float x = 0.5f + float(i % 1000) * 0.001f;
                                             for (int s = 0; s < 64; ++s) x = host_function(F, x);
                                             return x;
                                           });
                                     }};
                   }});
}

template <class T, class Launch, class Want>
Instance words_of(uint32_t count, Launch launch, Want want) {
  auto out = empty<T>(count);
  return {[=] { launch(out->get()); },
          [=] {
            const auto v = out->download();
            for (uint32_t i = 0; i < count; i += 97)
              if (v[i] != want(i))
                return text("word %u is %llu, not %llu", i, (unsigned long long)v[i], (unsigned long long)want(i));
            return std::string();
          }};
}

}  // namespace

void add_arithmetic(Cases& cases) {
  for (const uint32_t n : {256u, 512u, 1024u})
    cases.push_back({text("sgemm/n:%u", n), "arithmetic", false, [=] {
                       auto a = buffer_of(values(size_t(n) * n, 1)), b = buffer_of(values(size_t(n) * n, 2));
                       auto d = empty<float>(size_t(n) * n);
                       return Instance{
                           [=] { sgemm<<<dim3(n / 64, n / 64), 256>>>(a->get(), b->get(), d->get(), n, n); },
                           [=] {
                             return check_product<float>(
                                 d->download(), [](float f) { return f; }, n, n, n, 1, 2, 1e-4);
                           }};
                     }});
  for (const uint32_t count : {8448u, 33792u})
    cases.push_back({text("bodies/count:%u", count), "arithmetic", false, [=] {
                       const auto host = values(size_t(count) * 4, 1);
                       auto at = buffer_of(host), force = empty<float>(size_t(count) * 4);
                       return Instance{[=] {
                                         bodies<<<count / 256, 256>>>(reinterpret_cast<float4*>(at->get()),
                                                                      reinterpret_cast<float4*>(force->get()), count);
                                       },
                                       [=] {
                                         const auto v = force->download();
                                         for (uint32_t p = 0; p < 8; ++p) {
                                           const uint32_t me = p * (count / 8) + p;
                                           double want = 0, size = 0;
                                           for (uint32_t i = 0; i < count; ++i) {
                                             double s = 0.01, d[3];
                                             for (int c = 0; c < 3; ++c)
                                               d[c] = double(host[4 * i + c]) - host[4 * me + c], s += d[c] * d[c];
                                             want += d[0] * host[4 * i + 3] / (s * std::sqrt(s));
                                             size += std::fabs(d[0] * host[4 * i + 3]) / (s * std::sqrt(s));
                                           }
                                           if (!(std::fabs(v[4 * me] - want) <= 1e-4 * size))
                                             return text("body %u: %g, not %g", me, v[4 * me], want);
                                         }
                                         return std::string();
                                       }};
                     }});
  for (const uint32_t width : {256u, 1024u})
    cases.push_back({text("escape/width:%u", width), "arithmetic", false, [=] {
                       auto out = empty<uint32_t>(width * width);
                       return Instance{
                           [=] { escape<<<dim3(width / 32, width / 8), dim3(32, 8)>>>(out->get(), width, 200); },
                           [=] {
                             // Rounding decides near the edge of the set: nearly all points must agree.
                             const auto v = out->download();
                             uint32_t asked = 0, other = 0;
                             for (uint32_t p = 0; p < width * width; p += 61, ++asked) {
                               const double cr = -2 + 3.0 * (p % width) / width, ci = -1.5 + 3.0 * (p / width) / width;
                               double r = 0, i = 0;
                               uint32_t n = 0;
                               for (; n < 200 && r * r + i * i < 4; ++n) {
                                 const double t = r * r - i * i + cr;
                                 i = 2 * r * i + ci, r = t;
                               }
                               other += n != v[p];
                             }
                             return other * 50 <= asked ? "" : text("%u of %u points differ", other, asked);
                           }};
                     }});
  add_function<Function::divide>(cases, "divide");
  add_function<Function::root>(cases, "root");
  add_function<Function::sine>(cases, "sine");
  add_function<Function::exponential>(cases, "exponential");
  add_function<Function::logarithm>(cases, "logarithm");
  add_function<Function::polynomial>(cases, "polynomial");
  add_function<Function::polynomial64>(cases, "polynomial64");
  cases.push_back({"function/remainder", "arithmetic", false, [] {
                     return words_of<uint32_t>(
                         132 * 512, [](uint32_t* out) { remainders<<<132 * 2, 256>>>(out, 64, 1000003); },
                         [](uint32_t i) {
                           uint32_t v = i + 1000;
                           for (uint32_t s = 0; s < 64; ++s) v = v * 7 + v / 1000003 + v % (1000003 + s);
                           return v;
                         });
                   }});
  cases.push_back({"function/hash", "arithmetic", false, [] {
                     return words_of<uint64_t>(
                         132 * 512, [](uint64_t* out) { hashes<<<132 * 2, 256>>>(out, 64); },
                         [](uint32_t i) {
                           uint64_t v = i;
                           for (uint32_t s = 0; s < 64; ++s) {
                             v ^= v >> 33, v *= 0xff51afd7ed558ccdull, v ^= v >> 29, v *= 0xc4ceb9fe1a85ec53ull;
                             v += s;
                           }
                           return v;
                         });
                   }});
  cases.push_back({"function/bits", "arithmetic", false, [] {
                     return words_of<uint32_t>(
                         132 * 512, [](uint32_t* out) { bits<<<132 * 2, 256>>>(out, 128); },
                         [](uint32_t i) {
                           uint32_t a = i, b = a ^ 0x5bd1e995, sum = 0;
                           for (int s = 0; s < 128; ++s) {
                             a ^= a << 13, a ^= a >> 17, a ^= a << 5;
                             b = (b << 7 | b >> 25) ^ a;
                             sum += uint32_t(__builtin_popcount(a & b)) + uint32_t(__builtin_clz(a | 1));
                           }
                           return sum;
                         });
                   }});
}

}  // namespace prediction
