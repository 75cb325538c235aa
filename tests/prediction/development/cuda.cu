// The development kernels that are not Triton's: loops of arithmetic, unrolled and not, copies of every width, sums,
// short CTAs.
#include <cstdint>

// Instances of macros end in no semicolon, which confuses clang-format.
// clang-format off

#define UNROLL(n) _Pragma(#n)

namespace {
__device__ __forceinline__ uint32_t thread() { return blockIdx.x * blockDim.x + threadIdx.x; }
}  // namespace

#define FMA(times)                                                        \
  extern "C" __global__ void fma_##times(float* out, int n) {             \
    float x = float(threadIdx.x), y = 1, z = 2, w = 3;                    \
    UNROLL(unroll times)                                                  \
    for (int i = 0; i < n; ++i) {                                         \
      x = x * 1.0001f + 0.5f, y = y * 0.9999f + x, z = z * 1.01f + 0.25f; \
      w = w * 0.99f + z;                                                  \
    }                                                                     \
    out[thread()] = x + y + z + w;                                        \
  }
FMA(1)
FMA(2) FMA(4) FMA(16)
#define INTEGERS(times)                                                            \
  extern "C" __global__ void integers_##times(uint32_t* out, int n) {              \
    uint32_t x = thread(), y = 0x9e3779b9u;                                        \
    UNROLL(unroll times)                                                           \
    for (int i = 0; i < n; ++i) {                                                  \
      x ^= x << 13, x ^= x >> 17, x ^= x << 5, y = y * 1664525u + x, x += y >> 16; \
    }                                                                              \
    out[thread()] = x ^ y;                                                         \
  }
    INTEGERS(1) INTEGERS(8)

#define SPECIAL(times)                                                    \
  extern "C" __global__ void special_##times(float* out, int n) {         \
    float x = float(threadIdx.x) * 0.01f, y = 0;                          \
    UNROLL(unroll times)                                                  \
    for (int i = 0; i < n; ++i) x = __expf(x) * 0.1f, y += rsqrtf(x + 1); \
    out[thread()] = x + y;                                                \
  }
        SPECIAL(1) SPECIAL(4)

    /// Numbers of all kinds, and the compiler's own choice of unrolling.
    extern "C" __global__ void mixed(float* out, int n) {
  float x = float(threadIdx.x);
  uint32_t h = threadIdx.x;
  for (int i = 0; i < n; ++i) {
    h = h * 1103515245u + 12345u;
    x = x * 0.5f + float(h >> 8) * 1e-7f;
    if (x > 1) x -= 0.75f;
  }
  out[thread()] = x + float(h);
}

extern "C" __global__ void divisions(float* out, int n) {
  float x = float(threadIdx.x) + 2, y = 1;
  for (int i = 0; i < n; ++i) y = y / x + float(i % 7), x = x + y;
  out[thread()] = x + y;
}

/// A CTA that ends soon.
extern "C" __global__ void short_work(float* out, int n) {
  float x = float(threadIdx.x);
  for (int i = 0; i < n; ++i) x = x * 1.0001f + float(i);
  out[thread()] = x;
}

#define COPY(name, type)                                                                  \
  extern "C" __global__ void copy_##name(type* to, const type* from, int n) {             \
    for (int i = int(thread()); i < n; i += int(gridDim.x * blockDim.x)) to[i] = from[i]; \
  }
COPY(u8, uint8_t)
COPY(u16, uint16_t) COPY(u32, uint32_t) COPY(u64, uint2) COPY(u128, uint4)

    namespace {
  __device__ float sum_of(float x) {
    __shared__ float parts[32];
    for (int i = 16; i; i /= 2) x += __shfl_xor_sync(~0u, x, i);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = x;
    __syncthreads();
    x = threadIdx.x < blockDim.x / 32 ? parts[threadIdx.x] : 0;
    for (int i = 16; i; i /= 2) x += __shfl_xor_sync(~0u, x, i);
    return x;
  }
}  // namespace

extern "C" __global__ void sum_4(float* out, const float* from, int n) {
  float x = 0;
  for (int i = int(thread()); i < n; i += int(gridDim.x * blockDim.x)) x += from[i];
  x = sum_of(x);
  if (threadIdx.x == 0) out[blockIdx.x] = x;
}

extern "C" __global__ void sum_16(float* out, const float4* from, int n) {
  float x = 0;
  for (int i = int(thread()); i < n / 4; i += int(gridDim.x * blockDim.x)) {
    const float4 f = from[i];
    x += (f.x + f.y) + (f.z + f.w);
  }
  x = sum_of(x);
  if (threadIdx.x == 0) out[blockIdx.x] = x;
}

/// Each thread reads what its neighbour wrote, round after round.
extern "C" __global__ void shared_rounds(float* out, int n) {
  __shared__ float cells[2][1024];
  float x = float(threadIdx.x);
  for (int i = 0; i < n; ++i) {
    cells[i & 1][threadIdx.x] = x;
    __syncthreads();
    x = cells[i & 1][(threadIdx.x + 1) % blockDim.x] * 0.5f + 1;
  }
  out[thread()] = x;
}
