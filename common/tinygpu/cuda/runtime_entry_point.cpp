// Driver functions by name: cudaGetDriverEntryPoint and its like hand out functions of the libcuda.so.1 beside this
// library.
#include "common/tinygpu/cuda/entry_point.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

cudaError_t entry_point(const char* symbol, void** function, unsigned version,
                        cudaDriverEntryPointQueryResult* status) {
  return always([&](State&) {
    if (!symbol || !function) return CUDA_ERROR_INVALID_VALUE;
    *function = driver_function(symbol, int(version));
    if (status) *status = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return *function || status ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
  });
}

}  // namespace

extern "C" {

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, version, status);
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, CUDART_VERSION, status);
}

}  // extern "C"
