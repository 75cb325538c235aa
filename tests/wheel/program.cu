// Prints `factor` times the sum of 0 to 31; with factor 0 the kernel gets a null pointer.
#include <cstdio>
#include <cstdlib>

__global__ void multiply(int* x, int factor) { x[threadIdx.x] = int(threadIdx.x) * factor; }

int main(int, char** argv) {
  const int factor = std::atoi(argv[1]);
  int host[32] = {}, *device = nullptr, sum = 0;
  if (factor) cudaMalloc(&device, sizeof host);
  multiply<<<1, 32>>>(device, factor);
  if (cudaMemcpy(host, device, sizeof host, cudaMemcpyDefault) != cudaSuccess) return 1;
  for (const int x : host) sum += x;
  std::printf("%d\n", sum);
}
