// Dynamic parallelism: a kernel that launches a kernel.
#include <cstdio>

__global__ void child(int* p) { p[threadIdx.x] = int(threadIdx.x) + 1; }
__global__ void parent(int* p) {
  if (threadIdx.x == 0) child<<<1, 32>>>(p);
}

int main() {
  int* p = nullptr;
  cudaMalloc(&p, 128);
  parent<<<1, 32>>>(p);
  std::printf("%s\n", cudaGetErrorName(cudaDeviceSynchronize()));
}
