// Streams and events.
#include "common/tinygpu/cuda/graph.h"
#include "common/tinygpu/cuda/runtime.h"

using namespace tinygpu::cuda;

namespace {

constexpr int kHighestPriority = -5, kLowestPriority = 0;

template <Pending pending = Pending::runs, class F>
cudaError_t on_stream(cudaStream_t stream, F&& f) {
  return api<pending>([&](State& s) { return with_stream(s, stream, f); });
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return api<Pending::stays>([&](State& s) {
    if (!stream || flags > cudaStreamNonBlocking) return CUDA_ERROR_INVALID_VALUE;
    const int clamped = priority < kHighestPriority  ? kHighestPriority
                        : priority > kLowestPriority ? kLowestPriority
                                                     : priority;
    *stream = reinterpret_cast<cudaStream_t>(s.create_stream(flags, clamped));
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, kLowestPriority);
}
cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  return api([&](State& s) {
    return s.destroy_stream(reinterpret_cast<Stream*>(stream)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return on_stream(stream, [](State& s, Stream& p) {
    const CUresult e = no_capture(p);
    return e == CUDA_SUCCESS ? wait_for_device(s) : e;
  });
}
cudaError_t cudaStreamQuery(cudaStream_t stream) { return cudaStreamSynchronize(stream); }
cudaError_t cudaDeviceSynchronize() { return api(wait_for_device); }

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& p) {
    if (!s.is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
    return flags > cudaEventWaitExternal ? CUDA_ERROR_INVALID_VALUE : s.wait_on(p, event);
  });
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream& p) { return answer(flags, p.flags); });
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream& p) { return answer(priority, p.priority); });
}
cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream& p) { return answer(id, p.id); });
}
cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream&) { return answer(device, 0); });
}
cudaError_t cudaStreamCopyAttributes(cudaStream_t to, cudaStream_t from) {
  return api([&](State& s) { return s.stream(to) && s.stream(from) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
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
    *event = reinterpret_cast<cudaEvent_t>(s.create_event(flags));
    return CUDA_SUCCESS;
  });
}
cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  return api([&](State& s) {
    return s.destroy_event(reinterpret_cast<Event*>(event)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& p) {
    if (!s.is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (flags > cudaEventRecordExternal) return CUDA_ERROR_INVALID_VALUE;
    return s.record_on(event, p);
  });
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return cudaEventRecordWithFlags(event, stream, 0);
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  return api([&](State& s) { return s.is_event(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return api([&](State& s) { return s.is_event(event) ? wait_for_device(s) : CUDA_ERROR_INVALID_HANDLE; });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t from, cudaEvent_t to) {
  return api([&](State& s) { return ms ? s.elapsed_ms(from, to, *ms) : CUDA_ERROR_INVALID_VALUE; });
}

}  // extern "C"
