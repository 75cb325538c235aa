// Driver functions by their unversioned names, as cuGetProcAddress gives them.
#pragma once

namespace tinygpu::cuda {

/// The newest form of `name` ("cuMemAlloc" → cuMemAlloc_v2) that CUDA `version` (12000 = 12.0) knew; nullptr if this
/// libcuda.so.1 exports none.
void* driver_function(const char* name, int version);

}  // namespace tinygpu::cuda
