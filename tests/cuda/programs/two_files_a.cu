// First of two files linked with -rdc=true: the kernel calls a function and reads a variable of the other file.
#include <cstdio>

extern __device__ int shared_counter;
__device__ int twice(int x);

__global__ void call_across(int* out) {
  out[threadIdx.x] = twice(int(threadIdx.x)) + shared_counter;
  if (threadIdx.x == 0) atomicAdd(&shared_counter, 1);
}

int read_counter();

int main() {
  int *out = nullptr, host[32];
  cudaMalloc(&out, sizeof host);
  call_across<<<1, 32>>>(out);
  if (cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost) != cudaSuccess) return 1;
  for (int i = 0; i < 32; ++i)
    if (host[i] != 2 * i + 100) return 2;
  if (read_counter() != 101) return 3;
  std::puts("linked across files");
  return 0;
}
