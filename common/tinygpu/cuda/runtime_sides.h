// Which sides a copy of the runtime API is between.
#pragma once
#include <cuda_runtime_api.h>

#include "common/tinygpu/cuda/memory.h"

namespace tinygpu::cuda {

/// False if `kind` is none.
inline bool sides(cudaMemcpyKind kind, Side& dst, Side& src) {
  switch (kind) {
    case cudaMemcpyHostToHost: dst = src = Side::host; return true;
    case cudaMemcpyHostToDevice: dst = Side::device, src = Side::host; return true;
    case cudaMemcpyDeviceToHost: dst = Side::host, src = Side::device; return true;
    case cudaMemcpyDeviceToDevice: dst = src = Side::device; return true;
    case cudaMemcpyDefault: dst = src = Side::either; return true;
  }
  return false;
}

}  // namespace tinygpu::cuda
