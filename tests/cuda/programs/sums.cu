// Threads exchange words of shared memory: sums missing | right [CTAS [LAUNCHES]]. A __syncthreads() is missing.
#include <cstdio>
#include <cstdlib>
#include <string_view>

__device__ __forceinline__ int* place(int* words, unsigned i) { return words + i; }

__device__ __forceinline__ void put(int* words, unsigned i, int value) { *place(words, i) = value; }

template <bool kRight>
__global__ void exchange(int* out) {
  __shared__ int words[64];
  put(words, threadIdx.x, int(threadIdx.x));
  if constexpr (kRight) {
    __syncthreads();
  }
  out[threadIdx.x] = words[63 - threadIdx.x];
}

int main(int argc, char** argv) {
  const bool right = argc > 1 && std::string_view(argv[1]) == "right";
  const int ctas = argc > 2 ? std::atoi(argv[2]) : 1, launches = argc > 3 ? std::atoi(argv[3]) : 1;
  int* out = nullptr;
  cudaMalloc(&out, 64 * sizeof(int));
  for (int i = 0; i < launches; ++i)
    if (right)
      exchange<true><<<ctas, 64>>>(out);
    else
      exchange<false><<<ctas, 64>>>(out);
  const cudaError_t e = cudaDeviceSynchronize();
  std::printf("%s\n", cudaGetErrorName(e));
  return e != cudaSuccess;
}
