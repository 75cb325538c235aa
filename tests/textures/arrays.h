// What the programs of this folder share: counting what is wrong, and descriptions of arrays.
#pragma once
#include <cuda_runtime.h>

#include <cstdio>

inline int wrong = 0;
#define EXPECT(condition) \
  if (!(condition)) ++wrong, std::printf("line %d: %s\n", __LINE__, #condition)

inline const cudaChannelFormatDesc kFloat = cudaCreateChannelDesc<float>();

inline cudaResourceDesc resource_of(cudaArray_t a) {
  cudaResourceDesc r{};
  r.resType = cudaResourceTypeArray;
  r.res.array.array = a;
  return r;
}
