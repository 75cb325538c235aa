#include <cooperative_groups.h>

#include <cassert>
#include <cstdio>

#include "tests/cuda/runtime_kernels.h"

namespace cg = cooperative_groups;

__device__ int counter = 5;
__constant__ int table[4] = {10, 20, 30, 40};
__managed__ int managed = 7;
static __device__ int hidden = 9;

const void* const counter_symbol = &counter;
const void* const table_symbol = table;
int managed_value() { return managed; }
void set_managed_value(int v) { managed = v; }

__global__ void saxpy(int n, float a, const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

__global__ void fill_shared(int* out, int n) {
  extern __shared__ int buffer[];
  __shared__ int fixed[32];
  for (int i = threadIdx.x; i < n; i += blockDim.x) buffer[i] = i * 3;
  if (threadIdx.x < 32) fixed[threadIdx.x] = threadIdx.x;
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = buffer[n - 1 - i] + fixed[i % 32];
}

__global__ void write_symbols(int value) {
  counter = value + hidden;
  managed = value;
}

__global__ void read_symbols(int* out) {
  out[0] = counter;
  for (int i = 0; i < 4; ++i) out[1 + i] = table[i];
  out[5] = managed;
}

__global__ void cluster_ranks(unsigned* out) {
  unsigned rank, size;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) out[blockIdx.x] = rank * 100 + size;
}

__global__ void __cluster_dims__(2, 1, 1) fixed_cluster(unsigned* out) {
  unsigned size;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(size));
  if (threadIdx.x == 0) out[blockIdx.x] = size;
}

__global__ void __launch_bounds__(64) bounded(int* out) { out[threadIdx.x] = 1; }
__global__ void store_at(int* p) { p[threadIdx.x] = 1; }
__global__ void store_misaligned(char* p) { *reinterpret_cast<volatile int*>(p + 1) = 1; }
__global__ void fail_assert(int value) { assert(value == 0); }
__global__ void stop_here() { __trap(); }
__device__ __noinline__ int deep(int n) {
  volatile int frame[64];
  frame[n & 63] = n;
  return n ? deep(n - 1) + frame[n & 63] : 0;
}
__global__ void recurse(int depth, int* out) { *out = deep(depth); }
__global__ void print_values(int n) { printf("n=%d half=%.2f %s %c\n", n, n / 2.0, "text", 'x'); }

__global__ void wait_forever() {
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned address = unsigned(__cvta_generic_to_shared(&barrier));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(address));
  __syncthreads();
  asm volatile(
      "{\n.reg .pred p;\nwait:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra wait;\n}" ::"r"(address)
      : "memory");
}

__global__ void grid_sum(const int* in, int* out, int n) {
  cg::grid_group grid = cg::this_grid();
  const int each = n / int(gridDim.x);
  if (threadIdx.x == 0) {
    int sum = 0;
    for (int i = 0; i < each; ++i) sum += in[blockIdx.x * each + i];
    out[1 + blockIdx.x] = sum;
  }
  grid.sync();
  if (grid.thread_rank() == 0) {
    int sum = 0;
    for (unsigned i = 0; i < gridDim.x; ++i) sum += out[1 + i];
    out[0] = sum;
  }
}

struct Odd {
  long long values[3];
};
__global__ void packed(char c, double d, short s, Odd o, double* out) {
  out[0] = c;
  out[1] = d;
  out[2] = s;
  for (int i = 0; i < 3; ++i) out[3 + i] = double(o.values[i]);
}

cudaError_t launch_clusters(void (*kernel)(unsigned*), unsigned* out, unsigned grid, unsigned cluster) {
  cudaLaunchAttribute a;
  a.id = cudaLaunchAttributeClusterDimension;
  a.val.clusterDim = {cluster, 1, 1};
  cudaLaunchConfig_t c = {};
  c.gridDim = dim3(grid);
  c.blockDim = dim3(32);
  c.attrs = &a;
  c.numAttrs = 1;
  void* args[] = {&out};
  return cudaLaunchKernelExC(&c, reinterpret_cast<const void*>(kernel), args);
}

void launch_saxpy(int n, float a, const float* x, float* y, cudaStream_t stream) {
  saxpy<<<(n + 127) / 128, 128, 0, stream>>>(n, a, x, y);
}

void launch_packed(char c, double d, short s, const long long (&values)[3], double* out) {
  packed<<<1, 1>>>(c, d, s, {values[0], values[1], values[2]}, out);
}
