// Streams and events.
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

constexpr int kHighestPriority = -5, kLowestPriority = 0;

template <Pending pending = Pending::runs, class F>
cudaError_t stream_call(F&& f) {
  return api<pending>(f);
}
template <Pending pending = Pending::runs, class F>
cudaError_t on_stream(cudaStream_t stream, F&& f) {
  return stream_call<pending>([&](State& s) { return with_stream(s, stream, f); });
}

}  // namespace

extern "C" {

#define API_RESULT cudaError_t
#define API_NAME(name) cuda##name
#include "common/tinygpu/cuda/stream_calls.inc"
#undef API_RESULT
#undef API_NAME

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return api<Pending::stays>([&](State& s) {
    if (!stream || flags > cudaStreamNonBlocking) return CUDA_ERROR_INVALID_VALUE;
    const int clamped = priority < kHighestPriority  ? kHighestPriority
                        : priority > kLowestPriority ? kLowestPriority
                                                     : priority;
    *stream = reinterpret_cast<cudaStream_t>(s.streams.create(flags, clamped));
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, kLowestPriority);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaDeviceSynchronize() { return api(wait_for_device); }
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return api(
      [&](State& s) { return s.streams.find(to) && s.streams.find(from) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}
cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID, const cudaStreamAttrValue* value) {
  return on_stream(stream, [&](State&, Stream&) { return value ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api<Pending::stays>([&](State&) {
    if (least) *least = kLowestPriority;
    if (greatest) *greatest = kHighestPriority;
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaCtxResetPersistingL2Cache() { return cudaSuccess; }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return api<Pending::stays>([&](State& s) {
    constexpr unsigned kKnown = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!event || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    *event = reinterpret_cast<cudaEvent_t>(s.events.create(flags));
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

}  // extern "C"
