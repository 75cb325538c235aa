// Error names, the thread's last error, versions.
#include "common/tinygpu/cuda/device.h"
#include "common/tinygpu/cuda/runtime.h"

namespace tinygpu::cuda {

cudaError_t& last_error() {
  thread_local cudaError_t error = cudaSuccess;
  return error;
}

cudaError_t finish(CUresult e) {
  const auto error = cudaError_t(e);
  if (error != cudaSuccess && error != cudaErrorNotReady) last_error() = error;
  return error;
}

}  // namespace tinygpu::cuda

using namespace tinygpu::cuda;

extern "C" {

cudaError_t cudaGetLastError() {
  const CUresult sticky = State::get().sticky;
  const cudaError_t e = sticky != CUDA_SUCCESS ? cudaError_t(sticky) : last_error();
  last_error() = cudaSuccess;
  return e;
}

cudaError_t cudaPeekAtLastError() {
  const CUresult sticky = State::get().sticky;
  return sticky != CUDA_SUCCESS ? cudaError_t(sticky) : last_error();
}

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorCode* c = error_code(error);
  return c && *c->runtime ? c->runtime : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorCode* c = error_code(error);
  return c && *c->runtime ? c->text : "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (!version) return finish(CUDA_ERROR_INVALID_VALUE);
  *version = kCudaVersion;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (!version) return finish(CUDA_ERROR_INVALID_VALUE);
  *version = kCudaVersion;
  return cudaSuccess;
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }

}  // extern "C"
