// cub::DeviceScan::InclusiveSum and ExclusiveSum, against std::inclusive_scan.
#include <cub/device/device_scan.cuh>

#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

int main() {
  std::mt19937 random(3);
  const int n = 123457;
  std::vector<long long> in(n), got(n), want(n);
  for (auto& v : in) v = int(random() % 2001) - 1000;
  long long *d_in, *d_out;
  cudaMalloc(&d_in, n * 8);
  cudaMalloc(&d_out, n * 8);
  cudaMemcpy(d_in, in.data(), n * 8, cudaMemcpyHostToDevice);
  void* temporary = nullptr;
  size_t bytes = 0;
  cub::DeviceScan::InclusiveSum(temporary, bytes, d_in, d_out, n);
  cudaMalloc(&temporary, bytes);
  cub::DeviceScan::InclusiveSum(temporary, bytes, d_in, d_out, n);
  cudaMemcpy(got.data(), d_out, n * 8, cudaMemcpyDeviceToHost);
  std::inclusive_scan(in.begin(), in.end(), want.begin());
  if (got != want) return std::puts("inclusive: wrong"), 1;
  cub::DeviceScan::ExclusiveSum(temporary, bytes, d_in, d_out, n);
  cudaMemcpy(got.data(), d_out, n * 8, cudaMemcpyDeviceToHost);
  std::exclusive_scan(in.begin(), in.end(), want.begin(), 0ll);
  if (got != want) return std::puts("exclusive: wrong"), 1;
  std::puts("cub::DeviceScan: right");
}
