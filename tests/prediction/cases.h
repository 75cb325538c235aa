// The kernels that the clock is judged by: no number of probes/machines was fitted to them. A case is one kernel in
// one configuration, with inputs, a launch and a check of its result; it runs on a GPU and on tinygpu alike.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/harness/cuda_check.h"

namespace prediction {

/// What a case is made of once its inputs lie in device memory.
struct Instance {
  std::function<void()> launch;        // exactly one kernel on the default stream
  std::function<std::string()> check;  // after one launch behind reset: nothing, or what is wrong
  std::function<void()> reset = [] {};
};

struct Case {
  std::string name;   // "transpose/how:padded/n:1024"
  std::string group;  // the row of the table of errors: "gemm wgmma", "stencil" …
  bool tensor;        // its time is that of the tensor cores
  std::function<Instance()> make;
};

using Cases = std::vector<Case>;

void add_wgmma_gemms(Cases& cases);
void add_mma_sync_gemms(Cases& cases);
/// Triton's, of the folder that compile.py wrote; throws where it is not there.
void add_triton(Cases& cases, const std::string& folder);
void add_streams(Cases& cases);
void add_rows(Cases& cases);
void add_grids(Cases& cases);
void add_counts(Cases& cases);
void add_pipelines(Cases& cases);
void add_synchronisation(Cases& cases);
void add_latencies(Cases& cases);
void add_arithmetic(Cases& cases);

/// A number in [-1, 1) that follows from place and seed, a multiple of 2^-7 so that bf16 holds it.
inline float value_at(uint64_t i, uint64_t seed) {
  uint64_t z = (i + (seed << 40)) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  return float(int(z >> 56) - 128) / 128.0f;
}
inline uint32_t hash_at(uint64_t i, uint64_t seed) {
  uint64_t z = (i + (seed << 40)) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  return uint32_t((z ^ (z >> 27)) >> 20);
}

template <class T>
using Buffer = std::shared_ptr<gen5::harness::DeviceBuffer<T>>;

template <class T>
Buffer<T> empty(size_t count) {
  auto b = std::make_shared<gen5::harness::DeviceBuffer<T>>(count);
  b->fill(0xff);
  return b;
}
template <class T>
Buffer<T> buffer_of(const std::vector<T>& host) {
  return std::make_shared<gen5::harness::DeviceBuffer<T>>(host);
}
inline std::vector<float> values(size_t count, uint64_t seed) {
  std::vector<float> v(count);
  for (size_t i = 0; i < count; ++i) v[i] = value_at(i, seed);
  return v;
}
/// The bits of value_at as bf16, exactly.
inline std::vector<uint16_t> bf16_values(size_t count, uint64_t seed) {
  std::vector<uint16_t> v(count);
  for (size_t i = 0; i < count; ++i) {
    const float f = value_at(i, seed);
    uint32_t bits;
    __builtin_memcpy(&bits, &f, 4);
    v[i] = uint16_t(bits >> 16);
  }
  return v;
}
inline float from_bf16(uint16_t h) {
  const uint32_t bits = uint32_t(h) << 16;
  float f;
  __builtin_memcpy(&f, &bits, 4);
  return f;
}

inline std::string text(const char* format, auto... arguments) {
  char line[200];
  std::snprintf(line, sizeof line, format, arguments...);
  return line;
}

/// Compares got(i) with want(i) at some `places` of `count`, first and last among them.
template <class Got, class Want>
std::string compare(size_t count, size_t places, double tolerance, Got got, Want want) {
  places = std::min(places, count);
  for (size_t p = 0; p < places; ++p) {
    const size_t i = p + 1 == places ? count - 1 : p * (count / places);
    const double g = double(got(i)), w = double(want(i));
    if (!(std::fabs(g - w) <= tolerance * std::max(1.0, std::fabs(w))))
      return text("element %zu is %.9g, not %.9g", i, g, w);
  }
  return "";
}

/// Sampled elements of D[m × n] = A[m × k] · B[n × k]ᵀ against sums in double precision.
template <class D>
std::string check_product(const std::vector<D>& d, float (*value)(D), uint32_t m, uint32_t n, uint32_t k,
                          uint64_t seed_a, uint64_t seed_b, double tolerance) {
  for (uint32_t p = 0; p < 48; ++p) {
    const uint64_t row = p == 47 ? m - 1 : uint64_t(p) * 2654435761u % m;
    const uint64_t column = p == 47 ? n - 1 : uint64_t(p) * 40503u % n;
    double want = 0;
    for (uint64_t i = 0; i < k; ++i)
      want += double(value_at(row * k + i, seed_a)) * double(value_at(column * k + i, seed_b));
    const double got = value(d[row * n + column]);
    if (!(std::fabs(got - want) <= tolerance * (1 + std::fabs(want))))
      return text("D[%llu, %llu] is %.9g, not %.9g", (unsigned long long)row, (unsigned long long)column, got, want);
  }
  return "";
}

inline uint32_t ceil_div(uint64_t a, uint64_t b) { return uint32_t((a + b - 1) / b); }

}  // namespace prediction
