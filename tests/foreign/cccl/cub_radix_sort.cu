// cub::DeviceRadixSort::SortPairs of float keys, against a stable sort.
#include <cub/device/device_radix_sort.cuh>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <random>
#include <vector>

int main() {
  std::mt19937 random(4);
  const int n = 60001;
  std::vector<float> keys(n);
  std::vector<int> order(n), got(n);
  for (float& k : keys) k = float(int(random() % 20001) - 10000) / 8;
  std::iota(order.begin(), order.end(), 0);
  float *k_in, *k_out;
  int *v_in, *v_out;
  cudaMalloc(&k_in, n * 4);
  cudaMalloc(&k_out, n * 4);
  cudaMalloc(&v_in, n * 4);
  cudaMalloc(&v_out, n * 4);
  cudaMemcpy(k_in, keys.data(), n * 4, cudaMemcpyHostToDevice);
  cudaMemcpy(v_in, order.data(), n * 4, cudaMemcpyHostToDevice);
  void* temporary = nullptr;
  size_t bytes = 0;
  cub::DeviceRadixSort::SortPairs(temporary, bytes, k_in, k_out, v_in, v_out, n);
  cudaMalloc(&temporary, bytes);
  cub::DeviceRadixSort::SortPairs(temporary, bytes, k_in, k_out, v_in, v_out, n);
  cudaMemcpy(got.data(), v_out, n * 4, cudaMemcpyDeviceToHost);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return keys[a] < keys[b]; });
  const bool right = got == order && cudaGetLastError() == cudaSuccess;
  std::printf("cub::DeviceRadixSort: %s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
