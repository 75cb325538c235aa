// What a PTX reader meets in nvcc's output, in one file: initialised globals with addresses in them, managed and constant
// variables, printf and assert, a switch, recursion, function pointers, virtual calls, structures by value, grid
// synchronisation, atomics, double-precision functions, dynamic shared memory.
// The .ptx.zst beside it come from nvcc 13.0:
//   nvcc -arch=sm_100a -ptx [-rdc=true | -lineinfo | -G] language_features.cu
#include <cassert>
#include <cooperative_groups.h>
#include <cstdio>

namespace cg = cooperative_groups;

__constant__ float table[4] = {1.f, 2.5f, -3.f, 1e-3f};
__device__ int counter = 7;
__managed__ int host_visible[3] = {1, 2, 3};
__device__ double matrix[3][2] = {{1.5, 2}, {3, 4}};
__device__ const char* names[] = {"one", "two"};

using Function = int (*)(int);
__device__ __noinline__ int triple(int x) { return x * 3 + counter; }
__device__ __noinline__ int less_five(int x) { return x - 5; }
__device__ Function functions[2] = {triple, less_five};

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

struct Mixed {
  int a;
  double b;
  char c[5];
};

__device__ __noinline__ Mixed make(int x) {
  Mixed s{};
  s.a = x;
  s.b = x * 0.5;
  s.c[0] = char(x);
  return s;
}

struct Base {
  virtual __device__ int value(int) = 0;
};
struct Plus : Base {
  __device__ int value(int x) override { return x + 1; }
};
struct Times : Base {
  __device__ int value(int x) override { return x * 2; }
};

extern __shared__ float dynamic[];

__global__ void features(int* out, int n, Mixed by_value) {
  __shared__ int tile[64];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x % 64] = i;
  __syncthreads();
  dynamic[threadIdx.x] = table[i & 3];
  assert(n > 0);
  if (i == 0) printf("%d %f %s\n", n, by_value.b, names[n & 1]);
  int r = 0;
  switch (n) {
    case 0: r = 1; break;
    case 1: r = i * 2; break;
    case 2: r = triple(i); break;
    case 3: r = tile[(i + 1) % 64]; break;
    case 4: r = __popc(i); break;
    case 5: r = i ^ 77; break;
    case 6: r = i / 3; break;
    default: r = functions[n & 1](i);
  }
  r += fibonacci(n % 10);
  const Mixed m = make(r);
  r += m.a + int(m.b);
  Plus plus;
  Times times;
  Base* base = (n & 1) ? static_cast<Base*>(&plus) : static_cast<Base*>(&times);
  r += base->value(i);
  cg::this_grid().sync();
  r += cg::tiled_partition<8>(cg::this_thread_block()).shfl_xor(r, 1);
  const double z = sin(double(r)) + pow(double(r), 1.3) + sqrtf(float(r)) + __expf(float(r));
  atomicAdd(out, r);
  atomicCAS(&counter, 1, 2);
  __threadfence();
  if (n < 0) __trap();
  out[i] = int(z) + r + int(matrix[1][0]) + host_visible[1] + int(clock64()) + int(dynamic[1]);
}
