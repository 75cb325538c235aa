// What DeepGEMM's library does around its kernels, as far as these programs need it.
#pragma once
#include <cuda.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

inline void check(int status, const char* what) {
  if (status == 0) return;
  std::printf("%s: %d\n", what, status);
  std::exit(1);
}

template <class T>
T* upload(const std::vector<T>& host) {
  T* device;
  check(cudaMalloc(&device, host.size() * sizeof(T)), "cudaMalloc");
  check(cudaMemcpy(device, host.data(), host.size() * sizeof(T), cudaMemcpyDefault), "cudaMemcpy");
  return device;
}

inline CUtensorMap map_of(CUtensorMapDataType type, void* data, uint64_t columns, uint64_t rows, uint64_t row_bytes,
                          uint32_t box_columns, uint32_t box_rows, CUtensorMapSwizzle swizzle) {
  CUtensorMap map;
  const cuuint64_t size[] = {columns, rows}, stride[] = {row_bytes};
  const cuuint32_t box[] = {box_columns, box_rows}, one[] = {1, 1};
  check(cuTensorMapEncodeTiled(&map, type, 2, data, size, stride, box, one, CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
        "cuTensorMapEncodeTiled");
  return map;
}

inline double e4m3(uint32_t code) {
  const int exponent = code >> 3 & 15, fraction = code & 7;
  const double v = exponent ? std::ldexp(8 + fraction, exponent - 10) : std::ldexp(fraction, -9);
  return code & 0x80 ? -v : v;
}
