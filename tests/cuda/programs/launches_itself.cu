// Dynamic parallelism: a kernel that launches a kernel.
#include <cstdio>

__global__ void child(int* p) { p[threadIdx.x] = int(threadIdx.x) + 1; }
__global__ void parent(int* p) {
  if (threadIdx.x == 0) child<<<1, 32>>>(p);
}

int main() {
  int* p = nullptr;
  int sum = 0, result[32] = {};
  cudaMalloc(&p, sizeof result);
  parent<<<1, 32>>>(p);
  const cudaError_t e = cudaMemcpy(result, p, sizeof result, cudaMemcpyDefault);
  for (const int n : result) sum += n;
  std::printf("%s %d\n", cudaGetErrorName(e), sum);
}
