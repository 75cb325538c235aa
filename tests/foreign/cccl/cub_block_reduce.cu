// cub::BlockReduce with three algorithms and cub::WarpScan, against loops.
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_scan.cuh>

#include <cstdio>
#include <vector>

template <cub::BlockReduceAlgorithm algorithm>
__global__ void reduce(const int* in, int* out) {
  using Reduce = cub::BlockReduce<int, 192, algorithm>;
  __shared__ typename Reduce::TempStorage storage;
  const int sum = Reduce(storage).Sum(in[blockIdx.x * 192 + threadIdx.x]);
  if (threadIdx.x == 0) out[blockIdx.x] = sum;
}

__global__ void scan(const int* in, int* out) {
  using Scan = cub::WarpScan<int>;
  __shared__ typename Scan::TempStorage storage[6];
  int value;
  Scan(storage[threadIdx.x / 32]).InclusiveSum(in[threadIdx.x], value);
  out[threadIdx.x] = value;
}

int main() {
  constexpr int blocks = 20, n = blocks * 192;
  std::vector<int> in(n), got(blocks), warp(192);
  for (int i = 0; i < n; ++i) in[i] = (i * 7919) % 1009 - 500;
  int *d_in, *d_out;
  cudaMalloc(&d_in, n * 4);
  cudaMalloc(&d_out, n * 4);
  cudaMemcpy(d_in, in.data(), n * 4, cudaMemcpyHostToDevice);
  auto check = [&](auto kernel, const char* name) {
    kernel<<<blocks, 192>>>(d_in, d_out);
    cudaMemcpy(got.data(), d_out, blocks * 4, cudaMemcpyDeviceToHost);
    for (int b = 0; b < blocks; ++b) {
      int sum = 0;
      for (int i = 0; i < 192; ++i) sum += in[b * 192 + i];
      if (got[b] != sum) return std::printf("%s: block %d has %d, not %d\n", name, b, got[b], sum), false;
    }
    return true;
  };
  bool right = check(reduce<cub::BLOCK_REDUCE_WARP_REDUCTIONS>, "warp reductions") &&
               check(reduce<cub::BLOCK_REDUCE_RAKING>, "raking") &&
               check(reduce<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>, "raking, commutative");
  scan<<<1, 192>>>(d_in, d_out);
  cudaMemcpy(warp.data(), d_out, 192 * 4, cudaMemcpyDeviceToHost);
  for (int i = 0, sum = 0; i < 192; ++i) {
    sum = i % 32 ? sum + in[i] : in[i];
    right &= warp[i] == sum;
  }
  std::printf("cub::BlockReduce, WarpScan: %s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
