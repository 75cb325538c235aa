// Copies of the runtime that graphs can hold.
#pragma once
#include <cuda_runtime_api.h>

#include "common/tinygpu/cuda/memory.h"

namespace tinygpu::cuda {

CUresult copy_3d(State& s, const cudaMemcpy3DParms& p);

}  // namespace tinygpu::cuda
