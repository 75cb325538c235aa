// The driver's log of errors. tinygpu writes its diagnoses itself, and nothing into this log: who listens hears
// nothing.
#include "common/tinygpu/cuda/driver.h"

using namespace tinygpu::cuda;

extern "C" {

CUresult cuLogsRegisterCallback(CUlogsCallback listener, void*, CUlogsCallbackHandle* out) {
  return driver([&](State&) {
    if (!listener) return CUDA_ERROR_INVALID_VALUE;
    // A handle that is not null, and of which nothing is known but that.
    return answer(out, reinterpret_cast<CUlogsCallbackHandle>(listener));
  });
}
CUresult cuLogsUnregisterCallback(CUlogsCallbackHandle handle) {
  return driver([&](State&) { return handle ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

}  // extern "C"
