// thrust::reduce_by_key over runs of equal keys, against a loop.
#include <thrust/device_vector.h>
#include <thrust/reduce.h>

#include <cstdio>
#include <random>
#include <vector>

int main() {
  std::mt19937 random(2);
  const int n = 50000;
  std::vector<int> keys(n), values(n), want_keys, want_sums;
  for (int i = 0, key = 0; i < n; ++i) {
    if (random() % 7 == 0) ++key;
    keys[i] = key;
    values[i] = int(random() % 1000);
    if (want_keys.empty() || want_keys.back() != key) want_keys.push_back(key), want_sums.push_back(0);
    want_sums.back() += values[i];
  }
  thrust::device_vector<int> k(keys.begin(), keys.end()), v(values.begin(), values.end()), out_k(n), out_v(n);
  const auto end = thrust::reduce_by_key(k.begin(), k.end(), v.begin(), out_k.begin(), out_v.begin());
  const size_t count = size_t(end.first - out_k.begin());
  std::vector<int> got_k(count), got_v(count);
  thrust::copy(out_k.begin(), end.first, got_k.begin());
  thrust::copy(out_v.begin(), end.second, got_v.begin());
  const bool right = got_k == want_keys && got_v == want_sums;
  std::printf("thrust::reduce_by_key: %zu runs, %s\n", count, right ? "right" : "wrong");
  return right ? 0 : 1;
}
