// Prints 42 from a kernel; exits 0 if it arrived. Built in every compression mode and in ways that cannot run.
#include <cstdio>

__global__ void answer(int* p) { *p = 42; }

int main() {
  int *p = nullptr, host = 0;
  cudaMalloc(&p, 4);
  answer<<<1, 1>>>(p);
  const cudaError_t e = cudaMemcpy(&host, p, 4, cudaMemcpyDeviceToHost);
  std::printf("%d %s\n", host, cudaGetErrorName(e == cudaSuccess ? cudaGetLastError() : e));
  return host == 42 ? 0 : 1;
}
