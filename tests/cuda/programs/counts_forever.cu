// A kernel that waits for a flag and counts its looks: it never ends, and is never twice in the same state.
#include <cstdio>

__global__ void counts(volatile int* flag, unsigned long long* looks) {
  unsigned long long n = 0;
  while (*flag == 0) ++n;
  *looks = n;
}

int main() {
  int* flag;
  unsigned long long* looks;
  cudaMalloc(&flag, sizeof *flag);
  cudaMalloc(&looks, sizeof *looks);
  cudaMemset(flag, 0, sizeof *flag);
  counts<<<2, 32>>>(flag, looks);
  const cudaError_t e = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
