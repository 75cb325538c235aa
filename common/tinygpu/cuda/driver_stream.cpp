// Streams and events of the driver API.
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/graph.h"

using namespace tinygpu::cuda;

namespace {

template <Pending pending = Pending::runs, class F>
CUresult on_stream(CUstream stream, F&& f) {
  return in_context<pending>([&](State& s) { return with_stream(s, stream, f); });
}

}  // namespace

extern "C" {

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return in_context<Pending::stays>([&](State& s) {
    if (!stream || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = reinterpret_cast<CUstream>(s.create_stream(flags, priority));
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
CUresult cuStreamDestroy_v2(CUstream stream) {
  return in_context([&](State& s) {
    return s.destroy_stream(reinterpret_cast<Stream*>(stream)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuStreamSynchronize(CUstream stream) {
  return on_stream(stream, [](State& s, Stream& p) {
    const CUresult e = no_capture(p);
    return e == CUDA_SUCCESS ? wait_for_device(s) : e;
  });
}
CUresult cuStreamQuery(CUstream stream) { return cuStreamSynchronize(stream); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& p) {
    if (!s.is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
    return flags > CU_EVENT_WAIT_EXTERNAL ? CUDA_ERROR_INVALID_VALUE : s.wait_on(p, event);
  });
}
CUresult cuStreamGetFlags(CUstream stream, unsigned* flags) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream& p) { return answer(flags, p.flags); });
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream& p) { return answer(priority, p.priority); });
}
CUresult cuStreamGetId(CUstream stream, unsigned long long* id) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream& p) { return answer(id, p.id); });
}
CUresult cuStreamGetDevice(CUstream stream, CUdevice* device) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream&) { return answer(device, 0); });
}
CUresult cuStreamGetCtx(CUstream stream, CUcontext* context) {
  return on_stream<Pending::stays>(stream, [&](State&, Stream&) { return cuCtxGetCurrent(context); });
}
CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void* data, unsigned flags) {
  const CUresult e = on_stream(
      stream, [&](State&, Stream&) { return function && flags == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
  if (e == CUDA_SUCCESS) function(stream, CUDA_SUCCESS, data);
  return e;
}

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
  return in_context<Pending::stays>([&](State& s) {
    if (!event || (flags & ~kKnown)) return CUDA_ERROR_INVALID_VALUE;
    *event = reinterpret_cast<CUevent>(s.create_event(flags));
    return CUDA_SUCCESS;
  });
}
CUresult cuEventDestroy_v2(CUevent event) {
  return in_context([&](State& s) {
    return s.destroy_event(reinterpret_cast<Event*>(event)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}
CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return on_stream<Pending::stays>(stream, [&](State& s, Stream& p) {
    if (!s.is_event(event)) return CUDA_ERROR_INVALID_HANDLE;
    if (flags > CU_EVENT_RECORD_EXTERNAL) return CUDA_ERROR_INVALID_VALUE;
    return s.record_on(event, p);
  });
}
CUresult cuEventRecord(CUevent event, CUstream stream) { return cuEventRecordWithFlags(event, stream, 0); }
CUresult cuEventQuery(CUevent event) {
  return in_context([&](State& s) { return s.is_event(event) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE; });
}
CUresult cuEventSynchronize(CUevent event) {
  return in_context([&](State& s) { return s.is_event(event) ? wait_for_device(s) : CUDA_ERROR_INVALID_HANDLE; });
}
CUresult cuEventElapsedTime_v2(float* ms, CUevent from, CUevent to) {
  return in_context([&](State& s) { return ms ? s.elapsed_ms(from, to, *ms) : CUDA_ERROR_INVALID_VALUE; });
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) { return cuEventElapsedTime_v2(ms, from, to); }

}  // extern "C"
