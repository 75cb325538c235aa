// Many copies in one call (cuMemcpyBatchAsync, cudaMemcpyBatchAsync): no order among them.
#pragma once
#include <cuda.h>

#include <cstddef>
#include <span>
#include <vector>

#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/image/host_memory.h"

namespace tinygpu::cuda {

struct BatchCopy {
  const void* dst = nullptr;
  const void* src = nullptr;
  size_t size = 0;
  bool at_once = false;  // the source may be gone when the call returns (…_SRC_ACCESS_ORDER_DURING_API_CALL)
};

/// The caller's array of `n` is there.
template <class T>
bool readable(const T* array, size_t n) {
  return array && n <= ~size_t(0) / sizeof(T) && image::host_accessible(array, n * sizeof(T), false);
}

/// Each copy's order of access to its source, from attributes that count for the copies from their index on. False if
/// they break the rules: the first index is 0, indices rise and are below `count`, and an order is one of the three.
template <class Attributes>
bool read_attributes(std::vector<BatchCopy>& copies, const Attributes* attributes, const size_t* indices, size_t n) {
  if (n == 0 || n > copies.size() || !readable(attributes, n) || !readable(indices, n) || indices[0] != 0) return false;
  for (size_t k = 0; k < n; ++k) {
    const size_t end = k + 1 < n ? indices[k + 1] : copies.size();
    const int order = int(attributes[k].srcAccessOrder);
    if (end <= indices[k] || end > copies.size() || order < int(CU_MEMCPY_SRC_ACCESS_ORDER_STREAM) ||
        order > int(CU_MEMCPY_SRC_ACCESS_ORDER_ANY))
      return false;
    for (size_t i = indices[k]; i < end; ++i)
      copies[i].at_once = order == int(CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL);
  }
  return true;
}

/// Submits them. INVALID_VALUE, and none is submitted, if one's source cannot be read now that must be.
CUresult submit_batch(State& s, Stream& stream, std::span<const BatchCopy> copies);

}  // namespace tinygpu::cuda
