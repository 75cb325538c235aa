// Copies of the driver API that graphs can hold.
#pragma once
#include <cuda.h>

namespace tinygpu::cuda {

class State;

CUresult copy_block(State& s, const CUDA_MEMCPY3D& p);

}  // namespace tinygpu::cuda
