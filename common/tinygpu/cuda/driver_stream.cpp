// Streams and events of the driver API.
#include "common/tinygpu/cuda/driver.h"
#include "common/tinygpu/cuda/graph.h"

using namespace tinygpu::cuda;

namespace {

template <Pending pending = Pending::runs, class F>
CUresult stream_call(F&& f) {
  return in_context<pending>(f);
}
template <Pending pending = Pending::runs, class F>
CUresult on_stream(CUstream stream, F&& f) {
  return stream_call<pending>([&](State& s) { return with_stream(s, stream, f); });
}

}  // namespace

extern "C" {

#define API_RESULT CUresult
#define API_NAME(name) cu##name
#include "common/tinygpu/cuda/stream_calls.inc"
#undef API_RESULT
#undef API_NAME

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return in_context<Pending::stays>([&](State& s) {
    if (!stream || flags > CU_STREAM_NON_BLOCKING) return CUDA_ERROR_INVALID_VALUE;
    *stream = reinterpret_cast<CUstream>(s.streams.create(flags, priority));
    return CUDA_SUCCESS;
  });
}
CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
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
    *event = reinterpret_cast<CUevent>(s.events.create(flags));
    return CUDA_SUCCESS;
  });
}
#undef cuEventElapsedTime
CUresult cuEventElapsedTime(float* ms, CUevent from, CUevent to) { return cuEventElapsedTime_v2(ms, from, to); }

}  // extern "C"
