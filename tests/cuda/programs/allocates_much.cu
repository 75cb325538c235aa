// Allocates most of the device's memory, reads a word of a small allocation that was never written, and frees all.
#include <cstdio>

__global__ void read(const int* from, int* to) { *to = *from; }

int main() {
  void* large = nullptr;
  int* small = nullptr;
  cudaMalloc(&large, size_t(100) << 30);
  cudaMalloc(&small, 256);
  read<<<1, 1>>>(small, small + 1);
  const cudaError_t e = cudaDeviceSynchronize();
  cudaFree(small);
  cudaFree(large);
  std::printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
