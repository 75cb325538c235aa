// Streams and events of the runtime.
#include <algorithm>

#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;
using StreamCallback = cudaStreamCallback_t;

extern "C" {

#include "common/tinygpu/cuda/stream_calls.inc"

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, kLowestPriority);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return api(
      [&](State& s) { return s.streams.find(to) && s.streams.find(from) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  return on_stream(stream, [&](State&, Stream&) { return value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

}  // extern "C"
