// thrust::sort of 100,000 keys, ascending and descending, against std::sort.
#include <thrust/device_vector.h>
#include <thrust/functional.h>
#include <thrust/sort.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

int main() {
  std::mt19937 random(1);
  std::vector<int> keys(100000);
  for (int& k : keys) k = int(random());
  thrust::device_vector<int> device(keys.begin(), keys.end());
  thrust::sort(device.begin(), device.end());
  std::vector<int> got(keys.size());
  thrust::copy(device.begin(), device.end(), got.begin());
  std::sort(keys.begin(), keys.end());
  if (got != keys) return std::puts("ascending: wrong"), 1;
  thrust::sort(device.begin(), device.end(), thrust::greater<int>());
  thrust::copy(device.begin(), device.end(), got.begin());
  std::reverse(keys.begin(), keys.end());
  if (got != keys) return std::puts("descending: wrong"), 1;
  std::puts("thrust::sort: right");
}
